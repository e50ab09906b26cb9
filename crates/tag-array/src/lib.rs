//! Sets of tags: the look-up that every cache of the simulator is made of.
//!
//! Models: the tag store of a set-associative structure with fixed places.
//! Source: none needed; this is bookkeeping, the policies are the caller's.
//! Simplifies: a tag is the low 32 bits of the line address, so simulated memory ends at 256 GiB
//! ([`TagArray::MAX_LINES`]). The whole line number is kept, so no set function has to be inverted.
//!
//! The compare runs over a whole set without branches, in chunks of eight, which compilers turn
//! into vector instructions; a set of up to 16 ways is one host cache line. [`Table`] keeps large
//! arrays in huge pages.

mod table;

pub use table::Table;

use units::{LineAddr, SetIndex, WayMask};

/// The place of no line: the last tag is never used.
const EMPTY: u32 = u32::MAX;
/// Tags per vector step; sets are padded to a multiple of it.
const CHUNK: usize = 8;

/// Tags of `sets` x `ways` lines.
#[derive(Clone, Debug)]
pub struct TagArray {
    tags: Table<u32>,
    stride: usize,
    ways: u32,
}

impl TagArray {
    /// Line addresses must be below this: 256 GiB of simulated memory.
    pub const MAX_LINES: u64 = EMPTY as u64;

    /// An empty array.
    ///
    /// # Panics
    /// If `ways` is not within 1..=32.
    #[must_use]
    pub fn new(sets: u32, ways: u32) -> Self {
        assert!((1..=32).contains(&ways));
        let stride = (ways as usize).next_multiple_of(CHUNK);
        Self { tags: Table::new(EMPTY, sets as usize * stride), stride, ways }
    }

    /// Places per set.
    #[must_use]
    pub fn ways(&self) -> u32 {
        self.ways
    }

    /// Index of (set, way) in arrays that keep something beside each tag.
    #[inline]
    #[must_use]
    pub fn slot(&self, set: SetIndex, way: u32) -> usize {
        set.0 as usize * self.stride + way as usize
    }

    /// Number of slots, padding included: the length of arrays indexed by [`Self::slot`].
    #[must_use]
    pub fn slots(&self) -> usize {
        self.tags.len()
    }

    /// Starts to load `set` into the host's cache.
    #[inline]
    pub fn prefetch(&self, set: SetIndex) {
        self.tags.prefetch(self.slot(set, 0));
    }

    /// The way that holds `line`, if any.
    #[inline]
    #[must_use]
    pub fn find(&self, set: SetIndex, line: LineAddr) -> Option<u32> {
        let found = self.matches(set, line.0 as u32);
        (found != 0).then(|| found.trailing_zeros())
    }

    /// The ways of `within` that hold nothing.
    #[inline]
    #[must_use]
    pub fn empty_ways(&self, set: SetIndex, within: WayMask) -> WayMask {
        WayMask(self.matches(set, EMPTY) & within.0)
    }

    /// The line at a place.
    #[inline]
    #[must_use]
    pub fn line_at(&self, set: SetIndex, way: u32) -> Option<LineAddr> {
        let tag = self.tags[self.slot(set, way)];
        (tag != EMPTY).then_some(LineAddr(u64::from(tag)))
    }

    /// Puts `line` at a place, whatever was there.
    #[inline]
    pub fn put(&mut self, set: SetIndex, way: u32, line: LineAddr) {
        debug_assert!(line.0 < Self::MAX_LINES);
        let slot = self.slot(set, way);
        self.tags[slot] = line.0 as u32;
    }

    /// Empties a place.
    #[inline]
    pub fn clear(&mut self, set: SetIndex, way: u32) {
        let slot = self.slot(set, way);
        self.tags[slot] = EMPTY;
    }

    /// All lines held, in no particular order.
    pub fn lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.tags.iter().filter(|&&tag| tag != EMPTY).map(|&tag| LineAddr(u64::from(tag)))
    }

    #[inline]
    fn matches(&self, set: SetIndex, tag: u32) -> u32 {
        let first = set.0 as usize * self.stride;
        let tags = &self.tags[first..first + self.stride];
        let mut found = 0u32;
        for (chunk, eight) in tags.chunks_exact(CHUNK).enumerate() {
            let mut bits = 0u32;
            for (way, &held) in eight.iter().enumerate() {
                bits |= u32::from(held == tag) << way;
            }
            found |= bits << (chunk * CHUNK);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn an_array_remembers_exactly_what_a_map_does(
            ways in 1u32..=32,
            operations in prop::collection::vec((0u32..4, 0u32..32, prop::option::of(0u64..40)), 1..200),
        ) {
            let mut array = TagArray::new(4, ways);
            let mut reference: BTreeMap<(u32, u32), u64> = BTreeMap::new();
            for (set, way, line) in operations {
                let way = way % ways;
                match line {
                    Some(line) if array.find(SetIndex(set), LineAddr(line)).is_none() => {
                        array.put(SetIndex(set), way, LineAddr(line));
                        reference.insert((set, way), line);
                    }
                    Some(_) => {}
                    None => {
                        array.clear(SetIndex(set), way);
                        reference.remove(&(set, way));
                    }
                }
                for line in 0..40 {
                    let expected = reference
                        .iter()
                        .find(|&(&(s, _), &held)| s == set && held == line)
                        .map(|(&(_, w), _)| w);
                    prop_assert_eq!(array.find(SetIndex(set), LineAddr(line)), expected);
                }
                let empty = array.empty_ways(SetIndex(set), WayMask(u32::MAX >> (32 - ways)));
                let held = reference.keys().filter(|key| key.0 == set).count() as u32;
                prop_assert_eq!(empty.count(), ways - held);
            }
        }
    }
}
