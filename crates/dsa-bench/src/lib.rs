//! Measurements of data operations by one command line: on real devices, on the device in software, on this
//! machine's CPUs, and on simulated machines.
//!
//! Reading order:
//! - [`options`], [`choices`], [`sizes`], [`operation`], [`target`]: the command line.
//! - [`point`]: what is measured, one after the other.
//! - [`answer`]: what came out; the line that dsa-perf-micros prints.
//! - [`model`]: a scenario of the same options, and its result as an answer. Only programs use this crate:
//!   libraries that programs link never depend on the simulator.
//! - `real`: operands in memory, and threads that submit descriptors or let the CPU do the operations.
//! - [`software`]: the same below `skipline-dsa run`.
//! - [`measure`]: all points on all targets.
//! - [`table`], [`json`], [`plot`]: answers side by side.
//! - [`tune`]: from which size on a device pays, as a file of thresholds for the library.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

pub mod answer;
pub mod choices;
pub mod failure;
pub mod json;
pub mod measure;
pub mod model;
pub mod operation;
pub mod options;
pub mod plot;
pub mod point;
pub mod progress;
mod real;
pub mod sizes;
pub mod software;
pub mod table;
pub mod target;
pub mod tune;
mod whole_file;

pub use failure::Failure;
pub use options::Options;

use std::io::Write;
use std::path::Path;

/// How the command was called.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The path of `skipline-dsa`, which runs itself for the device in software.
    pub command: &'a Path,
    /// Its words, as results repeat them.
    pub words: &'a [String],
}

/// Measures, and prints the answers.
///
/// # Errors
/// If an option is refused, a target does not work, or an output cannot be written.
pub fn bench(options: &Options, call: &Call<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    let outputs = [("--json", &options.out.json), ("--plot", &options.out.plot)];
    for (option, path) in outputs {
        path.as_deref().map_or(Ok(()), |path| whole_file::check(option, path))?;
    }
    let measured = measure::all(options, call.command)?;
    let text = table::text(options, &measured);
    out.write_all(text.as_bytes()).map_err(|error| Failure::Failed(format!("output: {error}")))?;
    if let Some(path) = &options.out.json {
        whole_file::write("--json", path, &json::text(&measured, call.words))?;
    }
    if let Some(path) = &options.out.plot {
        whole_file::write("--plot", path, &plot::svg(options, &measured))?;
    }
    Ok(())
}
