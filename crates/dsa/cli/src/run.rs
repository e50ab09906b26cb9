//! `skipline-dsa run`: runs a program on a machine with devices in software.
//!
//! - [`directory`]: the directory that the processes of a run share.
//! - [`device_models`]: the devices that can be chosen, and their PCI addresses.
//! - [`devices`]: the driver's state and the devices' registers, kept equal.
//! - [`pci_config`]: what `lspci` and `setpci` read; [`tools`]: stand-ins for such tools.
//! - [`driver_files`]: the files of the driver; [`server`]: the file system that serves them.
//! - [`namespace`]: a view of /sys and /dev with these files in it; [`without_namespaces`]: devices without
//!   such a view. [`access`] chooses one of the two.
//! - [`executable`]: reasons why a program cannot have devices.
//! - [`program`]: the program itself; [`signal_forwarding`]: passes signals on to it.
//! - [`descriptor_log`]: the log of descriptors of all processes.

mod access;
mod descriptor_log;
mod device_models;
mod devices;
mod directory;
mod driver_files;
pub mod executable;
mod namespace;
mod pci_config;
pub mod program;
mod server;
pub mod signal_forwarding;
mod tools;
mod without_namespaces;

use crate::failure::CommandFailure;
use access::DeviceAccess;
use devices::RunDevices;
use directory::RunDirectory;
use idxd::Driver;
use idxd::config_file::{ApplyError, SavedConfig};
use inputs::texts::{KEYS_LIMIT_BYTES, read_once};
use program::Program;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
pub use without_namespaces::RunEnvironment;

/// Run a program with devices.
#[derive(clap::Args)]
pub struct RunArguments {
    /// Number of devices: 1 to 16. Default: those that the configuration names, or one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    devices: Option<u8>,
    /// Configuration, as accel-config saves it. Without it each device has a dedicated queue for DPDK
    /// (wqN.0) and a shared one (wqN.1).
    #[arg(long, value_name = "FILE.json")]
    config: Option<PathBuf>,
    /// Leave the devices as they are after a boot: disabled, without configuration.
    #[arg(long, conflicts_with = "config")]
    unconfigured: bool,
    /// The device model: that of a shipped processor, or one that can do more than these.
    #[arg(long, value_name = "PART", default_value = "sapphire-rapids")]
    part: device_models::DeviceModel,
    /// Write a line for each completed descriptor, for `descriptor_replay.log` of a scenario.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The option that names the record, for messages.
    #[arg(skip = "--record")]
    record_option: &'static str,
    /// Faults to inject (see docs/reference/dsa-injection.md).
    #[arg(long, value_name = "PLAN.toml")]
    inject: Option<PathBuf>,
    /// Use no namespaces, also where the system allows them: programs find the devices by environment
    /// variables, and by a library in place of libaccel-config.
    #[arg(long)]
    without_namespaces: bool,
    /// Print errors only.
    #[arg(long, short)]
    quiet: bool,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// A program that has run to its end.
pub struct FinishedProgram {
    /// Its exit code, or 128 and the number of its signal.
    pub code: u8,
    /// Time from its start to its end, in nanoseconds.
    pub took_ns: u64,
    /// Number of descriptors in the record.
    pub recorded: usize,
    /// Number of descriptors that the record lacks, as the disk was full.
    pub lost: u64,
}

impl RunArguments {
    /// A quiet run of a program on one device, recorded in the file that an option names.
    pub fn recording(program: &[OsString], record: &Path, record_option: &'static str) -> Self {
        Self {
            devices: None,
            config: None,
            unconfigured: false,
            part: device_models::DeviceModel::SapphireRapids,
            record: Some(record.to_owned()),
            record_option,
            inject: None,
            without_namespaces: false,
            quiet: true,
            program: program.to_vec(),
        }
    }
}

/// Runs the program; the exit code of the command is that of the program.
pub fn run(arguments: &RunArguments) -> Result<ExitCode, CommandFailure> {
    let program = Program::find(&arguments.program)?;
    let ended = run_program(arguments, &program, RunEnvironment::new())?;
    if arguments.record.is_some() {
        if ended.lost > 0 {
            eprintln!(
                "skipline-dsa: {} descriptors are missing in the record: the disk was full",
                ended.lost
            );
        }
        if !arguments.quiet {
            eprintln!("skipline-dsa: {} descriptors recorded", ended.recorded);
        }
        if ended.recorded == 0 && ended.lost == 0 {
            eprintln!("skipline-dsa: {}", nothing_recorded(&program));
        }
    }
    Ok(ExitCode::from(ended.code))
}

/// Why a record is empty, in words.
fn nothing_recorded(program: &Program) -> &'static str {
    if program.replaces_library() {
        "nothing was recorded: the command sets LD_PRELOAD itself and so takes the library of the run \
         away from what it starts. Set LD_PRELOAD before skipline-dsa (LD_PRELOAD=... skipline-dsa run \
         ...), or append to it in the command: LD_PRELOAD=\"$LD_PRELOAD:...\""
    } else {
        "nothing was recorded: no program of the run submitted a descriptor. A program that does not use \
         a DSA itself does so with libskipline_dsa_preload.so in LD_PRELOAD, or by `skipline-dsa \
         would-help`"
    }
}

