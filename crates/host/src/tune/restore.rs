//! Putting back what the journal says, newest first.

mod decision;
mod preview;

use serde::{Serialize, Serializer};

use super::apply::{TuneApplyError, report_step};
use super::journal::{ChangeRecord, Journal, StateDirectory, StateError, all_io_ways, boot_id};
use super::{ChangeStep, Watch, ignore_steps};
use crate::controls::ControlTarget;
use crate::error::FileError;
use crate::machine::Host;

use decision::{Context, blocked_by_later};
pub use preview::preview;

/// What became of one entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum RestoreOutcome {
    /// The old value was written and reads back.
    PutBack {
        /// What was written: the old bits of the tool, and all others as they are.
        #[serde(serialize_with = "crate::hex::value")]
        value: u64,
    },
    /// It has the old value already.
    WasBack {
        /// What it holds: the old value in the tool's bits.
        #[serde(serialize_with = "crate::hex::value")]
        holds: u64,
    },
    /// The machine was rebooted since, which resets the control; nothing was written.
    Rebooted,
    /// I/O allocation is off again, as it was before: masks for I/O mean nothing then.
    SwitchedOff,
    /// Another program changed it since; it was not written.
    ChangedByOthers {
        /// What it holds.
        #[serde(serialize_with = "crate::hex::value")]
        holds: u64,
    },
    /// It could not be put back.
    Failed {
        /// Why.
        reason: String,
    },
}

impl RestoreOutcome {
    /// Whether the entry is settled, and leaves the journal.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(
            self,
            Self::PutBack { .. } | Self::WasBack { .. } | Self::Rebooted | Self::SwitchedOff
        )
    }
}

/// One entry that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestoredControl {
    /// The entry.
    #[serde(serialize_with = "serialize_record")]
    pub entry: ChangeRecord,
    /// The control's name in messages.
    pub place: String,
    /// What became of it.
    #[serde(flatten)]
    pub result: RestoreOutcome,
}

/// An entry with its values as JSON has them elsewhere; the journal itself has numbers.
#[derive(Serialize)]
struct RecordJson<'a> {
    time_unix_s: u64,
    boot_id: &'a str,
    command: &'a str,
    target: &'a ControlTarget,
    #[serde(serialize_with = "crate::hex::value")]
    old: u64,
    #[serde(serialize_with = "crate::hex::value")]
    asked: u64,
    #[serde(serialize_with = "crate::hex::value")]
    owned: u64,
    #[serde(serialize_with = "crate::hex::known")]
    read_back: Option<u64>,
}

fn serialize_record<S: Serializer>(entry: &ChangeRecord, serializer: S) -> Result<S::Ok, S::Error> {
    let ChangeRecord { time_unix_s, boot_id, command, target, old, asked, owned, read_back } =
        entry;
    let (time_unix_s, old, asked) = (*time_unix_s, *old, *asked);
    let (owned, read_back) = (*owned, *read_back);
    RecordJson { time_unix_s, boot_id, command, target, old, asked, owned, read_back }
        .serialize(serializer)
}

/// What to do with entries that cannot be put back as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreOptions {
    /// Put back also what another program changed since.
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
    options: RestoreOptions,
    done: &mut Vec<RestoredControl>,
    watch: Watch<'_>,
) -> Result<(), TuneApplyError> {
    let boot = boot_id(host)?;
    let whole = state.read()?;
    let journal = whole.compact_for_boot(&boot, &|target| all_io_ways(host, target));
    let is_of_kernel =
        |entry: &ChangeRecord| entry.target.is_kernel_file() && entry.boot_id == boot;
    let _lock = if journal.entries.iter().any(is_of_kernel) { state.lock_resctrl()? } else { None };
    let mut unrecorded: Option<StateError> = None;
    if journal != whole {
        unrecorded = state.write(&journal).err();
    }
    let context = Context::new(host, boot, options.all, &journal.entries);
    let mut kept: Vec<ChangeRecord> = Vec::new();
    for (index, entry) in journal.entries.iter().enumerate().rev() {
        let mut mark = |marked: ChangeRecord| {
            let staying = kept.iter().rev().cloned();
            let entries = journal.entries[..index].iter().cloned().chain([marked]).chain(staying);
            unrecorded = state.write(&Journal { entries: entries.collect() }).err();
        };
        let (result, left) = match blocked_by_later(entry, &kept) {
            Some(waits) => (waits, None),
            None => restore_record(&context, entry, &mut mark, watch)?,
        };
        if !result.is_settled() {
            kept.push(with_read_back(entry, left));
        }
        // What was found without writing is found again; the journal may be long.
        let is_new =
            matches!(result, RestoreOutcome::PutBack { .. }) || left.is_some() || index == 0;
        done.push(RestoredControl {
            place: entry.target.to_string(),
            entry: entry.clone(),
            result,
        });
        if is_new {
            let staying = kept.iter().rev().filter(|_| !options.forget);
            let remaining = journal.entries[..index].iter().chain(staying).cloned().collect();
            unrecorded = state.write(&Journal { entries: remaining }).err();
        }
        report_step(watch, ChangeStep::Recorded)?;
    }
    unrecorded.map_or(Ok(()), |error| Err(error.into()))
}

