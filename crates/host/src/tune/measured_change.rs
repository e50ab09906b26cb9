//! A change that is measured from both sides: with the old value, with the new one, with the old one
//! again. A load that drifts meanwhile differs from one of them only.

use std::time::Duration;

use super::Watch;
use super::apply::{AppliedChange, ChangeOutcome, TuneApplyError, apply};
use super::journal::StateDirectory;
use super::plan::{PlannedChange, TunePlan};
use super::verify::{HitRates, measure_hit_rates};
use crate::error::FileError;
use crate::machine::Host;
use crate::monitor::Monitor;

/// Hit rates on every socket, or why they cannot be measured.
pub type HitRateResult = Result<Vec<HitRates>, FileError>;

/// Hit rates around a change.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredChange {
    /// With the old values.
    pub before: HitRateResult,
    /// With the new ones.
    pub after: HitRateResult,
    /// With the old values again; else why they could not be had.
    pub back: Result<HitRateResult, String>,
}

/// Applies a plan as [`apply`] does, measures before and after it, puts the old values back, measures
/// again, and applies the plan once more. A plan that was not taken is not repeated.
///
/// # Errors
/// As [`apply`]; what was written is in the journal, wherever it stopped.
pub fn apply_measured(
    host: &Host,
    state: &StateDirectory<'_>,
    plan: &TunePlan,
    (monitor, window): (&Monitor, Duration),
    applied: &mut Vec<AppliedChange>,
    watch: Watch<'_>,
) -> Result<MeasuredChange, TuneApplyError> {
    let measure = || measure_hit_rates(host, monitor, window);
    let before = measure();
    apply(host, state, plan, applied, watch)?;
    let after = measure();
    let is_taken = |one: &AppliedChange| {
        !matches!(
            one.outcome,
            ChangeOutcome::Refused { .. }
                | ChangeOutcome::Ignored
                | ChangeOutcome::NotReadBack { .. }
        )
    };
    let has_changed = applied.iter().any(|one| one.outcome.was_written());
    if !has_changed || !applied.iter().all(is_taken) || before.is_err() || after.is_err() {
        let back = Err("the change was not made, or not measured".to_owned());
        return Ok(MeasuredChange { before, after, back });
    }
    if let Some(one) = unwritable_old_value(plan, applied) {
        let (place, old) = (&one.place, one.old);
        let back = format!("{place}: the old value {old:#x} leaves I/O no way and is not written");
        return Ok(MeasuredChange { before, after, back: Err(back) });
    }
    let mut reverted = Vec::new();
    apply(host, state, &reverse_plan(plan, applied), &mut reverted, watch)?;
    let back = match reverted.iter().find(|one| !one.outcome.is_as_requested()) {
        Some(kept) => {
            Err(format!("{}: the old value {:#x} did not come back", kept.place, kept.asked))
        }
        None => Ok(measure()),
    };
    let mut again = Vec::new();
    let ended = apply(host, state, &repeat_plan(plan), &mut again, watch);
    for (first, last) in applied.iter_mut().zip(&again) {
        // What was so before the first time was not written, and was not put back.
        if last.outcome.was_written() {
            first.outcome = last.outcome.clone();
        }
    }
    ended.map(|()| MeasuredChange { before, after, back })
}

/// A change whose old value may not be written.
fn unwritable_old_value<'a>(
    plan: &TunePlan,
    applied: &'a [AppliedChange],
) -> Option<&'a AppliedChange> {
    let mut changed = applied.iter().zip(&plan.changes);
    let found = changed.find(|(one, change)| {
        one.outcome.was_written() && one.target.denies_io_every_way(one.old, change.owned)
    });
    found.map(|(one, _)| one)
}

/// The changes that put back what was applied, the last one first.
fn reverse_plan(plan: &TunePlan, applied: &[AppliedChange]) -> TunePlan {
    let written = applied.iter().zip(&plan.changes).rev();
    let written = written.filter(|(one, _)| one.outcome != ChangeOutcome::AlreadySo);
    let changes = written.map(|(one, change)| PlannedChange {
        old: None,
        asked: one.old,
        old_means: change.new_means.clone(),
        new_means: change.old_means.clone(),
        only_kept: false,
        ..change.clone()
    });
    let command = format!("{} (measured from both sides)", plan.command);
    TunePlan { command, changes: changes.collect(), warnings: Vec::new(), left_out: Vec::new() }
}

/// The same plan, whatever its controls hold by now.
fn repeat_plan(plan: &TunePlan) -> TunePlan {
    let changes = plan.changes.iter().map(|change| PlannedChange { old: None, ..change.clone() });
    TunePlan { changes: changes.collect(), ..plan.clone() }
}
