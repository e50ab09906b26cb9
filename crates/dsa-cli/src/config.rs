//! `skipline-dsa config`: the configuration of this machine's devices, or of those of the run that it is
//! in.
//!
//! - [`show`]: what there is. [`check`]: what a file would be refused for, and change.
//! - [`apply`]: changes it. [`reset`]: puts back what was before.
//! - [`foreseen`]: what a file comes to, for people and for programs.

mod apply;
mod check;
mod crash;
mod foreseen;
mod reset;
mod show;

use crate::failure::Failure;
use dsa_config::change::ChangeError;
use dsa_config::journal::{Place, State, StateError};
use dsa_config::machine::{Machine, MachineError};
use dsa_config::steps::StepError;
use dsa_config::sysfs::Sysfs;
use idxd::Node;
use std::path::{Path, PathBuf};

/// What is said after a change.
const WRITTEN: &str =
    "All of it was written and read back; `config reset` puts back what was before.";

/// Show, check, change and put back the configuration of devices.
///
/// The files are those of accel-config. A device that a file names gets the configuration of the file as
/// a whole: what the file does not say of it is as after a boot. Nothing is written unless --apply is
/// given; what was before is on the disk first, and `reset` puts it back, also after a crash.
///
/// In a run (`skipline-dsa run --unconfigured -- sh`) it configures the devices of the run.
#[derive(clap::Args)]
pub struct Arguments {
    /// Directory tree that stands in for the machine: DIR/sys/bus/dsa and what else is read or written.
    #[arg(long, global = true, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Where the journal is kept, below the root [default: /var/lib/skipline-dsa; in a run its directory].
    #[arg(long, global = true, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Wait until another skipline-dsa has ended, where this one would be refused.
    #[arg(long, global = true)]
    wait: bool,
    /// For people or for programs.
    #[arg(long, global = true, value_enum, default_value_t)]
    format: Format,
    #[command(subcommand)]
    command: Command,
}

/// Who reads the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// People.
    #[default]
    Text,
    /// Programs.
    Json,
}

#[derive(clap::Subcommand)]
enum Command {
    Show(show::Arguments),
    Check(check::Arguments),
    Apply(apply::Arguments),
    Reset(reset::Arguments),
}

/// What all commands need.
struct Context {
    bus: Sysfs,
    place: Place,
    waits: bool,
    format: Format,
    /// Whether these are no devices of the machine.
    is_stand_in: bool,
}

impl Context {
    fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let asked = arguments.state_dir.as_deref();
        let run = std::env::var_os(dsa_run::RUN_DIRECTORY).map(PathBuf::from);
        let (bus, place) = match (&arguments.root, &run) {
            (Some(root), _) => {
                let shown = root.display();
                let bus = Sysfs::at(root)
                    .map_err(|error| Failure::bad_input(format!("--root {shown}: {error}")))?;
                let place = Place::of_machine(bus.root(), asked);
                (bus, place)
            }
            (None, Some(run)) => (Sysfs::real(), Place::of_run(run, asked)),
            (None, None) => (Sysfs::real(), Place::of_machine(Path::new("/"), asked)),
        };
        let is_stand_in = arguments.root.is_some() || run.is_some();
        let (waits, format) = (arguments.wait, arguments.format);
        Ok(Self { bus, place, waits, format, is_stand_in })
    }

    /// Its devices.
    fn machine(&self) -> Result<Machine, Failure> {
        Machine::read(&self.bus).map_err(|error| of_machine(&error))
    }

    /// Before anything is written: the right to, then the lock.
    fn lock(&self) -> Result<State, Failure> {
        // Such a run serves no files that can be written.
        if self.is_stand_in && std::env::var_os("DSA_SYSFS_PATH").is_some() {
            return Err(Failure::refused(
                "nothing was written: a run without namespaces has attributes for reading alone\n  \
                 remedy: skipline-dsa run --config FILE, or accel-config",
            ));
        }
        self.bus.check_writable().map_err(|error| of_machine(&error))?;
        let state = match self.place.lock(false) {
            Err(StateError::Locked(path)) if self.waits => {
                eprintln!("waiting for the lock {}", path.display());
                self.place.lock(true)
            }
            other => other,
        };
        state.map_err(|error| of_state(&error))
    }

    /// The devices of some names, all of them if there is none.
    fn chosen(&self, machine: &Machine, names: &[Node]) -> Result<Vec<usize>, Failure> {
        if names.is_empty() {
            return Ok(machine.numbers.clone());
        }
        let unknown = names.iter().find(|name| !machine.numbers.contains(&name.device()));
        match unknown {
            None => Ok(names.iter().map(|name| name.device()).collect()),
            Some(name) => {
                let there: Vec<String> =
                    machine.numbers.iter().map(|it| Node::Device(*it).to_string()).collect();
                let there = there.join(", ");
                Err(Failure::bad_input(format!("--device {name}: allowed is {there}")))
            }
        }
    }
}

/// The name of a device.
fn device_name(text: &str) -> Result<Node, String> {
    match text.parse() {
        Ok(node @ Node::Device(_)) => Ok(node),
        _ => Err("allowed is the name of a device, like dsa0".to_owned()),
    }
}

/// Runs a command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let context = Context::new(arguments)?;
    match &arguments.command {
        Command::Show(arguments) => show::run(arguments, &context),
        Command::Check(arguments) => check::run(arguments, &context),
        Command::Apply(arguments) => apply::run(arguments, &context),
        Command::Reset(arguments) => reset::run(arguments, &context),
    }
}

fn of_machine(error: &MachineError) -> Failure {
    match error {
        MachineError::Unread(..) | MachineError::Seen(_) => Failure::failed(error),
        _ => Failure::refused(error),
    }
}

fn of_state(error: &StateError) -> Failure {
    match error {
        StateError::Locked(_) => Failure::refused(format!("nothing was written: {error}")),
        _ => Failure::failed(error),
    }
}

fn of_change(error: &ChangeError) -> Failure {
    match error {
        ChangeError::Machine(machine) => of_machine(machine),
        ChangeError::State(state) => of_state(state),
        ChangeError::TakenBack(step) => match **step {
            StepError::Holds(..) | StepError::Differs(_) => Failure::not_as_asked(error),
            StepError::Machine(_) => Failure::failed(error),
            _ => Failure::refused(error),
        },
        ChangeError::LeftOpen(..) | ChangeError::Stopped => Failure::failed(error),
        _ => Failure::refused(error),
    }
}
