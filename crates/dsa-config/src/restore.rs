//! What the journal says is put back, one device after the other.

use crate::bus::Bus;
use crate::change::{ChangeError, check};
use crate::journal::{ConfigJournal, JournalEntry, LockedJournal};
use crate::machine::{MachineDevices, disturbed};
use crate::steps::{Point, StepError, Watch, carry_out, tell};
use idxd::BusNode;
use idxd::config_file::{ConfigPlan, SavedConfig};

/// What is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConfigRestoreOptions {
    /// Also devices that another program has changed since.
    pub all: bool,
    /// What is not put back leaves the journal.
    pub forget: bool,
    /// Queues that programs have open may be disabled.
    pub disturbs: bool,
}

/// What became of a device of the journal, or would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreResult {
    /// It has what it had, by so many writes.
    PutBack(usize),
    /// It had that already.
    WasBack,
    /// The machine was booted since, which has unconfigured it.
    Rebooted,
    /// Another program has changed it since; where.
    ChangedByOthers(String),
    /// It could not be put back.
    Failed(StepError),
    /// The device is not there any more, or there is no way.
    NoWay(String),
}

impl RestoreResult {
    /// Whether nothing is left to do.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::PutBack(_) | Self::WasBack | Self::Rebooted)
    }
}

/// A device of the journal, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredDevice {
    /// Its entry.
    pub entry: JournalEntry,
    /// What became of it.
    pub result: RestoreResult,
}

/// What is to be done with an entry.
enum Decision {
    /// Nothing.
    Ends(RestoreResult),
    /// These steps, to this configuration.
    Steps(ConfigPlan, SavedConfig),
}

fn decide(bus: &dyn Bus, entry: &JournalEntry, all: bool) -> Result<Decision, ChangeError> {
    if entry.boot_id != bus.boot()? {
        return Ok(Decision::Ends(RestoreResult::Rebooted));
    }
    let machine = MachineDevices::read(bus)?;
    // An entry that is read was understood before.
    let (Some(number), Ok(former)) = (entry.number(), entry.former()) else {
        return Ok(Decision::Ends(RestoreResult::NoWay("the entry is damaged".to_owned())));
    };
    if !machine.driver.has(BusNode::Device(number)) {
        let gone = format!("{} is not there", entry.device);
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

/// What a restore would do; nothing is written.
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

/// Puts back what the journal has, and what is settled leaves it.
///
/// # Errors
/// If machine or journal cannot be read or written, or queues are in use: the devices of `done` are
/// settled, or say why not.
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
                let disturbed = disturbed(bus, &plan.steps)?;
                if !disturbed.is_empty() && !options.disturbs {
                    return Err(ChangeError::InUse(disturbed));
                }
                // From here on what the device holds is ours.
                journal.put(JournalEntry { left: None, ..entry.clone() });
                state.write(&journal)?;
                tell(watch, Point::Journalled).map_err(|_| ChangeError::Stopped)?;
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
            tell(watch, Point::Recorded).map_err(|_| ChangeError::Stopped)?;
        }
        done.push(RestoredDevice { entry, result });
    }
    Ok(())
}