/// Puts back what one command of this boot has changed, newest first, as [`restore`] does; entries of
/// other commands stay.
///
/// # Errors
/// If the journal cannot be read or written. What cannot be put back is a result, and stays in it.
pub(crate) fn restore_command(
    host: &Host,
    state: &StateDirectory<'_>,
    command: &str,
) -> Result<Vec<RestoredControl>, TuneApplyError> {
    let entries = state.read()?.entries;
    let context = Context::new(host, boot_id(host)?, false, &entries);
    let (mut done, mut kept) = (Vec::new(), Vec::new());
    for (index, entry) in entries.iter().enumerate().rev() {
        if entry.command != command {
            kept.push(entry.clone());
            continue;
        }
        let mut mark = |marked: ChangeRecord| {
            let staying = kept.iter().rev().cloned();
            let entries = entries[..index].iter().cloned().chain([marked]).chain(staying);
            // One that cannot be rewritten stops nothing.
            drop(state.write(&Journal { entries: entries.collect() }));
        };
        let (result, left) = restore_record(&context, entry, &mut mark, &mut ignore_steps)?;
        if !result.is_settled() {
            kept.push(with_read_back(entry, left));
        }
        done.push(RestoredControl {
            place: entry.target.to_string(),
            entry: entry.clone(),
            result,
        });
    }
    kept.reverse();
    state.write(&Journal { entries: kept })?;
    Ok(done)
}

/// An entry that stays, with what this program's last write has left: the control's next reader has to
/// know that no other program set it.
fn with_read_back(entry: &ChangeRecord, left: Option<u64>) -> ChangeRecord {
    ChangeRecord { read_back: left.or(entry.read_back), ..entry.clone() }
}

/// What became of an entry, and what its control holds if a write was not taken as asked. `mark` records
/// before the write that what the control holds may be this program's from then on, whatever it is.
fn restore_record(
    context: &Context<'_>,
    entry: &ChangeRecord,
    mark: &mut dyn FnMut(ChangeRecord),
    watch: Watch<'_>,
) -> Result<(RestoreOutcome, Option<u64>), TuneApplyError> {
    let host = context.host;
    let value = match context.value_to_write(entry, &|target| target.read(host)) {
        Ok(value) => value,
        Err(result) => return Ok((result, None)),
    };
    let failed = |error: FileError| (RestoreOutcome::Failed { reason: error.to_string() }, None);
    if entry.read_back.is_some() {
        mark(ChangeRecord { read_back: None, ..entry.clone() });
    }
    let written = entry.target.write(host, value);
    report_step(watch, ChangeStep::Written)?;
    if let Err(error) = written {
        return Ok(failed(error));
    }
    let holds = match entry.target.read(host) {
        Ok(holds) => holds,
        Err(error) => return Ok(failed(error)),
    };
    report_step(watch, ChangeStep::ReadBack)?;
    if holds == value {
        return Ok((RestoreOutcome::PutBack { value }, None));
    }
    let reason = format!("wrote {value:#x}, reads back {holds:#x}");
    Ok((RestoreOutcome::Failed { reason }, Some(holds)))
}
