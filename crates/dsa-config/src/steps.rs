//! One write after the other, each read back.

use crate::bus::{Bus, MachineError, command_status};
use crate::machine::{InUse, in_use};
use idxd::config_file::{ConfigStep, Difference};
use idxd::{BusNode, CommandStatus, Errno};
use std::fmt;
use std::ops::ControlFlow;

/// Where a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// What was before is on the disk.
    Journalled,
    /// A step was written.
    Written,
    /// It was read back.
    ReadBack,
    /// What came of the change is on the disk.
    Recorded,
}

/// Told of each point; tests kill the process there.
pub type Watch<'a> = &'a mut dyn FnMut(Point) -> ControlFlow<()>;

/// Why a step did not do what it was to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepError {
    /// The kernel refused it.
    Refused(ConfigStep, Errno, Option<CommandStatus>),
    /// It was taken, and something else is there.
    Holds(ConfigStep, String),
    /// Every step was taken and read back, and yet a value is another one at the end.
    Differs(Difference),
    /// A program has opened the queue.
    InUse(InUse),
    /// The machine cannot be read.
    Machine(MachineError),
    /// The watch said so.
    Stopped,
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(step, errno, status) => {
                write!(f, "{step}: the kernel refused it: {errno}")?;
                status.map_or(Ok(()), |status| write!(f, "; {status}"))
            }
            Self::Holds(step, holds) => write!(f, "{step}: it was taken, and now holds {holds:?}"),
            Self::Differs(difference) => {
                write!(f, "every step was taken, and yet this is still to do: {difference}")
            }
            Self::InUse(in_use) => in_use.fmt(f),
            Self::Machine(error) => error.fmt(f),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl From<MachineError> for StepError {
    fn from(error: MachineError) -> Self {
        Self::Machine(error)
    }
}

/// Carries out steps until one fails; `disturbs` says that queues in use may be disabled.
///
/// # Errors
/// The first failure; the steps before it are done.
pub fn carry_out(
    bus: &dyn Bus,
    steps: &[ConfigStep],
    disturbs: bool,
    watch: Watch<'_>,
) -> Result<(), StepError> {
    for step in steps {
        if let (ConfigStep::Unbind { node: queue @ BusNode::Queue(..), .. }, false) =
            (step, disturbs)
        {
            // A program may have opened it since the plan was made.
            if let Some(in_use) = in_use(bus, *queue)? {
                return Err(StepError::InUse(in_use));
            }
        }
        write(bus, step)?;
        tell(watch, Point::Written)?;
        read_back(bus, step)?;
        tell(watch, Point::ReadBack)?;
    }
    Ok(())
}

/// Tells the watch of a point.
pub(crate) fn tell(watch: Watch<'_>, point: Point) -> Result<(), StepError> {
    match watch(point) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(StepError::Stopped),
    }
}

fn write(bus: &dyn Bus, step: &ConfigStep) -> Result<(), StepError> {
    let device = step.node().device();
    let done = match step {
        ConfigStep::Unbind { node, driver } => bus.unbind(*driver, *node),
        ConfigStep::Write { node, attribute, to, .. } => bus.write(*node, attribute, to),
        ConfigStep::Bind { node, driver } => {
            // A refusal that has no code leaves what is there, so that goes first. What refuses this
            // refuses the next as well.
            let _ = bus.write(BusNode::Device(device), "cmd_status", "1");
            bus.bind(*driver, *node)
        }
    };
    done.map_err(|errno| {
        let is_command = !matches!(step, ConfigStep::Write { .. });
        let status = if is_command { command_status(bus, device) } else { None };
        StepError::Refused(step.clone(), errno, status)
    })
}

fn read_back(bus: &dyn Bus, step: &ConfigStep) -> Result<(), StepError> {
    let (node, attribute, wanted) = match step {
        ConfigStep::Unbind { node, .. } => (*node, "state", "disabled"),
        ConfigStep::Bind { node, .. } => (*node, "state", "enabled"),
        ConfigStep::Write { node, attribute, to, .. } => (*node, *attribute, to.as_str()),
    };
    let holds = bus
        .read(node, attribute)
        .map_err(|errno| MachineError::Unread(bus.shown(node, attribute), errno))?;
    if holds == wanted { Ok(()) } else { Err(StepError::Holds(step.clone(), holds)) }
}
