//! One write after the other, each read back.

use crate::bus::{Bus, MachineError, command_status};
use crate::machine::{InUse, in_use};
use idxd::config_file::{ConfigStep, Difference};
use idxd::{BusNode, CommandStatus, Errno};
use std::fmt;
use std::ops::ControlFlow;

/// Point of a change that is reported to its watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The journal with the former configuration is on the disk.
    Journalled,
    /// A step was written.
    Written,
    /// A step was read back.
    ReadBack,
    /// The journal with the result of the change is on the disk.
    Recorded,
}

/// Function that is called at each point. `Break` stops the change there, as a kill would; tests use it.
pub type Watch<'a> = &'a mut dyn FnMut(Point) -> ControlFlow<()>;

/// Reason why a step failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepError {
    /// The kernel refused the step.
    Refused(ConfigStep, Errno, Option<CommandStatus>),
    /// The kernel accepted it, but the attribute has this other text.
    Holds(ConfigStep, String),
    /// All steps were accepted and read back, but a value differs at the end.
    Differs(Difference),
    /// A program has opened the queue.
    InUse(InUse),
    /// The machine cannot be read.
    Machine(MachineError),
    /// The watch stopped the change.
    Stopped,
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(step, errno, status) => {
                write!(f, "{step}: the kernel refused it: {errno}")?;
                status.map_or(Ok(()), |status| write!(f, "; {status}"))
            }
            Self::Holds(step, holds) => {
                write!(f, "{step}: the kernel accepted it, but the attribute has {holds:?}")
            }
            Self::Differs(difference) => {
                write!(f, "every step was accepted, but this is still to do: {difference}")
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

/// Carries out steps until one fails. `disturbs`: whether queues in use may be disabled.
///
/// # Errors
/// The first failure. The steps before it are done.
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
        report(watch, Point::Written)?;
        read_back(bus, step)?;
        report(watch, Point::ReadBack)?;
    }
    Ok(())
}

/// Reports a point to the watch.
pub(crate) fn report(watch: Watch<'_>, point: Point) -> Result<(), StepError> {
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
            // A refusal without a code leaves `cmd_status` as it is, so it is cleared first. If this write is
            // refused, so is the next one.
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
