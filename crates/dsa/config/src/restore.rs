//! Puts the former configurations of the journal back, one device after the other.

use crate::bus::Bus;
use crate::change::{ChangeError, check};
use crate::journal::{ConfigJournal, JournalEntry, LockedJournal};
use crate::machine::{MachineDevices, disturbed_queues};
use crate::steps::{Point, StepError, Watch, carry_out, report};
use idxd::BusNode;
use idxd::config_file::{ConfigPlan, SavedConfig};

/// Options of a restore. Default: devices that another program has changed are skipped, and a queue in
/// use is an error.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConfigRestoreOptions {
    /// Whether to restore devices that another program has changed since.
    pub all: bool,
    /// Whether devices that are not put back are removed from the journal.
    pub forget: bool,
    /// Whether queues that programs have open may be disabled.
    pub disturbs: bool,
}

/// Result of a restore, or of its preview, for a device of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreResult {
    /// The former configuration was put back, by this number of writes.
    PutBack(usize),
    /// The device had its former configuration already.
    WasBack,
    /// The machine was booted since the change, which has unconfigured the device.
    Rebooted,
    /// Another program has changed the device since; the first difference.
    ChangedByOthers(String),
    /// A step failed.
    Failed(StepError),
    /// The device does not exist any more, or the driver would refuse a step.
    NoWay(String),
}

impl RestoreResult {
    /// Whether the device needs no further restore.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::PutBack(_) | Self::WasBack | Self::Rebooted)
    }
}

/// A device of the journal, and the result of its restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredDevice {
    /// Entry of the device in the journal.
    pub entry: JournalEntry,
    /// Result of the restore.
    pub result: RestoreResult,
}

/// Decision on an entry of the journal.
enum Decision {
    /// Nothing is written; this is the result.
    Ends(RestoreResult),
    /// These steps are carried out, to this configuration.
    Steps(ConfigPlan, SavedConfig),
}

fn decide(bus: &dyn Bus, entry: &JournalEntry, all: bool) -> Result<Decision, ChangeError> {
    if entry.boot_id != bus.boot()? {
        return Ok(Decision::Ends(RestoreResult::Rebooted));
    }
    let machine = MachineDevices::read(bus)?;
    // Reading the journal has parsed the entry before.
    let (Some(number), Ok(former)) = (entry.number(), entry.former()) else {
        return Ok(Decision::Ends(RestoreResult::NoWay("the entry is damaged".to_owned())));
    };
    if !machine.driver.has(BusNode::Device(number)) {
        let gone = format!("{} does not exist", entry.device);
        return Ok(Decision::Ends(RestoreResult::NoWay(gone)));
    }
    let now = machine.configuration(&[number]);
    let plan = former.plan(&machine.driver);
    if plan.steps.is_empty() && plan.refusals.is_empty() {
        return Ok(Decision::Ends(RestoreResult::WasBack));
    }
    let left = entry.left().ok().flatten();
    let other = left.and_then(|left| left.differences(&now).into_iter().next());
    if let (Some(difference), false) = (other, all) {
        return Ok(Decision::Ends(RestoreResult::ChangedByOthers(difference.to_string())));
    }
    match plan.refusals.first() {
        Some(refusal) => Ok(Decision::Ends(RestoreResult::NoWay(refusal.to_string()))),
        None => Ok(Decision::Steps(plan, former)),
    }
}

/// Previews a restore. Nothing is written.
///
/// # Errors
/// If the machine cannot be read.
pub fn preview(
    bus: &dyn Bus,
    journal: &ConfigJournal,
    all: bool,
) -> Result<Vec<RestoredDevice>, ChangeError> {
    let entries = journal.entries.iter().cloned();
    entries
        .map(|entry| {
            let result = match decide(bus, &entry, all)? {
                Decision::Ends(result) => result,
                Decision::Steps(plan, _) => RestoreResult::PutBack(plan.steps.len()),
            };
            Ok(RestoredDevice { entry, result })
        })
        .collect()
}

/// Puts the former configurations of the journal back, and removes settled devices from the journal.
/// `done` gets the result of each device.
///
/// # Errors
/// If machine or journal cannot be read or written, or queues are in use. The devices in `done` have been
/// handled by then.
pub fn restore(
    bus: &dyn Bus,
    state: &LockedJournal,
    options: ConfigRestoreOptions,
    done: &mut Vec<RestoredDevice>,
    watch: Watch<'_>,
) -> Result<(), ChangeError> {
    let mut journal = state.read()?;
    for entry in journal.entries.clone() {
        let result = match decide(bus, &entry, options.all)? {
            Decision::Ends(result) => result,
            Decision::Steps(plan, former) => {
                let disturbed = disturbed_queues(bus, &plan.steps)?;
                if !disturbed.is_empty() && !options.disturbs {
                    return Err(ChangeError::InUse(disturbed));
                }
                // From here on the configuration of the device is one that this restore has written.
                journal.put(JournalEntry { left: None, ..entry.clone() });
                state.write(&journal)?;
                report(watch, Point::Journalled).map_err(|_| ChangeError::Stopped)?;
                let steps = carry_out(bus, &plan.steps, options.disturbs, watch);
                match steps.and_then(|()| check(bus, &former)) {
                    Ok(()) => RestoreResult::PutBack(plan.steps.len()),
                    Err(StepError::Stopped) => return Err(ChangeError::Stopped),
                    Err(error) => RestoreResult::Failed(error),
                }
            }
        };
        if let (Some(number), true) = (entry.number(), result.is_settled() || options.forget) {
            journal.drop_device(number);
            state.write(&journal)?;
            report(watch, Point::Recorded).map_err(|_| ChangeError::Stopped)?;
        }
        done.push(RestoredDevice { entry, result });
    }
    Ok(())
}
