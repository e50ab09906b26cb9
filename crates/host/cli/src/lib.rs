//! `skipline-host`: the real machine's I/O cache controls, seen, set, measured and restored.
//!
//! The command line only: each command's module turns arguments into calls of the crate `host` and
//! its results into text. Nothing else in the workspace prints or exits.
//!
//! The crate is a library, so that manual pages and completions are made from the same definition as the
//! binary.

mod calibrate;
mod completion;
mod crash_point;
mod doctor;
mod failure;
mod monitor;
mod observe;
mod out_file;
mod output;
mod progress_line;
mod restore;
mod run;
mod signals;
mod slices;
mod status;
mod steer;
mod temporary_settings;
mod tune;
mod user_file;
mod value_parsers;
mod watchdog;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand};

use failure::HostFailure;
use host::Host;
use host::tune::{StateDirectory, StateError};
use output::{emit_error, emit_usage};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const ABOUT: &str = "See, set, measure and restore how I/O data reaches the cache of this server.";

const LONG_ABOUT: &str = "\
See, set, measure and restore how I/O data reaches the cache of this server.

Devices write packets and blocks over PCIe. On most servers these lines go to the last-level cache \
(Intel DDIO, AMD SDCI), to a part of its ways. skipline-host shows in one screen how that is \
configured, changes it, measures whether a change did anything, and puts everything back.

Nothing is written unless --apply is given. Every write is journalled on the disk before it happens \
and read back after it; `restore` puts the old values back, also after a crash. Values last until \
reboot.";

const AFTER_HELP: &str = "\
Examples:
  skipline-host status --explain               what this machine does, and answers to common questions
  skipline-host doctor                         what can be seen and changed, and what would allow it
  skipline-host tune ddio-ways 4               what would be written
  skipline-host tune ddio-ways 4 --apply --verify
  skipline-host tune ddio off --device 17:00.0 --apply
  skipline-host restore                        put everything back
  skipline-host run --ddio-ways 4 --apply -- ./benchmark   only while it runs
  skipline-host steer --for 1h --apply          ways for I/O that follow the misses of devices
  skipline-host monitor --format csv --windows 10
  skipline-host observe --out mine.toml          this server as a scenario, for `skipline run`
  skipline-host calibrate --out this-host.toml   measure caches and memory, for `skipline run`
  skipline-host slices map --out slices.toml     which slice of the cache each line is in

Exit codes:
  0  done, and as asked
  1  failed: something could not be read, written, measured or put back
  2  wrong usage or bad input; the message names what is allowed
  3  refused: by tool, kernel or hardware, or another program holds the lock or uses the counters
  4  not as asked: a control holds something else or is left out, or a table is not this machine's
  5  no effect observed: set as asked, and hit rates stayed (--verify)
  6  not judged: nothing tells whether hit rates changed (--verify) or slices are a table's
  130  interrupted

Privileges:
  status works for every user and says what needs more. Registers, PCI configuration beyond 64 \
bytes and resctrl need root; events need root, CAP_PERFMON or perf_event_paranoid 0.";

#[derive(Parser)]
#[command(name = "skipline-host", version, about = ABOUT, long_about = LONG_ABOUT, after_long_help = AFTER_HELP)]
struct HostArguments {
    /// Directory tree that stands in for the machine
    ///
    /// Everything is read and written below DIR: DIR/proc, DIR/sys, and registers as
    /// DIR/registers.toml describes them. Registers of the running machine are not reached.
    #[arg(long, global = true, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Where the journal is kept, below the root [default: var/lib/skipline-host]
    ///
    /// Directories other than the default one are remembered there: `restore` without this option finds
    /// their journals.
    #[arg(long, global = true, value_name = "DIR")]
    state_dir: Option<String>,

    /// Wait until another skipline-host has ended, where this one would be refused, up to TIME [default: 1h]
    ///
    /// For the lock of resctrl, which any user can keep, it waits no longer than a minute. TIME is a whole
    /// number of ms, s, m or h, like --wait=10m.
    #[arg(long, global = true, value_name = "TIME", value_parser = value_parsers::duration)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "1h")]
    wait: Option<Duration>,

