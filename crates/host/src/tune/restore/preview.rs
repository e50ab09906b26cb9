//! What restoring would do, told without writing.

use super::super::journal::{Entry, Journal, all_io_ways, boot_id};
use super::decision::{Context, below_kept};
use super::{Restored, Restoring};
use crate::controls::Target;
use crate::error::{FileError, Problem};
use crate::machine::Host;

/// What [`super::restore`] would do, by the values that the controls hold now; nothing is written.
///
/// # Errors
/// If the journal or the boot's identifier cannot be read.
pub fn preview(host: &Host, journal: &Journal, all: bool) -> Result<Vec<Restored>, FileError> {
    let boot = boot_id(host)?;
    let journal = journal.compacted(&boot, &|target| all_io_ways(host, target));
    let context = Context::new(host, boot, all, &journal.entries);
    let mut kept: Vec<Entry> = Vec::new();
    let mut previewed: Vec<Restored> = Vec::new();
    for entry in journal.entries.iter().rev() {
        let result = below_kept(entry, &kept).unwrap_or_else(|| {
            let holds = |target: &Target| would_hold(host, target, &previewed);
            let decided = context.decided(entry, &holds);
            decided.map_or_else(|result| result, |value| Restoring::PutBack { value })
        });
        if !result.is_settled() {
            kept.push(entry.clone());
        }
        previewed.push(Restored { place: entry.target.to_string(), entry: entry.clone(), result });
    }
    Ok(previewed)
}

/// What a control would hold after what was previewed so far.
fn would_hold(host: &Host, target: &Target, previewed: &[Restored]) -> Result<u64, FileError> {
    for done in previewed.iter().rev() {
        let Restoring::PutBack { value } = done.result else { continue };
        if done.entry.target.is_same(target) {
            return Ok(value);
        }
        let switched = matches!(done.entry.target, Target::Switch { .. })
            && done.entry.target.io_alloc_folder() == target.io_alloc_folder();
        if switched {
            let all_ways = all_io_ways(host, target).filter(|_| value == 1);
            return all_ways.ok_or_else(|| FileError::new(target, Problem::Invalid));
        }
    }
    target.read(host)
}
