//! `skipline-dsa run`: a program on a machine that has devices.
//!
//! - [`directory`]: what the processes of a run share.
//! - [`devices`]: the driver's state and the devices' registers, kept equal.
//! - [`tree`]: the files of the driver; [`server`]: the file system that serves them.
//! - [`namespace`]: a view of /sys and /dev with these files in it; [`plain`]: what there is without one.
//! - [`way`]: which of the two it is.
//! - [`program`]: the program itself; [`passing`]: signals for it.
//! - [`record`]: the log of descriptors of all processes.

mod devices;
mod directory;
mod namespace;
mod parts;
mod passing;
mod plain;
pub mod program;
mod record;
mod server;
mod tree;
mod way;

use crate::failure::Failure;
use devices::Devices;
use directory::Directory;
use idxd::Driver;
use idxd::saved::{ApplyError, Saved};
use program::Program;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use way::Way;

/// Run a program with devices.
#[derive(clap::Args)]
pub struct Arguments {
    /// Devices: 1 to 8.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    devices: u8,
    /// Configuration, as accel-config saves it. Without it each device has a dedicated queue for DPDK
    /// (wqN.0) and a shared one (wqN.1).
    #[arg(long, value_name = "FILE.json")]
    config: Option<PathBuf>,
    /// Leave the devices as they are after a boot: disabled, without configuration.
    #[arg(long, conflicts_with = "config")]
    unconfigured: bool,
    /// The part: `sapphire-rapids` (version 1), or `version-2`, which adds what no such part was seen
    /// with yet.
    #[arg(long, value_name = "PART", default_value = "sapphire-rapids")]
    part: parts::Name,
    /// Write a line for each descriptor that ended, for `descriptor_replay.log` of a scenario.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Faults to inject (see docs/dsa-run.md).
    #[arg(long, value_name = "PLAN.toml")]
    inject: Option<PathBuf>,
    /// Use no namespaces, also where the system gives them: programs find the devices by environment
    /// variables, and by a library in place of libaccel-config.
    #[arg(long)]
    without_namespaces: bool,
    /// Say nothing but errors.
    #[arg(long, short)]
    quiet: bool,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<std::ffi::OsString>,
}

/// Runs the program; its end is that of the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let program = Program::find(&arguments.program)?;
    let parts = parts::placed(arguments.part, arguments.devices);
    let configuration = configuration(arguments, &parts)?;
    let plan = arguments.inject.as_deref().map(directory::read_plan).transpose()?;
    let out = arguments.record.as_deref().map(record::Out::create).transpose()?;
    let directory = Directory::create(out.is_some(), plan.as_deref())?;
    let registers = directory.registers()?;
    let devices = Arc::new(Devices::new(Driver::new(parts), registers));
    devices.configure(&configuration).map_err(|error| in_file(arguments, &error))?;
    let way = Way::find(!arguments.without_namespaces, &devices, &directory)?;
    registers.files.store(way.file_system(), Ordering::Release);
    let watch = devices.watch(way.look());
    if !arguments.quiet {
        eprintln!("skipline-dsa: {} device(s), {way}", arguments.devices);
    }
    let ended = program.run(&directory, way.environment(&directory))?;
    watch.stop();
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
fn in_file(arguments: &Arguments, error: &ApplyError) -> Failure {
    match &arguments.config {
        Some(path) => Failure::bad_input(format!("--config {}: {error}", path.display())),
        None => Failure::bad_input(error),
    }
}

/// What the devices are configured as.
fn configuration(arguments: &Arguments, parts: &[idxd::Part]) -> Result<Saved, Failure> {
    if arguments.unconfigured {
        return Ok(Saved::default());
    }
    let Some(path) = &arguments.config else {
        return Ok(Saved::default_for(
            &parts.iter().map(|part| part.capabilities).collect::<Vec<_>>(),
        ));
    };
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::bad_input(format!("--config {shown}: {error}")))?;
    Saved::parse(&text).map_err(|error| Failure::bad_input(format!("--config {shown}: {error}")))
}
