//! Putting back what the journal says, newest first.

mod decision;
mod preview;

use serde::Serialize;

use super::apply::{ApplyError, at};
use super::journal::{Entry, Journal, StateDirectory, StateError, boot_id};
use super::{Step, Watch};
use crate::error::FileError;
use crate::machine::Host;

use decision::{Scene, below_kept};
pub use preview::preview;

/// What became of one entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum Restoring {
    /// The old value was written and reads back.
    PutBack,
    /// It has the old value already.
    WasBack,
    /// The machine was rebooted since, which resets the control; nothing was written.
    Rebooted,
    /// I/O allocation is off again, as it was before: masks for I/O mean nothing then.
    SwitchedOff,
    /// Somebody else changed it since; it was left alone.
    ChangedByOthers {
        /// What it holds.
        holds: u64,
    },
    /// It could not be put back.
    Failed {
        /// Why.
        reason: String,
    },
}

impl Restoring {
    /// Whether the entry is settled, and leaves the journal.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::PutBack | Self::WasBack | Self::Rebooted | Self::SwitchedOff)
    }
}

/// One entry that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The entry.
    pub entry: Entry,
    /// Its place for people.
    pub place: String,
    /// What became of it.
    #[serde(flatten)]
    pub result: Restoring,
}

/// What to do with entries that are no plain matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreWish {
    /// Put back also what somebody else changed since.
    pub all: bool,
    /// Drop from the journal what is not put back.
    pub forget: bool,
}

/// Puts back every journalled value of this boot, newest first. What became of each entry is in `done`
/// also after an error. A journal that cannot be rewritten stops nothing: what it lists too much is
/// found to be back the next time.
///
/// # Errors
/// If the journal cannot be read, or not be written in the end. What cannot be put back is a result,
/// not an error.
pub fn restore(
    host: &Host,
    state: &StateDirectory<'_>,
    wish: RestoreWish,
    done: &mut Vec<Restored>,
    watch: Watch<'_>,
) -> Result<(), ApplyError> {
    let journal = state.read()?;
    let scene = Scene { host, boot: boot_id(host)?, all: wish.all, entries: &journal.entries };
    let mut kept: Vec<&Entry> = Vec::new();
    let mut unrecorded: Option<StateError> = None;
    for (index, entry) in journal.entries.iter().enumerate().rev() {
        let result = match below_kept(entry, &kept) {
            Some(waits) => waits,
            None => put_back(&scene, entry, watch)?,
        };
        if !result.is_settled() {
            kept.push(entry);
        }
        done.push(Restored { place: entry.target.to_string(), entry: entry.clone(), result });
        let staying = kept.iter().rev().copied().filter(|_| !wish.forget);
        let remaining = journal.entries[..index].iter().chain(staying).cloned().collect();
        unrecorded = state.write(&Journal { entries: remaining }).err();
        at(watch, Step::Recorded)?;
    }
    unrecorded.map_or(Ok(()), |error| Err(error.into()))
}

fn put_back(scene: &Scene<'_>, entry: &Entry, watch: Watch<'_>) -> Result<Restoring, ApplyError> {
    let host = scene.host;
    if let Some(result) = scene.decided(entry, &|target| target.read(host)) {
        return Ok(result);
    }
    let failed = |error: FileError| Restoring::Failed { reason: error.to_string() };
    let written = entry.target.write(host, entry.old);
    at(watch, Step::Written)?;
    if let Err(error) = written {
        return Ok(failed(error));
    }
    let holds = match entry.target.read(host) {
        Ok(holds) => holds,
        Err(error) => return Ok(failed(error)),
    };
    at(watch, Step::ReadBack)?;
    if holds == entry.old {
        return Ok(Restoring::PutBack);
    }
    let reason = format!("wrote {:#x}, reads back {holds:#x}", entry.old);
    Ok(Restoring::Failed { reason })
}
