//! Decides whether a journalled value is written, by the current value of its control.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::super::journal::{ChangeRecord, all_io_ways};
use super::RestoreOutcome;
use crate::controls::{ControlTarget, RestorableBits, restorable};
use crate::error::FileError;
use crate::machine::Host;

/// Facts on which decisions depend: the machine, this boot, options and the journal.
pub(super) struct Context<'a> {
    pub(super) host: &'a Host,
    /// The kernel's identifier of this boot.
    pub(super) boot: String,
    /// Whether controls that another program changed are restored too.
    pub(super) all: bool,
    /// The whole journal, oldest first.
    pub(super) entries: &'a [ChangeRecord],
    /// Restorable bits of each control, cached: a long journal names few controls many times.
    known: RefCell<BTreeMap<String, Result<RestorableBits, String>>>,
}

impl<'a> Context<'a> {
    pub(super) fn new(
        host: &'a Host,
        boot: String,
        all: bool,
        entries: &'a [ChangeRecord],
    ) -> Self {
        Self { host, boot, all, entries, known: RefCell::default() }
    }

    fn restorable(&self, target: &ControlTarget) -> Result<RestorableBits, String> {
        let mut known = self.known.borrow_mut();
        let found = known.entry(target.to_string());
        found.or_insert_with(|| restorable(self.host, target)).clone()
    }

    /// The value to write, from the current values of controls: the old value in the bits that the tool
    /// may write, the current one in all others.
    ///
    /// # Errors
    /// The outcome, if nothing is to be written.
    pub(super) fn value_to_write(
        &self,
        entry: &ChangeRecord,
        holds: &dyn Fn(&ControlTarget) -> Result<u64, FileError>,
    ) -> Result<u64, RestoreOutcome> {
        let rebooted = entry.boot_id != self.boot;
        // A boot resets the kernel's files; registers keep their values across kexec.
        if rebooted && entry.target.is_kernel_file() {
            return Err(RestoreOutcome::Rebooted);
        }
        let RestorableBits { owned, impossible } =
            self.restorable(&entry.target).map_err(|reason| RestoreOutcome::Failed { reason })?;
        let owned = owned & entry.owned;
        if entry.target.is_all_ones(entry.old) {
            let reason = format!("{:#x} is what a device reads as that does not answer", entry.old);
            return Err(RestoreOutcome::Failed { reason });
        }
        let holds = match holds(&entry.target) {
            Ok(holds) => holds,
            Err(_) if self.is_off_as_before(&entry.target, holds) => {
                return Err(RestoreOutcome::SwitchedOff);
            }
            Err(error) => return Err(RestoreOutcome::Failed { reason: error.to_string() }),
        };
        let same = |value: u64| (holds ^ value) & owned == 0;
        let is_as_before =
            same(self.value_before(entry)) || self.first_value_of_boot(entry).is_some_and(same);
        if same(entry.old) || is_as_before {
            return Err(RestoreOutcome::WasBack { holds });
        }
        // Unless the boot did not reset the control: it still has the tool's value, which is put back.
        if rebooted && !same(entry.read_back.unwrap_or(entry.asked)) {
            match entry.read_back {
                Some(_) => return Err(RestoreOutcome::Rebooted),
                // The tool died before it saw what hardware made of the write: this may be it.
                None if !self.all => {
                    let reason = format!(
                        "it holds {holds:#x}; whether a boot has set that, or a write of which the tool \
                         saw no end, cannot be told; --all puts it back"
                    );
                    return Err(RestoreOutcome::Failed { reason });
                }
                None => {}
            }
        }
        if entry.old & impossible != 0 {
            let (old, bits) = (entry.old, entry.old & impossible);
            let reason = format!(
                "the journalled value {old:#x} has bits {bits:#x}, never set before a change"
            );
            return Err(RestoreOutcome::Failed { reason });
        }
        if let Some(reason) = self.objection(entry, holds, owned) {
            return Err(RestoreOutcome::Failed { reason });
        }
        let is_foreign = !self.all && self.is_foreign(entry, holds, owned);
        if is_foreign {
            return Err(RestoreOutcome::ChangedByOthers { holds });
        }
        Ok((holds & !owned) | (entry.old & owned))
    }

