//! Chains of changes: changes of one control form a chain if each began with the value that the one
//! before left. A chain is broken where another program wrote in between; a restore stops there, so both
//! parts are kept.

use super::{ChangeRecord, NumberedRecord};

/// Index of the first record of the last unbroken chain.
pub(super) fn last_chain_start(kept: &[NumberedRecord]) -> usize {
    let broken = kept.windows(2).rposition(|pair| !pair[1].1.follows(&pair[0].1));
    broken.map_or(0, |index| index + 1)
}

/// Whether a change that does not continue a chain began with the value from before the chain: the chain
/// is settled.
pub(super) fn returns_to_start(first: &ChangeRecord, entry: &ChangeRecord) -> bool {
    (first.old ^ entry.old) & first.owned == 0
}

/// Whether one record can replace two. A change whose end the tool did not see stays separate: its old
/// value shows, also after a boot that resets nothing, that it was not made.
pub(super) fn can_join(before: &ChangeRecord, entry: &ChangeRecord) -> bool {
    entry.read_back.is_some() && entry.follows(before)
}

/// Whether a boot between two changes has reset the control. After a change whose end the tool did not
/// see, a register may as well have the value that hardware made of the write.
pub(super) fn is_reset(before: &ChangeRecord, entry: &ChangeRecord) -> bool {
    let is_sure = before.read_back.is_some() || before.target.is_kernel_file();
    before.boot_id != entry.boot_id && is_sure && !entry.follows(before)
}

impl ChangeRecord {
    /// Whether this change began with the value that an earlier one of the same control left.
    /// Only the bits that the tool may write are compared: hardware and other programs set the rest.
    pub(in crate::tune) fn follows(&self, before: &Self) -> bool {
        let is_one_boot = before.boot_id == self.boot_id;
        if !is_one_boot && self.target.is_kernel_file() {
            return false;
        }
        let began_with = |value: u64| (value ^ self.old) & before.owned == 0;
        match before.read_back {
            Some(left) => began_with(left),
            // The tool died in between: within its boot any value is its own.
            None => is_one_boot || began_with(before.asked) || began_with(before.old),
        }
    }
}
