//! Measurements of data operations by one command line: on real devices, on the device in software, on this
//! machine's CPUs, and on simulated machines.
//!
//! Reading order:
//! - [`options`], [`option_values`], [`sizes`], [`operation`], [`target`]: the command line.
//! - [`perf_micros`], [`refused_options`]: values of dsa-perf-micros, and its options that are not built.
//! - [`conditions`]: what several options set together; [`target_limits`]: options that a target refuses.
//! - [`point`]: the sets of conditions that are measured, one after the other.
//! - [`results`]: the results of targets; the line that dsa-perf-micros prints.
//! - [`model`]: a scenario of the same options, simulated, and its result. Only programs use this crate:
//!   libraries that programs link never depend on the simulator.
//! - `real`: operands in memory, and threads that submit descriptors or let the CPU do the operations.
//! - [`software`]: the same measurement below `skipline-dsa run`.
//! - [`measure`]: all points on all targets.
//! - [`table`], [`json`], [`plot`]: results side by side.
//! - [`tune`]: the sizes from which on a device pays, as a file of thresholds for the library.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

pub mod conditions;
pub mod failure;
pub mod json;
pub mod measure;
pub mod model;
pub mod operation;
pub mod option_values;
pub mod options;
pub mod perf_micros;
pub mod plot;
pub mod point;
pub mod progress;
mod real;
pub mod refused_options;
pub mod results;
pub mod sizes;
pub mod software;
pub mod table;
pub mod target;
pub mod target_limits;
pub mod tune;
mod whole_file;

pub use failure::Failure;
pub use options::BenchOptions;

use std::io::Write;
use std::path::{Path, PathBuf};
use whole_file::ResultFile;

/// The command line by which this process was started.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The path of `skipline-dsa`, which runs itself for the device in software.
    pub command: &'a Path,
    /// The words of the command line, which outputs repeat.
    pub words: &'a [String],
}

/// Measures all points on all targets, and prints the results; writes the files that `options.out` names.
///
/// # Errors
/// If an option is refused, a target does not work, or an output cannot be written.
pub fn bench(
    options: &BenchOptions,
    call: &Invocation<'_>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let prepare = |option, path: &Option<PathBuf>| {
        path.as_deref().map(|path| ResultFile::prepare(option, path)).transpose()
    };
    let json = prepare("--json", &options.out.json)?;
    let plot = prepare("--plot", &options.out.plot)?;
    let measured = measure::measure_all(options, call.command)?;
    let text = table::text(options, &measured);
    out.write_all(text.as_bytes()).map_err(|error| Failure::Failed(format!("output: {error}")))?;
    if let Some(file) = json {
        file.write(&json::text(&measured, call.words))?;
    }
    if let Some(file) = plot {
        file.write(&plot::svg(options, &measured))?;
    }
    Ok(())
}