    #[command(subcommand)]
    command: HostCommand,
}

#[derive(Subcommand)]
enum HostCommand {
    Status(status::StatusArguments),
    Doctor(doctor::HostDoctorArguments),
    Tune(tune::TuneArguments),
    Restore(restore::RestoreArguments),
    Run(run::HostRunArguments),
    Steer(steer::SteerArguments),
    Monitor(monitor::MonitorArguments),
    Observe(observe::ObserveArguments),
    Calibrate(calibrate::CalibrateArguments),
    Slices(slices::SlicesArguments),
}

/// The machine, and the options that all commands share.
struct HostContext {
    host: Host,
    /// The tree that stands in for the machine, as the user gave it.
    asked_root: Option<PathBuf>,
    /// The directory of the journal, as the user gave it.
    asked_state_dir: Option<String>,
    /// How long to wait for locks; `None` not at all.
    wait: Option<Duration>,
}

impl HostContext {
    /// The directory of the journal below the root [default: var/lib/skipline-host].
    fn state_dir(&self) -> &str {
        self.asked_state_dir.as_deref().unwrap_or(host::tune::DEFAULT_STATE)
    }

    /// Takes the machine's lock; with `--wait`, waits while another skipline-host has it.
    ///
    /// # Errors
    /// If another process has the lock, or the state directory cannot be used.
    fn lock(&self, state_dir: &str) -> Result<StateDirectory<'_>, StateError> {
        let root = &self.host.root;
        let state = match (StateDirectory::lock(root, state_dir), self.wait) {
            (Err(StateError::Locked { path, holder }), Some(limit)) => {
                let by = holder.map(|holder| format!(" ({holder})")).unwrap_or_default();
                emit_error(&format!("waiting for the lock {path}{by}\n"));
                StateDirectory::lock_within(root, state_dir, limit)
            }
            (other, _) => other,
        }?;
        state.wait_for_resctrl(self.wait.unwrap_or_default());
        Ok(state)
    }
}

/// Raises the limit of open files to the system's: each event of each box is one, and large
/// processors have more than the usual 1024.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    // If it fails, the events that cannot be opened are reported.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// The definition of the command line, with all of its commands.
#[must_use]
pub fn command() -> clap::Command {
    HostArguments::command()
}

/// Runs the command line of this process; the result is the exit code that the help lists.
#[must_use]
pub fn main() -> ExitCode {
    allow_many_files();
    let ended = match completion::is_requested() {
        true => completion::run(HostArguments::command()),
        false => match HostArguments::try_parse() {
            Ok(arguments) => run(arguments),
            Err(error) => return emit_usage(&error),
        },
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(arguments: HostArguments) -> Result<(), HostFailure> {
    let opened = match &arguments.root {
        Some(path) => Host::from_tree(path),
        None => Host::real(),
    };
    let host = opened.map_err(|error| HostFailure::bad_input(format!("--root: {error}")))?;
    let context = HostContext {
        host,
        asked_root: arguments.root,
        asked_state_dir: arguments.state_dir,
        wait: arguments.wait,
    };
    match arguments.command {
        HostCommand::Status(arguments) => status::run(&arguments, &context),
        HostCommand::Doctor(arguments) => doctor::run(&arguments, &context),
        HostCommand::Tune(arguments) => tune::run(&arguments, &context),
        HostCommand::Restore(arguments) => restore::run(&arguments, &context),
        HostCommand::Run(arguments) => run::run(&arguments, &context),
        HostCommand::Steer(arguments) => steer::run(&arguments, &context),
        HostCommand::Monitor(arguments) => monitor::run(&arguments, &context),
        HostCommand::Observe(arguments) => observe::run(&arguments, &context),
        HostCommand::Calibrate(arguments) => calibrate::run(&arguments, &context),
        HostCommand::Slices(arguments) => slices::run(&arguments, &context),
    }
}
