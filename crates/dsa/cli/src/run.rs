//! `skipline-dsa run`: runs a program on a machine with devices in software.
//!
//! - [`directory`]: the directory that the processes of a run share.
//! - [`device_models`]: the devices that can be chosen, and their PCI addresses.
//! - [`devices`]: the driver's state and the devices' registers, kept equal.
//! - [`driver_files`]: the files of the driver; [`server`]: the file system that serves them.
//! - [`namespace`]: a view of /sys and /dev with these files in it; [`without_namespaces`]: devices without
//!   such a view. [`access`] chooses one of the two.
//! - [`program`]: the program itself; [`signal_forwarding`]: passes signals on to it.
//! - [`descriptor_log`]: the log of descriptors of all processes.

mod access;
mod descriptor_log;
mod device_models;
mod devices;
mod directory;
mod driver_files;
mod namespace;
pub mod program;
mod server;
mod signal_forwarding;
mod without_namespaces;

use crate::failure::CommandFailure;
use access::DeviceAccess;
use devices::RunDevices;
use directory::RunDirectory;
use idxd::Driver;
use idxd::config_file::{ApplyError, SavedConfig};
use inputs::texts::{KEYS_LIMIT_BYTES, read_once};
use program::Program;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Run a program with devices.
#[derive(clap::Args)]
pub struct RunArguments {
    /// Number of devices: 1 to 8.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    devices: u8,
    /// Configuration, as accel-config saves it. Without it each device has a dedicated queue for DPDK
    /// (wqN.0) and a shared one (wqN.1).
    #[arg(long, value_name = "FILE.json")]
    config: Option<PathBuf>,
    /// Leave the devices as they are after a boot: disabled, without configuration.
    #[arg(long, conflicts_with = "config")]
    unconfigured: bool,
    /// The device model: `sapphire-rapids` (version 1), or `version-2`, with capabilities that were not seen
    /// on any device yet.
    #[arg(long, value_name = "PART", default_value = "sapphire-rapids")]
    part: device_models::DeviceModel,
    /// Write a line for each completed descriptor, for `descriptor_replay.log` of a scenario.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
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
    program: Vec<std::ffi::OsString>,
}

/// Runs the program; the exit code of the command is that of the program.
pub fn run(arguments: &RunArguments) -> Result<ExitCode, CommandFailure> {
    let program = Program::find(&arguments.program)?;
    let parts = device_models::place_devices(arguments.part, arguments.devices);
    let configuration = configuration(arguments, &parts)?;
    let plan = arguments.inject.as_deref().map(directory::read_plan).transpose()?;
    let out = arguments.record.as_deref().map(descriptor_log::RecordFile::prepare).transpose()?;
    let directory = RunDirectory::create(out.is_some(), plan.as_deref())?;
    let registers = directory.registers()?;
    let devices = Arc::new(RunDevices::new(Driver::new(parts), registers));
    devices.configure(&configuration).map_err(|error| in_file(arguments, &error))?;
    let access = DeviceAccess::find(!arguments.without_namespaces, &devices, &directory)?;
    registers.files.store(access.file_system(), Ordering::Release);
    let supervisor = devices.supervise(access.watcher());
    if !arguments.quiet {
        eprintln!("skipline-dsa: {} device(s), {access}", arguments.devices);
    }
    let ended = program.run(&directory, access.environment(&directory))?;
    supervisor.stop();
    devices.stop();
    if let Some(out) = out {
        let lines = out.merge(&directory)?;
        let lost = registers.lost_lines.load(Ordering::Acquire);
        if lost > 0 {
            eprintln!(
                "skipline-dsa: {lost} descriptors are missing in the record: the disk was full"
            );
        }
        if !arguments.quiet {
            eprintln!("skipline-dsa: {lines} descriptors recorded");
        }
    }
    Ok(ended)
}

/// An error of a configuration, with the file that it is in.
fn in_file(arguments: &RunArguments, error: &ApplyError) -> CommandFailure {
    match &arguments.config {
        Some(path) => CommandFailure::bad_input(format!("--config {}: {error}", path.display())),
        None => CommandFailure::bad_input(error),
    }
}

/// The configuration of the devices: none, that of --config, or the default.
fn configuration(
    arguments: &RunArguments,
    parts: &[idxd::Part],
) -> Result<SavedConfig, CommandFailure> {
    if arguments.unconfigured {
        return Ok(SavedConfig::default());
    }
    let Some(path) = &arguments.config else {
        return Ok(SavedConfig::default_for(
            &parts.iter().map(|part| part.capabilities).collect::<Vec<_>>(),
        ));
    };
    let shown = path.display();
    let text = read_once(path, KEYS_LIMIT_BYTES)
        .map_err(|error| CommandFailure::bad_input(format!("--config {shown}: {error}")))?;
    SavedConfig::parse(&text)
        .map_err(|error| CommandFailure::bad_input(format!("--config {shown}: {error}")))
}
