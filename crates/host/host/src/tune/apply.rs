//! Writes a plan: journal, write, read back.

use serde::Serialize;

use super::journal::{ChangeRecord, StateDirectory, StateError, boot_id, now_unix_s};
use super::plan::{PlannedChange, TunePlan};
use super::{ChangeStep, Watch};
use crate::controls::ControlTarget;
use crate::error::FileError;
use crate::machine::Host;
use crate::unavailable::remedy;

/// Outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum ChangeOutcome {
    /// The control had the requested value before; nothing was written.
    AlreadySo,
    /// Nothing was written; the value is in the journal, because another change of the plan loses it.
    Kept,
    /// The control reads back the requested value.
    Set,
    /// The write was accepted, and the control reads back the old value.
    Ignored,
    /// The control reads back more bits than requested.
    Widened {
        /// Value of the control.
        #[serde(serialize_with = "crate::hex::value")]
        holds: u64,
    },
    /// The control reads back another value.
    Different {
        /// Value of the control.
        #[serde(serialize_with = "crate::hex::value")]
        holds: u64,
    },
    /// The control was written, and cannot be read back.
    NotReadBack {
        /// The reason, with the remedy.
        reason: String,
    },
    /// The write was refused.
    Refused {
        /// The reason, with the remedy.
        reason: String,
    },
}

impl ChangeOutcome {
    /// Whether a write was attempted, with or without effect.
    #[must_use]
    pub fn was_written(&self) -> bool {
        !matches!(self, Self::AlreadySo | Self::Kept)
    }

    /// Whether the control has the requested value, or was only journalled as requested.
    #[must_use]
    pub fn is_as_requested(&self) -> bool {
        matches!(self, Self::AlreadySo | Self::Kept | Self::Set)
    }
}

/// A change of a plan, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AppliedChange {
    /// Control that the change concerns.
    pub target: ControlTarget,
    /// Name of the control in messages.
    pub place: String,
    /// Value of the control before the change.
    #[serde(serialize_with = "crate::hex::value")]
    pub old: u64,
    /// Value that was requested for the control.
    #[serde(serialize_with = "crate::hex::value")]
    pub asked: u64,
    /// Outcome of the change.
    #[serde(flatten)]
    pub outcome: ChangeOutcome,
}

