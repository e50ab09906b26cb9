//! A whole change: journal, steps, and the way back if a step fails.

use crate::bus::{Bus, MachineError};
use crate::journal::{
    ConfigJournal, JournalEntry, JournalError, LockedJournal, now_unix_s, to_value,
};
use crate::machine::{InUse, MachineDevices, disturbed_queues};
use crate::steps::{Point, StepError, Watch, carry_out, report};
use idxd::BusNode;
use idxd::config_file::{ConfigPlan, Difference, SavedConfig};
use thiserror::Error;

/// Options of a change. Default: nothing that is in use or cannot be put back is changed.
#[derive(Clone, Debug, Default)]
pub struct ChangeOptions {
    /// Whether queues that programs have open may be disabled.
    pub disturbs: bool,
    /// Whether a device is changed even if its present configuration cannot be put back. The journal then
    /// has no entry for it.
    pub without_way_back: bool,
    /// The user's command, for the journal.
    pub command: String,
}

/// Reason why a change was not made, or not completed.
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
    /// The driver would refuse a step to the configuration.
    #[error("the present configuration cannot be changed to this one: {0}; nothing was written")]
    NoWay(String),
    /// The present configuration could not be put back afterwards.
    #[error(
        "the present configuration of {0} could not be put back afterwards ({1}); nothing was written\n  remedy: \
         `skipline-dsa config reset --factory --device {0}` discards it"
    )]
    NoWayBack(BusNode, String),
    /// Another program has changed a device since the last change in the journal.
    #[error(
        "{device}: another program has changed it since `{command}` did ({difference}); nothing was \
         written\n  remedy: `skipline-dsa config reset` says what it can put back; `config reset --forget` \
         makes the present configuration the one that is put back later"
    )]
    ChangedByOthers {
        /// The device.
        device: BusNode,
        /// Command of the first change in the journal.
        command: String,
        /// The first difference.
        difference: Box<Difference>,
    },
    /// A step failed, and all steps before it were undone.
    #[error("{0}\nall earlier writes were put back")]
    TakenBack(Box<StepError>),
    /// A step failed, and undoing the steps before it failed as well.
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

/// Changes devices to a configuration of whole devices, as in `idxd::config_file::AcceptedConfig`. Values
/// that are the same already are not written. Returns the plan that was carried out.
///
/// # Errors
/// If the change was not made. The devices then have their former configuration, except after
/// [`ChangeError::LeftOpen`] and [`ChangeError::Stopped`].
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
    let disturbed = disturbed_queues(bus, &plan.steps)?;
    if !disturbed.is_empty() && !options.disturbs {
        return Err(ChangeError::InUse(disturbed));
    }
    let mut devices: Vec<usize> = plan.steps.iter().map(|step| step.node().device()).collect();
    devices.dedup();
    let boot = bus.boot()?;
    let mut before = state.read()?;
    // A boot since the change has unconfigured the devices.
    before.entries.retain(|entry| entry.boot_id == boot);
    let mut journal = before.clone();
    for &number in &devices {
        add_entry(&mut journal, &machine, number, &boot, options)?;
    }
    state.write(&journal)?;
    report(watch, Point::Journalled).map_err(|_| ChangeError::Stopped)?;
    let done =
        carry_out(bus, &plan.steps, options.disturbs, watch).and_then(|()| check(bus, wanted));
    match done {
        Ok(()) => {
            record(bus, state, &mut journal, &devices)?;
            report(watch, Point::Recorded).map_err(|_| ChangeError::Stopped)?;
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

/// Adds the present configuration of a device to the journal, before it is changed.
fn add_entry(
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
        // Reading the journal has parsed the entry before.
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
    if let Some(reason) = reason_against_restore(machine, &now) {
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
        former: to_value(&now),
        left: None,
    });
    Ok(())
}

/// Reason why the present configuration of a device could not be written to it later; `None` if it could. An
/// incomplete configuration, as single writes by hand leave it, is an example.
fn reason_against_restore(machine: &MachineDevices, now: &SavedConfig) -> Option<String> {
    let taken = now.accepted_by(&machine.driver);
    let refusal = taken.refusals.first().map(ToString::to_string);
    refusal.or_else(|| {
        let differences = now.differences(&taken.configuration);
        differences.first().map(|difference| format!("it would become {difference}"))
    })
}

/// Checks that all devices have the wanted configuration.
pub(crate) fn check(bus: &dyn Bus, wanted: &SavedConfig) -> Result<(), StepError> {
    let machine = MachineDevices::read(bus)?;
    let now = machine.configuration(&wanted.devices());
    match now.differences(wanted).into_iter().next() {
        None => Ok(()),
        Some(difference) => Err(StepError::Differs(difference)),
    }
}

/// Puts the former configuration of devices back, from any state.
pub(crate) fn go_back(bus: &dyn Bus, had: &SavedConfig, watch: Watch<'_>) -> Result<(), StepError> {
    let machine = MachineDevices::read(bus)?;
    let plan = had.plan(&machine.driver);
    // Programs that have a queue open now have opened it in the middle of the change.
    carry_out(bus, &plan.steps, true, watch)?;
    check(bus, had)
}

/// Records the configuration after the change. A device with its former configuration is removed from the
/// journal.
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
            entry.left = Some(to_value(&now));
            journal.put(entry);
        }
    }
    Ok(state.write(journal)?)
}
