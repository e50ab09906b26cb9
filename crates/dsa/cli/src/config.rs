//! `skipline-dsa config`: the configuration of this machine's devices, or of those of the run that it is
//! in.
//!
//! - [`show`]: shows the configuration. [`check`]: the refusals and changes of a file.
//! - [`apply`]: changes the configuration. [`reset`]: restores the former one.
//! - [`preview`]: refusals, changes and steps of a file, as text and as JSON.

mod apply;
mod check;
mod crash;
mod preview;
mod reset;
mod show;

use crate::failure::CommandFailure;
use dsa_config::bus::MachineError;
use dsa_config::change::ChangeError;
use dsa_config::journal::{JournalError, JournalLocation, LockedJournal};
use dsa_config::machine::MachineDevices;
use dsa_config::steps::StepError;
use dsa_config::sysfs::Sysfs;
use idxd::BusNode;
use std::path::{Path, PathBuf};

/// The line that is printed after a change.
const AFTER_WRITE: &str =
    "All of it was written and read back; `config reset` puts back what was before.";

/// Show, check, change and restore the configuration of devices.
///
/// Files have the format of accel-config. A device that a file names gets the configuration of the file as a
/// whole: values that the file does not state are as after a boot. Nothing is written unless --apply is
/// given; the former configuration is on the disk first, and `reset` puts it back, also after a crash.
///
/// In a run (`skipline-dsa run --unconfigured -- sh`) it configures the devices of the run.
#[derive(clap::Args)]
pub struct ConfigArguments {
    /// Directory tree that stands in for the machine: DIR/sys/bus/dsa and what else is read or written.
    #[arg(long, global = true, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Where the journal is kept, below the root [default: /var/lib/skipline-dsa; in a run its directory].
    #[arg(long, global = true, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Wait until another skipline-dsa has ended, where this one would be refused; for an hour at most.
    #[arg(long, global = true)]
    wait: bool,
    /// Output for people (text) or for programs (json).
    #[arg(long, global = true, value_enum, default_value_t)]
    format: ConfigFormat,
    #[command(subcommand)]
    command: ConfigCommand,
}

/// The format of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum ConfigFormat {
    /// Text for people.
    #[default]
    Text,
    /// JSON for programs.
    Json,
}

#[derive(clap::Subcommand)]
enum ConfigCommand {
    Show(show::ShowArguments),
    Check(check::CheckArguments),
    Apply(apply::ApplyArguments),
    Reset(reset::ResetArguments),
}

/// The devices, the journal's directory and the options that all commands share.
struct ConfigContext {
    bus: Sysfs,
    place: JournalLocation,
    waits: bool,
    format: ConfigFormat,
    /// Whether the devices are those of a tree (--root) or of a run, not of the machine.
    is_stand_in: bool,
}

impl ConfigContext {
    fn new(arguments: &ConfigArguments) -> Result<Self, CommandFailure> {
        let state_dir = arguments.state_dir.as_deref();
        let run = std::env::var_os(dsa_run::RUN_DIRECTORY).map(PathBuf::from);
        let (bus, place) = match (&arguments.root, &run) {
            (Some(root), _) => {
                let shown = root.display();
                let bus = Sysfs::at(root).map_err(|error| {
                    CommandFailure::bad_input(format!("--root {shown}: {error}"))
                })?;
                let place = JournalLocation::for_machine(bus.root(), state_dir);
                (bus, place)
            }
            (None, Some(run)) => (Sysfs::real(), JournalLocation::for_run(run, state_dir)),
            (None, None) => {
                (Sysfs::real(), JournalLocation::for_machine(Path::new("/"), state_dir))
            }
        };
        let is_stand_in = arguments.root.is_some() || run.is_some();
        let (waits, format) = (arguments.wait, arguments.format);
        Ok(Self { bus, place, waits, format, is_stand_in })
    }

    /// Reads the devices and their configuration.
    fn read_machine(&self) -> Result<MachineDevices, CommandFailure> {
        MachineDevices::read(&self.bus).map_err(|error| machine_failure(&error))
    }

    /// Checks the right to write, then takes the lock: to be called before anything is written.
    fn lock(&self) -> Result<LockedJournal, CommandFailure> {
        // A run without namespaces serves no files that can be written.
        if self.is_stand_in && std::env::var_os("DSA_SYSFS_PATH").is_some() {
            return Err(CommandFailure::refused(
                "nothing was written: a run without namespaces has attributes for reading alone\n  \
                 remedy: skipline-dsa run --config FILE, or accel-config",
            ));
        }
        self.bus.check_writable().map_err(|error| machine_failure(&error))?;
        let state = match self.place.lock(false) {
            Err(JournalError::Locked { path, .. }) if self.waits => {
                eprintln!("waiting for the lock {}", path.display());
                self.place.lock(true)
            }
            other => other,
        };
        state.map_err(|error| state_failure(&error))
    }

    /// The numbers of the named devices; without names of all.
    fn select_devices(
        &self,
        machine: &MachineDevices,
        names: &[BusNode],
    ) -> Result<Vec<usize>, CommandFailure> {
        if names.is_empty() {
            return Ok(machine.numbers.clone());
        }
        let unknown = names.iter().find(|name| !machine.numbers.contains(&name.device()));
        match unknown {
            None => Ok(names.iter().map(|name| name.device()).collect()),
            Some(name) => {
                let known: Vec<String> =
                    machine.numbers.iter().map(|it| BusNode::Device(*it).to_string()).collect();
                let known = known.join(", ");
                Err(CommandFailure::bad_input(format!("--device {name}: allowed is {known}")))
            }
        }
    }
}

/// Parses the name of a device.
fn parse_device_name(text: &str) -> Result<BusNode, String> {
    match text.parse() {
        Ok(node @ BusNode::Device(_)) => Ok(node),
        _ => Err("allowed is the name of a device, like dsa0".to_owned()),
    }
}

/// Runs a command of `config`.
pub fn run(arguments: &ConfigArguments) -> Result<(), CommandFailure> {
    let context = ConfigContext::new(arguments)?;
    match &arguments.command {
        ConfigCommand::Show(arguments) => show::run(arguments, &context),
        ConfigCommand::Check(arguments) => check::run(arguments, &context),
        ConfigCommand::Apply(arguments) => apply::run(arguments, &context),
        ConfigCommand::Reset(arguments) => reset::run(arguments, &context),
    }
}

fn machine_failure(error: &MachineError) -> CommandFailure {
    match error {
        MachineError::Unread(..) | MachineError::FromSysfs(_) => CommandFailure::failed(error),
        _ => CommandFailure::refused(error),
    }
}

fn state_failure(error: &JournalError) -> CommandFailure {
    match error {
        JournalError::Locked { .. } => {
            CommandFailure::refused(format!("nothing was written: {error}"))
        }
        _ => CommandFailure::failed(error),
    }
}

fn change_failure(error: &ChangeError) -> CommandFailure {
    match error {
        ChangeError::Machine(machine) => machine_failure(machine),
        ChangeError::State(state) => state_failure(state),
        ChangeError::TakenBack(step) => match **step {
            StepError::Holds(..) | StepError::Differs(_) => CommandFailure::not_as_asked(error),
            StepError::Machine(_) => CommandFailure::failed(error),
            _ => CommandFailure::refused(error),
        },
        ChangeError::LeftOpen(..) | ChangeError::Stopped => CommandFailure::failed(error),
        _ => CommandFailure::refused(error),
    }
}
