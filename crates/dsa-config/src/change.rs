//! A whole change: journal, steps, and back where one fails.

use crate::bus::{Bus, MachineError};
use crate::journal::{ConfigJournal, JournalEntry, JournalError, LockedJournal, kept, now_unix_s};
use crate::machine::{InUse, MachineDevices, disturbed};
use crate::steps::{Point, StepError, Watch, carry_out, tell};
use idxd::BusNode;
use idxd::config_file::{ConfigPlan, Difference, SavedConfig};
use thiserror::Error;

/// What is asked for beside the configuration.
#[derive(Clone, Debug, Default)]
pub struct ChangeOptions {
    /// Queues that programs have open may be disabled.
    pub disturbs: bool,
    /// A device is changed also where what it has cannot be put back; the journal has nothing of it.
    pub without_way_back: bool,
    /// What the journal says that the user asked for.
    pub command: String,
}

/// Why a change was not made, or not to its end.
#[derive(Debug, Error)]
pub enum ChangeError {
    /// The machine cannot be read or written.
    #[error("{0}")]
    Machine(#[from] MachineError),
    /// The journal cannot be used.
    #[error("{0}")]
    State(#[from] JournalError),
    /// Programs have queues open.
    #[error("{}; end them, or add --even-if-in-use", sentence(.0))]
    InUse(Vec<InUse>),
    /// A step to the configuration is one that the driver refuses.
    #[error("there is no way from what is there: {0}; nothing was written")]
    NoWay(String),
    /// What is there could not be put back afterwards.
    #[error(
        "what {0} has now could not be put back afterwards ({1}); nothing was written\n  remedy: \
         `skipline-dsa config reset --factory --device {0}` gives up what is there"
    )]
    NoWayBack(BusNode, String),
    /// Another program has changed a device since the last change of ours.
    #[error(
        "{device}: another program has changed it since `{command}` did ({difference}); nothing was \
         written\n  remedy: `skipline-dsa config reset` says what it can put back; `config reset --forget` \
         makes what is there now the configuration that one goes back to"
    )]
    ChangedByOthers {
        /// The device.
        device: BusNode,
        /// What has changed it first.
        command: String,
        /// The first difference.
        difference: Box<Difference>,
    },
    /// A step failed, and all steps before it were taken back.
    #[error("{0}\nall that was written before was put back")]
    TakenBack(Box<StepError>),
    /// A step failed, and so did the way back.
    #[error("{0}\nand it could not be put back: {1}; `skipline-dsa config reset` tries it again")]
    LeftOpen(Box<StepError>, Box<StepError>),
    /// Stopped by the watch, as by a kill.
    #[error("stopped")]
    Stopped,
}

fn sentence(all: &[InUse]) -> String {
    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
    all.join("; ")
}

/// Gives devices a configuration of whole devices, as `idxd::config_file::AcceptedConfig` has it. What is so already is
/// not written.
///
/// # Errors
/// If it was not made; then the devices have what they had before, but for [`ChangeError::LeftOpen`].
pub fn change(
    bus: &dyn Bus,
    state: &LockedJournal,
    wanted: &SavedConfig,
    options: &ChangeOptions,
    watch: Watch<'_>,
) -> Result<ConfigPlan, ChangeError> {
    let machine = MachineDevices::read(bus)?;
    let plan = wanted.plan(&machine.driver);
    if let Some(refusal) = plan.refusals.first() {
        return Err(ChangeError::NoWay(refusal.to_string()));
    }
    if plan.steps.is_empty() {
        return Ok(plan);
    }
    let disturbed = disturbed(bus, &plan.steps)?;
    if !disturbed.is_empty() && !options.disturbs {
        return Err(ChangeError::InUse(disturbed));
    }
    let mut devices: Vec<usize> = plan.steps.iter().map(|step| step.node().device()).collect();
    devices.dedup();
    let boot = bus.boot()?;
    let mut before = state.read()?;
    // The boot since has unconfigured the devices.
    before.entries.retain(|entry| entry.boot_id == boot);
    let mut journal = before.clone();
    for &number in &devices {
        note(&mut journal, &machine, number, &boot, options)?;
    }
    state.write(&journal)?;
    tell(watch, Point::Journalled).map_err(|_| ChangeError::Stopped)?;
    let done =
        carry_out(bus, &plan.steps, options.disturbs, watch).and_then(|()| check(bus, wanted));
    match done {
        Ok(()) => {
            record(bus, state, &mut journal, &devices)?;
            tell(watch, Point::Recorded).map_err(|_| ChangeError::Stopped)?;
            Ok(plan)
        }
        Err(StepError::Stopped) => Err(ChangeError::Stopped),
        Err(failed) => {
            let had = machine.configuration(&devices);
            match go_back(bus, &had, watch) {
                Ok(()) => {
                    state.write(&before)?;
                    Err(ChangeError::TakenBack(Box::new(failed)))
                }
                Err(StepError::Stopped) => Err(ChangeError::Stopped),
                Err(error) => Err(ChangeError::LeftOpen(Box::new(failed), Box::new(error))),
            }
        }
    }
}

