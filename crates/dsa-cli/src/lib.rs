//! `skipline-dsa`: a data streaming accelerator in software for unmodified programs.
//!
//! The command line only: [`run`] serves the devices of a run, [`runs`] finds those that are under way,
//! [`config`] configures devices of the machine, or of the run that it is in; [`digest`] has digests
//! computed by a device.
//! A library, so that manual pages and completions are made of the same definition as the binary.

mod bench;
mod config;
mod digest;
mod doctor;
mod failure;
mod list;
mod run;
mod runs;
mod stats;

use clap::{CommandFactory, Parser, Subcommand};
use failure::Failure;
use std::process::ExitCode;

const ABOUT: &str = "Run unmodified programs on a DSA in software.";

const LONG_ABOUT: &str = "\
Run unmodified programs on a DSA in software.

`run` starts a program on a machine that has devices of its own: /sys/bus/dsa and /dev/dsa are there, \
with the attributes, refusals and error numbers of the kernel's driver; descriptors that the program \
submits by MOVDIR64B or ENQCMD are executed by threads of its process, bit for bit as a device does. \
Other programs, and the machine's own devices, see nothing of it.

`bench` asks devices, CPUs and simulated machines how fast they are, by one command line.";

const AFTER_HELP: &str = "\
Examples:
  skipline-dsa run -- accel-config list
  skipline-dsa run --devices 4 -- dpdk-test --no-huge -m 512
  skipline-dsa run --record offloads.jsonl -- ./program     replay with `skipline run`
  skipline-dsa doctor ./program                             why is there no device for it?
  skipline-dsa config apply queues.json                     what a device would make of it
  skipline-dsa config apply queues.json --apply             configure it
  skipline-dsa config reset                                 and back
  skipline-dsa digest storage.pcapng                        are the digests of NVMe/TCP right?
  skipline-dsa bench --on model:sapphire-rapids-56,cpu -s 256,4K -c -q 32
  skipline-dsa tune -o thresholds.toml                      from which size does a device pay?

Exit codes:
  run ends as its program ends: with its code, or 128 and the number of its signal
  1  failed; a digest is wrong or missing, or bytes are no PDU (digest)
  2  wrong usage or bad input; the message names what is allowed
  3  refused: by tool, kernel or hardware, or other programs use a queue or hold the lock (config)
  4  not as asked: a write was taken, and something else is there (config)";

#[derive(Parser)]
#[command(name = "skipline-dsa", version, about = ABOUT, long_about = LONG_ABOUT,
          after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    List(list::Arguments),
    Stats(stats::Arguments),
    Doctor(doctor::Arguments),
    Config(config::Arguments),
    Digest(digest::Arguments),
    /// Measure operations on devices, CPUs and simulated machines by one command line.
    Bench(Box<dsa_bench::BenchOptions>),
    /// Find the sizes from which devices pay, and write them for the library.
    Tune(dsa_bench::tune::TuneOptions),
}

/// The command line, with all of its commands.
#[must_use]
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let ended = match Arguments::parse().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::List(arguments) => list::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Stats(arguments) => stats::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Config(arguments) => config::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Digest(arguments) => digest::run(&arguments),
        Command::Bench(options) => bench::bench(&options).map(|()| ExitCode::SUCCESS),
        Command::Tune(options) => bench::tune(&options).map(|()| ExitCode::SUCCESS),
    };
    ended.unwrap_or_else(Failure::report)
}