    /// Value of the control before the unbroken chain of changes that ends with a record. For masks for
    /// I/O, whose chain each switch breaks: before the first change.
    fn value_before(&self, entry: &ChangeRecord) -> u64 {
        if entry.target.io_alloc_folder().is_some() {
            return self.first_value(&entry.target);
        }
        let of_control = |one: &&ChangeRecord| one.target.is_same(&entry.target);
        let index = self.entries.iter().position(|one| std::ptr::eq(one, entry));
        let earlier = &self.entries[..index.unwrap_or(0)];
        let mut first = entry;
        for before in earlier.iter().rev().filter(of_control) {
            if !first.follows(before) {
                break;
            }
            first = before;
        }
        first.old
    }

    /// Value of the control before the first change, if that is of the same boot: a restore whose journal
    /// could not be rewritten has restored it.
    fn first_value_of_boot(&self, entry: &ChangeRecord) -> Option<u64> {
        let first = self.entries.iter().find(|one| one.target.is_same(&entry.target))?;
        (first.boot_id == entry.boot_id).then_some(first.old)
    }

    /// Value of the control before the first change.
    fn first_value(&self, target: &ControlTarget) -> u64 {
        let first = self.entries.iter().find(|entry| entry.target.is_same(target));
        first.map_or(u64::MAX, |entry| entry.old)
    }

    /// Reason why a journalled value of the mask of ways is not written, by the rules of a plan.
    fn objection(&self, entry: &ChangeRecord, holds: u64, owned: u64) -> Option<String> {
        if entry.target.denies_io_every_way(entry.old, owned) {
            return Some(format!(
                "the journalled value {:#x} leaves I/O no way of the LLC",
                entry.old
            ));
        }
        if !entry.target.is_way_mask() {
            return None;
        }
        // Unknown bits that the journal contains were accepted with a change.
        let of_control = self.entries.iter().filter(|one| one.target.is_same(&entry.target));
        let accepted = of_control.fold(0, |bits, one| bits | one.old);
        let unknown = holds & !owned & !accepted;
        (unknown != 0 && !self.all).then(|| {
            format!(
                "it holds {holds:#x}: bits {unknown:#x} lie outside its ways and were not set before; --all \
                 puts the ways back and keeps these bits"
            )
        })
    }

    /// Whether another program has set the control's value.
    fn is_foreign(&self, entry: &ChangeRecord, holds: u64, owned: u64) -> bool {
        if entry.is_only_journalled() {
            // The kernel dropped the mask at the switch-off: all ways are its default, not a choice.
            return Some(holds) != all_io_ways(self.host, &entry.target);
        }
        // Without a value read back the tool died in between: any value is the tool's own.
        entry.read_back.is_some_and(|ours| (ours ^ holds) & owned != 0)
    }

    /// Whether a mask for I/O cannot be read because allocation is off now, and was off before the first
    /// change.
    fn is_off_as_before(
        &self,
        target: &ControlTarget,
        holds: &dyn Fn(&ControlTarget) -> Result<u64, FileError>,
    ) -> bool {
        let Some(folder) = target.io_alloc_folder() else { return false };
        let switch = ControlTarget::Switch { path: format!("{folder}/io_alloc") };
        holds(&switch) == Ok(0) && self.first_value(&switch) == 0
    }
}

/// The failure of a record that is older than one of the same control which was not restored: its value
/// would overwrite the newer one. `None` if there is no such record.
pub(super) fn blocked_by_later(
    entry: &ChangeRecord,
    kept: &[ChangeRecord],
) -> Option<RestoreOutcome> {
    let reason = "a later change of the same control is still there";
    let waits = kept.iter().any(|later| later.target.is_same(&entry.target));
    waits.then(|| RestoreOutcome::Failed { reason: reason.into() })
}
