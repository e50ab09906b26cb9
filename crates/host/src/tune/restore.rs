//! Putting back what the journal says, newest first.

use serde::Serialize;

use super::apply::{ApplyError, at};
use super::journal::{Entry, Journal, StateDirectory, boot_id};
use super::{Step, Watch};
use crate::machine::Host;

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
    /// Somebody else changed it since; it was left alone.
    ChangedByOthers {
        /// What it holds.
        holds: u64,
    },
    /// It could not be put back, and stays in the journal.
    Failed {
        /// Why.
        reason: String,
    },
}

impl Restoring {
    /// Whether the entry is settled, and leaves the journal.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::PutBack | Self::WasBack | Self::Rebooted)
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

/// Puts back every journalled value of this boot, newest first. With `all` also what somebody else
/// changed since.
///
/// # Errors
/// If the journal cannot be read or written. What cannot be put back is a result, not an error.
pub fn restore(
    host: &Host,
    state: &StateDirectory<'_>,
    all: bool,
    watch: Watch<'_>,
) -> Result<Vec<Restored>, ApplyError> {
    let entries = state.read()?.entries;
    let boot = boot_id(host);
    let mut kept: Vec<Entry> = Vec::new();
    let mut results = Vec::new();
    let mut rest = entries;
    while let Some(entry) = rest.pop() {
        // An older value under one that had to stay would be written over it: it waits too.
        let below_kept = kept.iter().any(|later| later.target == entry.target);
        let result = if below_kept {
            Restoring::Failed { reason: "a later change of the same control is still there".into() }
        } else {
            put_back(host, &entry, &boot, all, watch)?
        };
        if !result.is_settled() {
            kept.push(entry.clone());
        }
        let remaining = rest.iter().chain(kept.iter().rev()).cloned().collect();
        state.write(&Journal { entries: remaining })?;
        at(watch, Step::Recorded)?;
        results.push(Restored { place: entry.target.to_string(), entry, result });
    }
    Ok(results)
}

fn put_back(
    host: &Host,
    entry: &Entry,
    boot: &str,
    all: bool,
    watch: Watch<'_>,
) -> Result<Restoring, ApplyError> {
    if entry.boot_id != boot {
        return Ok(Restoring::Rebooted);
    }
    let failed = |error: crate::error::FileError| Restoring::Failed { reason: error.to_string() };
    let holds = match entry.target.read(host) {
        Ok(holds) => holds,
        Err(error) => return Ok(failed(error)),
    };
    if holds == entry.old {
        return Ok(Restoring::WasBack);
    }
    // Without a value read back the tool died in the middle: whatever is there is its own.
    if !all && entry.read_back.is_some_and(|ours| ours != holds) {
        return Ok(Restoring::ChangedByOthers { holds });
    }
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
