//! Predicts the outcomes of a restore without writing.

use super::super::journal::{ChangeRecord, Journal, all_io_ways, boot_id};
use super::decision::{Context, blocked_by_later};
use super::{RestoreOutcome, RestoredControl, restore_order};
use crate::controls::ControlTarget;
use crate::error::{FileError, Problem};
use crate::machine::Host;

/// Predicts the outcomes of [`super::restore`] from the current values of the controls; nothing is
/// written.
///
/// # Errors
/// If the journal or the boot's identifier cannot be read.
pub fn preview(
    host: &Host,
    journal: &Journal,
    all: bool,
) -> Result<Vec<RestoredControl>, FileError> {
    let boot = boot_id(host)?;
    let journal = journal.compact_for_boot(&boot, &|target| all_io_ways(host, target));
    let context = Context::new(host, boot, all, &journal.entries);
    let mut kept: Vec<ChangeRecord> = Vec::new();
    let mut previewed: Vec<RestoredControl> = Vec::new();
    for entry in restore_order(&journal.entries).into_iter().map(|at| &journal.entries[at]) {
        let result = blocked_by_later(entry, &kept).unwrap_or_else(|| {
            let holds = |target: &ControlTarget| predicted_value(host, target, &previewed);
            let decided = context.value_to_write(entry, &holds);
            decided.map_or_else(|result| result, |value| RestoreOutcome::PutBack { value })
        });
        if !result.is_settled() {
            kept.push(entry.clone());
        }
        previewed.push(RestoredControl {
            place: entry.target.to_string(),
            entry: entry.clone(),
            result,
        });
    }
    Ok(previewed)
}

/// Value that a control would have after the outcomes that were predicted so far.
fn predicted_value(
    host: &Host,
    target: &ControlTarget,
    previewed: &[RestoredControl],
) -> Result<u64, FileError> {
    for done in previewed.iter().rev() {
        let RestoreOutcome::PutBack { value } = done.result else { continue };
        if done.entry.target.is_same(target) {
            return Ok(value);
        }
        let switched = matches!(done.entry.target, ControlTarget::Switch { .. })
            && done.entry.target.io_alloc_folder() == target.io_alloc_folder();
        if switched {
            let all_ways = all_io_ways(host, target).filter(|_| value == 1);
            return all_ways.ok_or_else(|| FileError::new(target, Problem::Invalid));
        }
    }
    target.read(host)
}