/// Runs a program with the devices of `arguments`, and with `variables` in its environment.
pub fn run_program(
    arguments: &RunArguments,
    program: &Program,
    variables: RunEnvironment,
) -> Result<FinishedProgram, CommandFailure> {
    let saved = arguments.config.as_deref().map(read_configuration).transpose()?;
    let named = saved.as_ref().map(SavedConfig::devices).unwrap_or_default();
    let numbers = device_models::numbers(arguments.devices, &named).map_err(|error| {
        let file = arguments.config.as_deref().unwrap_or(Path::new(""));
        CommandFailure::bad_input(format!("--config {}: {error}", file.display()))
    })?;
    let parts = device_models::place_devices(arguments.part, &numbers);
    let configuration = saved.unwrap_or_else(|| configuration(arguments, &parts));
    let plan = arguments.inject.as_deref().map(directory::read_plan).transpose()?;
    let prepare = |path: &Path| descriptor_log::RecordFile::prepare(path, arguments.record_option);
    let out = arguments.record.as_deref().map(prepare).transpose()?;
    let directory = RunDirectory::create(out.is_some(), plan.as_deref())?;
    let registers = directory.registers()?;
    let devices = Arc::new(RunDevices::new(Driver::new(parts), registers));
    devices.configure(&configuration).map_err(|error| in_file(arguments, &error))?;
    let access = DeviceAccess::find(!arguments.without_namespaces, &devices, &directory)?;
    registers.files.store(access.file_system(), Ordering::Release);
    let supervisor = devices.supervise(access.watcher());
    if !arguments.quiet {
        eprintln!("skipline-dsa: {} device(s), {access}", numbers.len());
    }
    let begun = Instant::now();
    let tools = tools::write(directory.path(), &devices, access.has_namespaces());
    let tools =
        tools.map_err(|error| CommandFailure::failed(format!("tools of the run: {error}")))?;
    let environment = [access.environment(&directory), tools, variables].concat();
    let code = program.run(&directory, environment)?;
    let took_ns = units::narrow::fit(begun.elapsed().as_nanos());
    supervisor.stop();
    devices.stop();
    let merged = out.map(|out| out.merge(&directory)).transpose()?;
    let (recorded, cut) = merged.map_or((0, 0), |merged| (merged.written, merged.lost));
    let lost = registers.lost_lines.load(Ordering::Acquire) + cut;
    Ok(FinishedProgram { code, took_ns, recorded, lost })
}

/// An error of a configuration, with the file that it is in.
fn in_file(arguments: &RunArguments, error: &ApplyError) -> CommandFailure {
    match &arguments.config {
        Some(path) => CommandFailure::bad_input(format!("--config {}: {error}", path.display())),
        None => CommandFailure::bad_input(error),
    }
}

/// The configuration of the devices without --config: none, or the default.
fn configuration(arguments: &RunArguments, parts: &[idxd::Part]) -> SavedConfig {
    if arguments.unconfigured {
        return SavedConfig::default();
    }
    SavedConfig::default_for(&parts.iter().map(|part| part.capabilities).collect::<Vec<_>>())
}

/// Reads the file of --config, and says which of its devices are passed over.
fn read_configuration(path: &Path) -> Result<SavedConfig, CommandFailure> {
    let shown = path.display();
    let bad = |error: &dyn Display| CommandFailure::bad_input(format!("--config {shown}: {error}"));
    let text = read_once(path, KEYS_LIMIT_BYTES).map_err(|error| bad(&error))?;
    let saved = SavedConfig::parse(&text).map_err(|error| bad(&error))?;
    for name in saved.passed_over() {
        eprintln!("skipline-dsa: --config {shown}: {name} is not a DSA device; left as it is");
    }
    Ok(saved)
}
