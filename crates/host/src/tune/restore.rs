//! Putting back what the journal says, newest first.

use serde::Serialize;

use super::apply::{ApplyError, at};
use super::journal::{Entry, Journal, StateDirectory, boot_id};
use super::target::Target;
use super::{Step, Watch, has_switch};
use crate::cpu::{CpuModel, Generations};
use crate::error::{FileError, Problem};
use crate::machine::Host;
use crate::pci::Tree;

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
    let boot = boot_id(host)?;
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
    let rebooted = entry.boot_id != boot;
    let failed = |error: FileError| Restoring::Failed { reason: error.to_string() };
    if let Err(reason) = is_control_here(host, &entry.target) {
        return Ok(Restoring::Failed { reason });
    }
    let holds = match entry.target.read(host) {
        Ok(holds) => holds,
        Err(error) if rebooted && error.problem == Problem::Missing => {
            return Ok(Restoring::Rebooted);
        }
        Err(error) => return Ok(failed(error)),
    };
    if holds == entry.old {
        return Ok(Restoring::WasBack);
    }
    // A boot that did not reset it (kexec) left our value there: that is put back all the same.
    if rebooted && holds != entry.read_back.unwrap_or(entry.asked) {
        return Ok(Restoring::Rebooted);
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

/// Whether a journalled register is one of this machine that a plan would name: functions get other
/// numbers when cards come and go, and a journal may be another machine's.
fn is_control_here(host: &Host, target: &Target) -> Result<(), String> {
    if matches!(target, Target::Mask { .. } | Target::Switch { .. }) {
        return Ok(());
    }
    let model = CpuModel::read(&host.root).map_err(|error| error.to_string())?;
    let generations = Generations::built_in();
    let generation = generations.of(&model);
    let listed = match target {
        Target::Port { function, .. } => {
            let tree = Tree::read(&host.root).map_err(|error| error.to_string())?;
            let switch = generation.and_then(|generation| generation.port_switch.as_ref());
            tree.get(*function).zip(switch).is_some_and(|(port, switch)| has_switch(port, switch))
        }
        _ => generation.is_some_and(|generation| generation.ways_register.is_some()),
    };
    if listed { Ok(()) } else { Err(format!("{target} is no control of this machine")) }
}
