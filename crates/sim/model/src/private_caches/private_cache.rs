//! One private cache level of a core: L1D or L2.
//!
//! Models: a write-back, write-allocate cache with MESI states and exact tags.
//! Source: platform file (sizes and ways).
//! Simplifies: L1D is included in L2 (DEVIATIONS.md, 4); no instruction cache.

use crate::replacement::{Replacement, Replacer};
use tag_array::TagArray;
use units::{LineAddr, SetIndex, WayMask};

/// State of a line in a private cache; an absent line is Invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MesiState {
    /// Other caches may hold it too: read-only.
    Shared,
    /// The only copy, equal to the next level: may be written without a request.
    Exclusive,
    /// The only copy, newer than the next level.
    Modified,
}

impl MesiState {
    fn note(self) -> u8 {
        self as u8
    }

    /// Notes of empty ways are arbitrary.
    #[inline]
    fn of_note(note: u8) -> Self {
        match note.min(Self::Modified as u8) {
            0 => Self::Shared,
            1 => Self::Exclusive,
            _ => Self::Modified,
        }
    }
}

/// Effect of filling a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillEffect {
    /// No effect: the line is present.
    Present,
    /// The line fills a way, whose former line may be evicted.
    Fills {
        /// The victim, where it is cheap to determine.
        victim: Option<LineAddr>,
    },
}

/// Size of a private cache.
#[derive(Clone, Copy, Debug)]
pub struct PrivateCacheConfig {
    /// Number of sets, a power of two.
    pub sets: u32,
    /// Number of lines of a set.
    pub ways: u32,
    /// Replacement policy of the cache.
    pub replacement: Replacement,
}

/// A private cache.
#[derive(Clone, Debug)]
pub struct PrivateCache {
    tags: TagArray,
    replacer: Replacer,
    set_mask: u32,
    all_ways: WayMask,
}

impl PrivateCache {
    /// An empty cache.
    ///
    /// # Panics
    /// If `sets` is not a power of two.
    #[must_use]
    pub fn new(config: PrivateCacheConfig, seed: u64) -> Self {
        assert!(config.sets.is_power_of_two());
        let tags = TagArray::new(config.sets, config.ways);
        Self {
            replacer: Replacer::new(config.replacement, &tags, config.sets, seed),
            tags,
            set_mask: config.sets - 1,
            all_ways: WayMask::bottom(config.ways),
        }
    }

    #[inline]
    fn set_of(&self, line: LineAddr) -> SetIndex {
        SetIndex(line.low_bits() & self.set_mask)
    }

    /// State of `line`, without counting as a use.
    #[inline]
    #[must_use]
    pub fn state(&self, line: LineAddr) -> Option<MesiState> {
        let set = self.set_of(line);
        self.tags.find(set, line).map(|way| MesiState::of_note(self.tags.note(set, way)))
    }

    /// The effect of filling `line` now.
    #[inline]
    #[must_use]
    pub fn fill_effect(&self, line: LineAddr) -> FillEffect {
        let set = self.set_of(line);
        if self.tags.find(set, line).is_some() {
            return FillEffect::Present;
        }
        let way = self.replacer.next_victim(set);
        FillEffect::Fills { victim: way.and_then(|way| self.tags.line_at(set, way)) }
    }

    /// An access by the core: the previous state, or `None` on a miss. A write to a line in a writable
    /// state makes it Modified.
    #[inline]
    pub fn access(&mut self, line: LineAddr, write: bool) -> Option<MesiState> {
        let set = self.set_of(line);
        let way = self.tags.find(set, line)?;
        self.replacer.hit(&self.tags, set, way);
        let state = MesiState::of_note(self.tags.note(set, way));
        if write && state == MesiState::Exclusive {
            self.tags.set_note(set, way, MesiState::Modified.note());
        }
        Some(state)
    }

    /// Fills `line` into the cache, or changes its state if it is present; returns the victim.
    #[inline]
    pub fn fill(&mut self, line: LineAddr, state: MesiState) -> Option<(LineAddr, MesiState)> {
        let set = self.set_of(line);
        if let Some(way) = self.tags.find(set, line) {
            self.tags.set_note(set, way, state.note());
            return None;
        }
        self.insert(line, state)
    }

    /// As [`Self::fill`], for a line that misses.
    #[inline]
    pub fn insert(&mut self, line: LineAddr, state: MesiState) -> Option<(LineAddr, MesiState)> {
        self.insert_at(line, state).1
    }

