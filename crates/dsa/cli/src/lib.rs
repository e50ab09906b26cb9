//! `skipline-dsa`: a data streaming accelerator in software for unmodified programs.
//!
//! The command line only: [`run`] serves the devices of a run, [`live_runs`] finds the runs that are under
//! way; [`would_help`] replays what a run has recorded; [`config`] configures the devices of the machine or, within a run, those of the run; [`digest`]
//! checks digests by a device. The crate is a library, so that manual pages and completions are made from the
//! same definition as the binary.

mod bench;
mod config;
mod digest;
mod doctor;
mod failure;
mod list;
mod live_runs;
mod run;
mod stats;
mod would_help;

use clap::{CommandFactory, Parser, Subcommand};
use failure::CommandFailure;
use std::process::ExitCode;

const ABOUT: &str = "Run unmodified programs on a DSA in software.";

const LONG_ABOUT: &str = "\
Run unmodified programs on a DSA in software.

`run` starts a program on a machine that has devices of its own: /sys/bus/dsa and /dev/dsa are there, \
with the attributes, refusals and error numbers of the kernel's driver; descriptors that the program \
submits by MOVDIR64B or ENQCMD are executed by threads of its process, bit for bit as a device does. \
Other programs, and the machine's own devices, are not affected.

`bench` measures devices, CPUs and simulated machines by one command line.";

const AFTER_HELP: &str = "\
Examples:
  skipline-dsa run -- accel-config list
  skipline-dsa run --devices 4 -- dpdk-test --no-huge -m 512
  skipline-dsa run --record offloads.jsonl -- ./program     replay with `skipline run`
  skipline-dsa would-help -- ./program                      would a DSA help it? from which size on?
  skipline-dsa doctor ./program                             why is there no device for it?
  skipline-dsa config apply queues.json                     what a device would make of it
  skipline-dsa config apply queues.json --apply             configure it
  skipline-dsa config reset                                 and back
  skipline-dsa digest storage.pcapng                        are the digests of NVMe/TCP right?
  skipline-dsa bench --on model:sapphire-rapids-56,cpu-model:sapphire-rapids-56 -s 256,4K
  skipline-dsa tune -o thresholds.toml                      from which size does a device pay?

Exit codes:
  run ends as its program ends: with its code, or 128 and the number of its signal
  1  failed; a digest is wrong or missing, or bytes are no PDU (digest); PROGRAM failed (would-help)
  2  wrong usage or bad input; the message names what is allowed
  3  refused: by tool, kernel or hardware, or other programs use a queue or hold the lock (config)
  4  not as asked: a write was taken, and something else is there (config)";

#[derive(Parser)]
#[command(name = "skipline-dsa", version, about = ABOUT, long_about = LONG_ABOUT,
          after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: DsaCommand,
}

#[derive(Subcommand)]
enum DsaCommand {
    Run(run::RunArguments),
    WouldHelp(would_help::WouldHelpArguments),
    List(list::ListArguments),
    Stats(stats::StatsArguments),
    Doctor(doctor::DoctorArguments),
    Config(config::ConfigArguments),
    Digest(digest::DigestArguments),
    /// Measure operations on devices, CPUs and simulated machines by one command line.
    Bench(Box<dsa_bench::BenchOptions>),
    /// Find the sizes from which devices pay, and write them for the library.
    Tune(dsa_bench::tune::TuneOptions),
}

/// The definition of the command line with all commands, as manual pages and completions need it.
#[must_use]
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Parses the command line of this process and runs its command. Returns the exit code; see "Exit codes" in
/// the help. Failures are printed on standard error.
#[must_use]
pub fn main() -> ExitCode {
    let ended = match Arguments::parse().command {
        DsaCommand::Run(arguments) => run::run(&arguments),
        DsaCommand::WouldHelp(arguments) => would_help::run(&arguments),
        DsaCommand::List(arguments) => list::run(&arguments).map(|()| ExitCode::SUCCESS),
        DsaCommand::Stats(arguments) => stats::run(&arguments).map(|()| ExitCode::SUCCESS),
        DsaCommand::Doctor(arguments) => doctor::run(&arguments),
        DsaCommand::Config(arguments) => config::run(&arguments).map(|()| ExitCode::SUCCESS),
        DsaCommand::Digest(arguments) => digest::run(&arguments),
        DsaCommand::Bench(options) => bench::bench(&options).map(|()| ExitCode::SUCCESS),
        DsaCommand::Tune(options) => bench::tune(&options).map(|()| ExitCode::SUCCESS),
    };
    ended.unwrap_or_else(CommandFailure::report)
}