/// Puts what a device has into the journal, before it is changed.
fn note(
    journal: &mut ConfigJournal,
    machine: &MachineDevices,
    number: usize,
    boot: &str,
    options: &ChangeOptions,
) -> Result<(), ChangeError> {
    let device = BusNode::Device(number);
    let now = machine.configuration(&[number]);
    if let Some(entry) = journal.entry(number) {
        let mut entry = entry.clone();
        // An entry that is read was understood before.
        let left = entry.left().ok().flatten();
        let difference = left.and_then(|left| left.differences(&now).into_iter().next());
        if let Some(difference) = difference {
            let (command, difference) = (entry.command, Box::new(difference));
            return Err(ChangeError::ChangedByOthers { device, command, difference });
        }
        entry.left = None;
        journal.put(entry);
        return Ok(());
    }
    if let Some(reason) = cannot_come_back(machine, &now) {
        return match options.without_way_back {
            true => Ok(()),
            false => Err(ChangeError::NoWayBack(device, reason)),
        };
    }
    journal.put(JournalEntry {
        device: device.to_string(),
        time_unix_s: now_unix_s(),
        boot_id: boot.to_owned(),
        command: options.command.clone(),
        former: kept(&now),
        left: None,
    });
    Ok(())
}

/// Why a configuration that a device has could not be written to it: half of one, as single writes in
/// an order of their own make it.
fn cannot_come_back(machine: &MachineDevices, now: &SavedConfig) -> Option<String> {
    let taken = now.taken_by(&machine.driver);
    let refusal = taken.refusals.first().map(ToString::to_string);
    refusal.or_else(|| {
        let differences = now.differences(&taken.configuration);
        differences.first().map(|difference| format!("it would become {difference}"))
    })
}

/// Whether all devices have what they were to have.
pub(crate) fn check(bus: &dyn Bus, wanted: &SavedConfig) -> Result<(), StepError> {
    let machine = MachineDevices::read(bus)?;
    let now = machine.configuration(&wanted.devices());
    match now.differences(wanted).into_iter().next() {
        None => Ok(()),
        Some(difference) => Err(StepError::Differs(difference)),
    }
}

/// Gives devices back what they had, from wherever they are.
pub(crate) fn go_back(bus: &dyn Bus, had: &SavedConfig, watch: Watch<'_>) -> Result<(), StepError> {
    let machine = MachineDevices::read(bus)?;
    let plan = had.plan(&machine.driver);
    // Programs that have a queue open by now have opened it in the middle of the change.
    carry_out(bus, &plan.steps, true, watch)?;
    check(bus, had)
}

/// Notes what the change has left; a device that has what it had first is none that was changed.
fn record(
    bus: &dyn Bus,
    state: &LockedJournal,
    journal: &mut ConfigJournal,
    devices: &[usize],
) -> Result<(), ChangeError> {
    let machine = MachineDevices::read(bus)?;
    for &number in devices {
        let Some(mut entry) = journal.entry(number).cloned() else { continue };
        let now = machine.configuration(&[number]);
        if entry.former().is_ok_and(|former| now.differences(&former).is_empty()) {
            journal.drop_device(number);
        } else {
            entry.left = Some(kept(&now));
            journal.put(entry);
        }
    }
    Ok(state.write(journal)?)
}