    /// As [`Self::insert`]; returns the place that the line fills, too ([`Self::places`]).
    #[inline]
    pub fn insert_at(
        &mut self,
        line: LineAddr,
        state: MesiState,
    ) -> (usize, Option<(LineAddr, MesiState)>) {
        let set = self.set_of(line);
        debug_assert!(self.tags.find(set, line).is_none());
        let renewed = self.replacer.renew_oldest(&self.tags, set);
        let way = renewed.unwrap_or_else(|| self.choose(set));
        let victim = self.tags.replace(set, way, line, state.note());
        if renewed.is_none() {
            self.replacer.fill(&self.tags, set, way);
        }
        let victim = victim.map(|(victim, note)| (victim, MesiState::of_note(note)));
        (self.tags.place(set, way), victim)
    }

    /// Number of places: ways of all sets.
    #[must_use]
    pub fn places(&self) -> usize {
        (self.set_mask as usize + 1) * self.tags.ways() as usize
    }

    /// The place that `line` would fill in a full set, if it is not there and that is cheap to determine.
    #[inline]
    #[must_use]
    pub fn next_place(&self, line: LineAddr) -> Option<usize> {
        let set = self.set_of(line);
        if self.tags.find(set, line).is_some() {
            return None;
        }
        self.replacer.next_victim(set).map(|way| self.tags.place(set, way))
    }

    /// Places that hold a line, with the line.
    pub fn places_in_use(&self) -> impl Iterator<Item = (usize, LineAddr)> + '_ {
        let sets = (0..=self.set_mask).map(SetIndex);
        let places = sets.flat_map(|set| (0..self.tags.ways()).map(move |way| (set, way)));
        places.filter_map(|(set, way)| {
            Some((self.tags.place(set, way), self.tags.line_at(set, way)?))
        })
    }

    /// The victim way. (Not inlined: rare where [`Replacer::renew_oldest`] is cheap.)
    #[inline(never)]
    fn choose(&mut self, set: SetIndex) -> u32 {
        self.replacer.choose(&self.tags, set, self.all_ways)
    }

    /// Changes the state of a line, if it is present; returns whether it is.
    #[inline]
    pub fn set_state(&mut self, line: LineAddr, state: MesiState) -> bool {
        let set = self.set_of(line);
        let way = self.tags.find(set, line);
        if let Some(way) = way {
            self.tags.set_note(set, way, state.note());
        }
        way.is_some()
    }

    /// Invalidates `line`; returns the state it had.
    #[inline]
    pub fn invalidate(&mut self, line: LineAddr) -> Option<MesiState> {
        let set = self.set_of(line);
        let way = self.tags.find(set, line)?;
        self.tags.clear(set, way);
        Some(MesiState::of_note(self.tags.note(set, way)))
    }

    /// All lines held with their states, in no particular order.
    pub fn lines(&self) -> impl Iterator<Item = (LineAddr, MesiState)> + '_ {
        self.tags.lines().map(|line| {
            let state = self.state(line);
            (line, state.unwrap_or(MesiState::Shared))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_lines() -> PrivateCache {
        let config = PrivateCacheConfig { sets: 1, ways: 2, replacement: Replacement::Lru };
        PrivateCache::new(config, 1)
    }

    #[test]
    fn the_least_recently_used_line_leaves_with_its_state() {
        let mut cache = two_lines();
        cache.fill(LineAddr(1), MesiState::Exclusive);
        cache.fill(LineAddr(2), MesiState::Exclusive);
        cache.access(LineAddr(1), true);
        assert_eq!(
            cache.fill(LineAddr(3), MesiState::Shared),
            Some((LineAddr(2), MesiState::Exclusive))
        );
        assert_eq!(
            cache.fill(LineAddr(4), MesiState::Shared),
            Some((LineAddr(1), MesiState::Modified))
        );
    }

    #[test]
    fn a_shared_line_is_not_written_without_asking() {
        let mut cache = two_lines();
        cache.fill(LineAddr(1), MesiState::Shared);
        assert_eq!(cache.access(LineAddr(1), true), Some(MesiState::Shared));
        assert_eq!(cache.state(LineAddr(1)), Some(MesiState::Shared));
    }

    #[test]
    fn an_invalidated_line_misses() {
        let mut cache = two_lines();
        cache.fill(LineAddr(1), MesiState::Modified);
        assert_eq!(cache.invalidate(LineAddr(1)), Some(MesiState::Modified));
        assert_eq!(cache.access(LineAddr(1), false), None);
    }
}
