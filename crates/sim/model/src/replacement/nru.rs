//! NRU: one bit per way for its use in this round.
//!
//! Models: a round ends when all ways of a set were used; the use that ends it opens the next. The
//! victim is the lowest way not used in this round.
//! Source: the textbook policy.
//! Simplifies: if all ways of a mask were used, the lowest of them is the victim, and the round
//! continues.

use super::lowest;
use tag_array::Table;
use units::{SetIndex, WayMask};

/// The rounds of all sets.
#[derive(Clone, Debug)]
pub(super) struct Nru {
    used: Table<u32>,
    all_ways: WayMask,
}

impl Nru {
    pub(super) fn new(sets: u32, all_ways: WayMask) -> Self {
        Self { used: Table::new(0, sets as usize), all_ways }
    }

    /// Prefetches the bits of `set` into the host's cache.
    #[inline]
    pub(super) fn prefetch(&self, set: SetIndex) {
        self.used.prefetch(set.0 as usize);
    }

    #[inline]
    pub(super) fn note_use(&mut self, set: SetIndex, way: u32) {
        let used = &mut self.used[set.0 as usize];
        *used |= 1 << way;
        if *used == self.all_ways.0 {
            *used = 1 << way;
        }
    }

    #[inline]
    pub(super) fn victim(&self, set: SetIndex, within: WayMask) -> u32 {
        let unused = within.0 & !self.used[set.0 as usize];
        lowest(if unused == 0 { within } else { WayMask(unused) })
    }
}
