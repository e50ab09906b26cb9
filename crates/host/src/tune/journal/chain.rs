//! Changes of one control form a chain: each began with the value that the one before left. Where it
//! is broken another program wrote in between, and restoring stops there; so both parts stay.

use super::{ChangeRecord, NumberedRecord};

/// Where the last unbroken chain begins.
pub(super) fn last_chain_start(kept: &[NumberedRecord]) -> usize {
    let broken = kept.windows(2).rposition(|pair| !pair[1].1.follows(&pair[0].1));
    broken.map_or(0, |index| index + 1)
}

/// Whether a change, which does not go on with a chain, began with the value from before it: the chain is
/// settled.
pub(super) fn returns_to_start(first: &ChangeRecord, entry: &ChangeRecord) -> bool {
    (first.old ^ entry.old) & first.owned == 0
}

/// Whether one entry says as much as both. A change of which the tool saw no end stays apart: by what it
/// began with one sees, also after a boot that resets nothing, that it was not made.
pub(super) fn can_join(before: &ChangeRecord, entry: &ChangeRecord) -> bool {
    entry.read_back.is_some() && entry.follows(before)
}

/// Whether a boot between two changes has reset the control. After one of which the tool saw no end a
/// register may as well hold what hardware made of the write.
pub(super) fn is_reset(before: &ChangeRecord, entry: &ChangeRecord) -> bool {
    let is_sure = before.read_back.is_some() || before.target.is_kernel_file();
    before.boot_id != entry.boot_id && is_sure && !entry.follows(before)
}

impl ChangeRecord {
    /// Whether this change began with the value that the one before, of the same register or file, left.
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
