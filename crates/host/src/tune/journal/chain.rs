//! Changes of one control form a chain: each began with the value that the one before left. Where it
//! is broken another program wrote in between, and restoring stops there; so both parts stay.

use super::{Entry, Numbered};

/// Where the last unbroken chain begins.
pub(super) fn chain_begin(kept: &[Numbered]) -> usize {
    let broken = kept.windows(2).rposition(|pair| !pair[1].1.follows(&pair[0].1));
    broken.map_or(0, |index| index + 1)
}

/// Whether a change, which does not go on with a chain, began with the value from before it: the chain is
/// settled.
pub(super) fn has_value_before(first: &Entry, entry: &Entry) -> bool {
    (first.old ^ entry.old) & first.owned == 0
}

/// Whether one entry says as much as both. A change of which the tool saw no end stays apart: by what it
/// began with one sees, also after a boot that resets nothing, that it was not made.
pub(super) fn joins(before: &Entry, entry: &Entry) -> bool {
    entry.read_back.is_some() && entry.follows(before)
}

/// Whether a boot between two changes has reset the control. After one of which the tool saw no end a
/// register may as well hold what hardware made of the write.
pub(super) fn is_reset(before: &Entry, entry: &Entry) -> bool {
    let is_sure = before.read_back.is_some() || before.target.is_of_kernel();
    before.boot_id != entry.boot_id && is_sure && !entry.follows(before)
}

impl Entry {
    /// Whether this change began with the value that the one before, of the same register or file, left.
    /// Only the bits that the tool may write are compared: hardware and other programs set the rest.
    pub(in crate::tune) fn follows(&self, before: &Self) -> bool {
        let is_one_boot = before.boot_id == self.boot_id;
        if !is_one_boot && self.target.is_of_kernel() {
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
