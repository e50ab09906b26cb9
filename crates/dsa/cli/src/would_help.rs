//! `skipline-dsa would-help`: would a data streaming accelerator (DSA) help a program?
//!
//! The program runs once, with the preloaded library on a device in software. Its offloads are recorded and
//! replayed on a simulated machine, by engines and by cores.
//!
//! - [`recording`]: the run; [`counts`]: the calls of its processes, as the preloaded library counts them.
//! - [`offloads`]: the recorded offloads, and samples of them; [`replay`]: a sample, simulated.
//! - [`estimate`]: times of all offloads by size, from the replays; [`verdict`]: the answer.
//! - [`report`]: the answer as text and JSON; [`words`]: numbers in words.

mod counts;
mod estimate;
mod offloads;
mod recording;
mod replay;
mod report;
mod verdict;
mod words;

use crate::failure::CommandFailure;
use crate::run::program::Program;
use crate::run::signal_forwarding::EndingSignal;
use dsa_bench::target::BenchTarget;
use durable::output::OutputFile;
use durable::whole_file::WriteOptions;
use estimate::SizeEstimate;
use offloads::Offloads;
use recording::ProgramRecording;
use report::Report;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use verdict::HelpVerdict;

/// Would a device help this program? Run it once, replay its copies on a simulated part, and answer.
///
/// The answer is on standard error: standard output is the program's. The exit code is 1 if the program
/// fails, whatever the answer is.
#[derive(clap::Args)]
pub struct WouldHelpArguments {
    /// The simulated machine whose engines and cores do the calls.
    #[arg(long, value_name = "model:PLATFORM", default_value = "model:sapphire-rapids-56",
          value_parser = platform)]
    on: String,
    /// Only programs of this name, if a command starts several: a server, and not its load generator.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Write the answer with all numbers as a JSON object.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Keep the log of descriptors, for `descriptor_replay.log` of a scenario.
    #[arg(long, value_name = "LOG")]
    keep: Option<PathBuf>,
    /// Seed of the simulations.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Parses the name of a simulated machine, with or without `model:` before it.
fn platform(text: &str) -> Result<String, String> {
    let text = if text.contains(':') { text.to_owned() } else { format!("model:{text}") };
    match BenchTarget::parse(&text)? {
        BenchTarget::Model(name) => replay::check_platform(&name).map(|()| name),
        _ => Err("the answer is about a simulated machine; allowed: model:PLATFORM".into()),
    }
}

/// Runs the program and prints the answer.
pub fn run(arguments: &WouldHelpArguments) -> Result<ExitCode, CommandFailure> {
    let program = Program::find(&arguments.program)?;
    let json = arguments.json.as_deref().map(prepare_json).transpose()?;
    let recording = ProgramRecording::make(program, &arguments.program, arguments.keep.as_deref())?;
    let chosen = recording.counts.of_program(arguments.only.as_deref())?;
    let offloads = Offloads::read(&recording.log, arguments.only.is_some().then_some(&chosen))?;
    let estimates = estimate(&offloads, arguments)?;
    let is_counted = !chosen.processes.is_empty();
    let verdict = HelpVerdict::new(&estimates, recording.program_ns(&chosen), is_counted);
    let report = Report {
        part: &arguments.on,
        only: arguments.only.as_deref(),
        recording: &recording,
        calls: &chosen,
        offloads: &offloads,
        estimates: &estimates,
        verdict: &verdict,
    };
    std::io::stderr().lock().write_all(report.text().as_bytes())?;
    if let Some(json) = json {
        write_json(&json, &report)?;
    }
    Ok(ExitCode::from(u8::from(recording.ended.code != 0)))
}

fn estimate(
    offloads: &Offloads,
    arguments: &WouldHelpArguments,
) -> Result<Vec<SizeEstimate>, CommandFailure> {
    if offloads.all.is_empty() {
        return Ok(Vec::new());
    }
    // The signals were the program's until now.
    let stop = EndingSignal::watch()?;
    eprintln!("skipline-dsa: replaying the program's calls on {}", arguments.on);
    let replays = replay::replay_samples(offloads, &arguments.on, arguments.seed, &stop)?;
    Ok(estimate::by_size(offloads, &replays))
}

fn prepare_json(path: &Path) -> Result<OutputFile, CommandFailure> {
    OutputFile::prepare(path, WriteOptions::RESULT).map_err(|error| {
        CommandFailure::bad_input(format!("--json {}: {}", path.display(), error.reason))
    })
}

fn write_json(file: &OutputFile, report: &Report<'_>) -> Result<(), CommandFailure> {
    let shown = file.named().display();
    let failed =
        |error: &dyn std::fmt::Display| CommandFailure::failed(format!("--json {shown}: {error}"));
    let mut writer = file.begin().map_err(|error| failed(&error.reason))?;
    writeln!(writer, "{:#}", report.to_json()).map_err(|error| failed(&error))?;
    writer.finish().map_err(|error| failed(&error.reason))
}
