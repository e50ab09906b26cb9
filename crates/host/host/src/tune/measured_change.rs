//! Applies a plan and measures hit rates with the old values, with the new ones, and with the old ones
//! again. A load that drifts meanwhile makes only one of the two differences.

use std::time::Duration;

use super::Watch;
use super::apply::{AppliedChange, ChangeOutcome, TuneApplyError, apply};
use super::journal::StateDirectory;
use super::plan::{PlannedChange, TunePlan};
use super::verify::{HitRates, measure_hit_rates};
use crate::error::FileError;
use crate::machine::Host;
use crate::monitor::Monitor;

/// Hit rates on every socket, or the error of measuring them.
pub type HitRateResult = Result<Vec<HitRates>, FileError>;

/// Hit rates before, after and again before a change.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredChange {
    /// Hit rates with the old values.
    pub before: HitRateResult,
    /// Hit rates with the new values.
    pub after: HitRateResult,
    /// Hit rates with the old values again; else the reason why the old values were not restored.
    pub back: Result<HitRateResult, String>,
}

/// Applies a plan as [`apply`] does, measures before and after it, restores the old values, measures
/// again, and applies the plan once more. A plan that was refused or ignored is not repeated.
///
/// # Errors
/// As [`apply`]. All changes that were written are in the journal, wherever it stopped.
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
    let mut reverted = Vec::new();
    apply(host, state, &reverse_plan(plan, applied), &mut reverted, watch)?;
    let back = match reverted.iter().find(|one| !one.outcome.is_as_requested()) {
        Some(kept) => {
            Err(format!("{}: the old value {:#x} was not restored", kept.place, kept.asked))
        }
        None => Ok(measure()),
    };
    let mut again = Vec::new();
    let ended = apply(host, state, &repeat_plan(plan), &mut again, watch);
    for (first, last) in applied.iter_mut().zip(&again) {
        // A control that had the value before was not written the first time, and was not restored.
        if last.outcome.was_written() {
            first.outcome = last.outcome.clone();
        }
    }
    ended.map(|()| MeasuredChange { before, after, back })
}

/// The plan that restores the old values of the applied changes, the last one first.
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

/// The same plan without old values, so that it applies whatever the controls' values are now.
fn repeat_plan(plan: &TunePlan) -> TunePlan {
    let changes = plan.changes.iter().map(|change| PlannedChange { old: None, ..change.clone() });
    TunePlan { changes: changes.collect(), ..plan.clone() }
}
