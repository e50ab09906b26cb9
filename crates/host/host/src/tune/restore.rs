//! Restores the journalled values, newest first.

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

/// Outcome of restoring a record of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum RestoreOutcome {
    /// The old value was written, and the control reads it back.
    PutBack {
        /// Value that was written: the old value in the owned bits, the current one in all others.
        #[serde(serialize_with = "crate::hex::value")]
        value: u64,
    },
    /// The control has the old value already; nothing was written.
    WasBack {
        /// Value of the control, which has the old value in the owned bits.
        #[serde(serialize_with = "crate::hex::value")]
        holds: u64,
    },
    /// The machine was rebooted since, which resets the control; nothing was written.
    Rebooted,
    /// I/O allocation is off again, as it was before: masks for I/O mean nothing then.
    SwitchedOff,
    /// Another program changed the control since; it was not written.
    ChangedByOthers {
        /// Value of the control.
        #[serde(serialize_with = "crate::hex::value")]
        holds: u64,
    },
    /// The control could not be restored.
    Failed {
        /// The reason.
        reason: String,
    },
}

impl RestoreOutcome {
    /// Whether the record is settled, and is removed from the journal.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(
            self,
            Self::PutBack { .. } | Self::WasBack { .. } | Self::Rebooted | Self::SwitchedOff
        )
    }
}

/// A record of the journal, and the outcome of restoring it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestoredControl {
    /// Record of the change.
    #[serde(serialize_with = "serialize_record")]
    pub entry: ChangeRecord,
    /// Name of the control in messages.
    pub place: String,
    /// Outcome of the restore.
    #[serde(flatten)]
    pub result: RestoreOutcome,
}

/// A record whose values are hexadecimal text, as in all other JSON; the journal itself has numbers.
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
    #[serde(serialize_with = "crate::hex::optional_value")]
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

/// Options for records that cannot be restored as they are. By default they stay in the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreOptions {
    /// Restore also controls that another program changed since.
    pub all: bool,
    /// Remove records from the journal whose controls are not restored.
    pub forget: bool,
}

/// Restores every journalled value of this boot: registers first, newest first, then files of the kernel,
/// newest first. Any user can take the lock of the latter; it keeps no register from being restored. The
/// outcome of each record is added to `done` also after an error. A journal that cannot be rewritten stops
/// nothing: the next restore finds that the superfluous records are restored already.
///
/// # Errors
/// If the journal cannot be read, or cannot be written in the end, or another program has the lock of
/// files that are still to be restored. A control that cannot be restored is an outcome, not an error.
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
    let mut unrecorded: Option<StateError> = None;
    if journal != whole {
        unrecorded = state.write(&journal).err();
    }
    let context = Context::new(host, boot, options.all, &journal.entries);
    // Records that are in the journal, and those that were not restored.
    let mut remaining: Vec<Option<ChangeRecord>> =
        journal.entries.iter().cloned().map(Some).collect();
    let mut kept: Vec<ChangeRecord> = Vec::new();
    let mut lock = None;
    let order = restore_order(&journal.entries);
    for &index in &order {
        let entry = &journal.entries[index];
        if lock.is_none() && entry.target.is_kernel_file() && entry.boot_id == context.boot {
            lock = Some(state.lock_resctrl()?);
        }
        let mut mark = |marked: ChangeRecord| {
            remaining[index] = Some(marked);
            unrecorded = write_remaining(state, &remaining);
        };
        let (result, left) = match blocked_by_later(entry, &kept) {
            Some(waits) => (waits, None),
            None => restore_record(&context, entry, &mut mark, watch)?,
        };
        remaining[index] = None;
        if !result.is_settled() {
            let staying = with_read_back(entry, left);
            kept.push(staying.clone());
            remaining[index] = Some(staying).filter(|_| !options.forget);
        }
        // Outcomes without a write are found again the next time, so the journal, which may be long, is
        // not rewritten for them.
        let is_last = order.last() == Some(&index);
        let is_new = matches!(result, RestoreOutcome::PutBack { .. }) || left.is_some() || is_last;
        done.push(RestoredControl {
            place: entry.target.to_string(),
            entry: entry.clone(),
            result,
        });
        if is_new {
            unrecorded = write_remaining(state, &remaining);
        }
        report_step(watch, ChangeStep::Recorded)?;
    }
    unrecorded.map_or(Ok(()), |error| Err(error.into()))
}

/// Indices of records in the order in which they are restored.
fn restore_order(entries: &[ChangeRecord]) -> Vec<usize> {
    let (files, registers): (Vec<usize>, Vec<usize>) =
        (0..entries.len()).rev().partition(|&index| entries[index].target.is_kernel_file());
    [registers, files].concat()
}

fn write_remaining(
    state: &StateDirectory<'_>,
    remaining: &[Option<ChangeRecord>],
) -> Option<StateError> {
    let entries = remaining.iter().flatten().cloned().collect();
    state.write(&Journal { entries }).err()
}

/// Restores the changes of one command in this boot, newest first, as [`restore`] does. Records of other
/// commands stay.
///
/// # Errors
/// If the journal cannot be read or written. A control that cannot be restored is an outcome, and its
/// record stays in the journal.
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
            // A journal that cannot be rewritten stops nothing.
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

/// A record that stays, with the value that this program's last write has left: the next restore has to
/// know that no other program set it.
fn with_read_back(entry: &ChangeRecord, left: Option<u64>) -> ChangeRecord {
    ChangeRecord { read_back: left.or(entry.read_back), ..entry.clone() }
}

/// Restores a record. Returns the outcome, and the value of the control if it reads back another one
/// than was written. `mark` journals before the write that any value of the control may be this
/// program's from then on.
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