/// Error that stopped the changes of a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TuneApplyError {
    /// state directory or journal
    #[error("{0}")]
    State(#[from] StateError),
    /// a control cannot be read
    #[error("{0}")]
    File(#[from] FileError),
    /// the control has another value than in the plan
    #[error("{control} changed from {planned:#x} to {now:#x} since the plan was made; plan again")]
    Moved {
        /// Name of the control.
        control: String,
        /// Value in the plan.
        planned: u64,
        /// Current value.
        now: u64,
    },
    /// the callback stopped the change
    #[error("stopped after the step {0:?}")]
    Stopped(ChangeStep),
}

/// Writes the changes of a plan in their order and reads each back. Stops at the first that is refused,
/// ignored or not read back; earlier changes stay, are in the journal, and are added to `done` also
/// after an error.
///
/// # Errors
/// If the journal or a control cannot be read or written, or a control changed since the plan was made.
pub fn apply(
    host: &Host,
    state: &StateDirectory<'_>,
    plan: &TunePlan,
    done: &mut Vec<AppliedChange>,
    watch: Watch<'_>,
) -> Result<(), TuneApplyError> {
    let is_of_kernel = plan.changes.iter().any(|change| change.target.is_kernel_file());
    let _lock = if is_of_kernel { state.lock_resctrl()? } else { None };
    state.compact(host)?;
    for change in &plan.changes {
        apply_one(host, state, &plan.command, change, done, watch)?;
        match done.last().map(|last| &last.outcome) {
            Some(ChangeOutcome::Refused { .. } | ChangeOutcome::Ignored) => {
                return drop_unneeded_records(state, plan);
            }
            Some(ChangeOutcome::NotReadBack { .. }) => return Ok(()),
            _ => {}
        }
    }
    Ok(())
}

/// Removes records from the journal that were only journalled for a change which was not made.
fn drop_unneeded_records(
    state: &StateDirectory<'_>,
    plan: &TunePlan,
) -> Result<(), TuneApplyError> {
    let mut journal = state.read()?;
    for change in plan.changes.iter().filter(|change| change.only_kept) {
        let kept =
            |entry: &ChangeRecord| entry.is_only_journalled() && entry.target == change.target;
        if let Some(last) = journal.entries.iter().rposition(kept) {
            drop(journal.entries.remove(last));
        }
    }
    Ok(state.write(&journal)?)
}

fn apply_one(
    host: &Host,
    state: &StateDirectory<'_>,
    command: &str,
    change: &PlannedChange,
    done: &mut Vec<AppliedChange>,
    watch: Watch<'_>,
) -> Result<(), TuneApplyError> {
    let target = &change.target;
    target.check().map_err(|error| StateError::NotAllowed { path: "the plan".into(), error })?;
    let old = target.read(host)?;
    if let Some(planned) = change.old.filter(|planned| *planned != old) {
        return Err(TuneApplyError::Moved { control: target.to_string(), planned, now: old });
    }
    // The other bits stay as they are now, whatever they were when the plan was made: a repeated or
    // reversed plan may be older than changes that hardware or another program has made to them.
    let asked = (old & !change.owned) | (change.asked & change.owned);
    let change = &PlannedChange { asked, ..change.clone() };
    let mut tell = |outcome| {
        let (target, place) = (target.clone(), target.to_string());
        done.push(AppliedChange { target, place, old, asked: change.asked, outcome });
    };
    if old == change.asked && !change.only_kept {
        tell(ChangeOutcome::AlreadySo);
        return Ok(());
    }
    let mut journal = state.read()?;
    journal.entries.push(new_record(host, command, change, old)?);
    state.write_before_change(&journal)?;
    report_step(watch, ChangeStep::Journalled)?;
    if let Err(error) = check_unchanged(host, change, old) {
        drop(journal.entries.pop());
        state.write(&journal)?;
        return Err(error);
    }
    if change.only_kept {
        tell(ChangeOutcome::Kept);
        return Ok(());
    }
    let written = target.write(host, change.asked);
    report_step(watch, ChangeStep::Written)?;
    // Also after a refused write, which may have had an effect all the same.
    let holds = match target.read(host) {
        Ok(holds) => holds,
        Err(error) => {
            tell(ChangeOutcome::NotReadBack { reason: with_remedy(&error) });
            return Ok(());
        }
    };
    tell(outcome([old, change.asked, holds].map(|value| value & change.owned), holds, written));
    report_step(watch, ChangeStep::ReadBack)?;
    if holds == old {
        drop(journal.entries.pop());
    } else if let Some(last) = journal.entries.last_mut() {
        last.read_back = Some(holds);
    }
    state.write(&journal)?;
    report_step(watch, ChangeStep::Recorded)
}

/// The record of a change that is about to be made.
fn new_record(
    host: &Host,
    command: &str,
    change: &PlannedChange,
    old: u64,
) -> Result<ChangeRecord, FileError> {
    Ok(ChangeRecord {
        time_unix_s: now_unix_s(),
        boot_id: boot_id(host)?,
        command: command.to_owned(),
        target: change.target.clone(),
        old,
        asked: change.asked,
        owned: change.owned,
        read_back: None,
    })
}

/// Checks that a control still has the value that was journalled as its old one: the rest of the register
/// is written with the change, and restoring would give it the journalled one.
fn check_unchanged(host: &Host, change: &PlannedChange, old: u64) -> Result<(), TuneApplyError> {
    match change.target.read(host)? {
        now if now == old => Ok(()),
        now => Err(TuneApplyError::Moved { control: change.target.to_string(), planned: old, now }),
    }
}

/// Reports a finished step to the callback.
///
/// # Errors
/// If the callback stops the change.
pub(super) fn report_step(watch: Watch<'_>, step: ChangeStep) -> Result<(), TuneApplyError> {
    if watch(step).is_break() { Err(TuneApplyError::Stopped(step)) } else { Ok(()) }
}

fn with_remedy(error: &FileError) -> String {
    match remedy(error) {
        Some(remedy) => format!("{error} ({remedy})"),
        None => error.to_string(),
    }
}

/// Outcome of a write, from the owned bits of the old, the requested and the current value.
fn outcome(
    [old, asked, held]: [u64; 3],
    holds: u64,
    written: Result<(), FileError>,
) -> ChangeOutcome {
    match written {
        Err(error) if held == old => ChangeOutcome::Refused { reason: with_remedy(&error) },
        _ if held == asked => ChangeOutcome::Set,
        _ if held == old => ChangeOutcome::Ignored,
        _ if held & asked == asked => ChangeOutcome::Widened { holds },
        _ => ChangeOutcome::Different { holds },
    }
}
