//! The snoop filter: which cores hold lines that the LLC does not.
//!
//! Models: the directory-only ways besides the data ways of each set (12 directory ways on Skylake-SP,
//! two of which are the inclusive ways and are modelled in [`super::slice`]).
//! Source: community.intel.com td-p/1185376 (21 combined tag ways).
//! Simplifies: an entry never moves between directory-only and inclusive ways on its own.

use crate::replacement::{Replacement, Replacer};
use std::collections::BTreeMap;
use tag_array::{Table, TagArray};
use units::narrow::fit;
use units::{LineAddr, SetIndex, SocketCore, WayMask};

/// A set of cores, bit i for core i.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharers(u64);

impl Sharers {
    /// The set without any core.
    pub const NONE: Self = Self(0);

    /// The note of a line that no core holds.
    pub(super) const NO_CORE: u8 = u8::MAX;
    /// The note of a line that several cores hold.
    pub(super) const SEVERAL: u8 = u8::MAX - 1;

    /// A set of this core alone.
    #[inline]
    #[must_use]
    pub fn of(core: SocketCore) -> Self {
        Self(1 << core.0)
    }

    /// The set with `core` added.
    #[inline]
    #[must_use]
    pub fn with(self, core: SocketCore) -> Self {
        Self(self.0 | 1 << core.0)
    }

    /// The set with `core` removed.
    #[inline]
    #[must_use]
    pub fn without(self, core: SocketCore) -> Self {
        Self(self.0 & !(1 << core.0))
    }

    /// Whether the set contains no core.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The only core in it, [`Self::NO_CORE`] or [`Self::SEVERAL`]: a byte that usually suffices to name
    /// the holders of a line.
    #[inline]
    pub(super) fn note(self) -> u8 {
        let one_or_none =
            if self.is_empty() { Self::NO_CORE } else { fit(self.0.trailing_zeros()) };
        if self.0 & self.0.wrapping_sub(1) == 0 { one_or_none } else { Self::SEVERAL }
    }

    /// The holders that a note stands for; `several` applies if there is more than one.
    #[inline]
    pub(super) fn of_note(note: u8, several: impl FnOnce() -> Self) -> Self {
        match note {
            Self::NO_CORE => Self::NONE,
            Self::SEVERAL => several(),
            core => Self::of(SocketCore(core)),
        }
    }

    /// Whether the set contains `core`.
    #[inline]
    #[must_use]
    pub fn contains(self, core: SocketCore) -> bool {
        self.0 >> core.0 & 1 == 1
    }

    /// The cores in it, lowest first.
    pub fn cores(self) -> impl Iterator<Item = SocketCore> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let core = (left != 0).then(|| SocketCore(fit(left.trailing_zeros())))?;
            left &= left - 1;
            Some(core)
        })
    }
}

/// The directory-only entries of every set.
#[derive(Clone, Debug)]
pub struct Directory {
    tags: TagArray,
    /// Holders of lines that several cores hold; a line with one holder has it in its note.
    shared: BTreeMap<LineAddr, Sharers>,
    /// Per set, one bit for each entry, chosen by its tag: most look-ups by devices end here without
    /// reading the entries.
    signatures: Table<u32>,
    replacer: Replacer,
    all_ways: WayMask,
}

impl Directory {
    /// An empty directory of `sets` x `ways` entries.
    #[must_use]
    pub fn new(sets: u32, ways: u32, replacement: Replacement, seed: u64) -> Self {
        let tags = TagArray::new(sets, ways);
        Self {
            shared: BTreeMap::new(),
            signatures: Table::new(0, sets as usize),
            replacer: Replacer::new(replacement, &tags, sets, seed),
            tags,
            all_ways: WayMask::bottom(ways),
        }
    }

    /// All ways of a set.
    #[must_use]
    pub fn ways(&self) -> WayMask {
        self.all_ways
    }

    /// Whether a new line fills the lowest empty way, and its fill is noted without a look at the others.
    #[must_use]
    pub fn fills_lowest_way(&self) -> bool {
        self.replacer.fills_lowest_way()
    }

    /// Notes for replacement that a line, which [`Self::enter`] adds later, fills a way.
    #[inline]
    pub fn note_fill(&mut self, set: SetIndex, way: u32) {
        self.replacer.fill(&self.tags, set, way);
    }

    /// Adds a line in an empty way, whose fill is noted already.
    pub fn enter(&mut self, set: SetIndex, way: u32, line: LineAddr, sharers: Sharers) {
        let note = self.note_for(line, sharers);
        self.tags.put(set, way, line, note);
        self.signatures[set.0 as usize] |= signature(line);
    }

    /// Prefetches the data for a look-up by a device in `set` into the host's cache.
    #[inline]
    pub fn prefetch_signature(&self, set: SetIndex) {
        self.signatures.prefetch(set.0 as usize);
    }

    /// Prefetches the data for a look-up by a core in `set` into the host's cache.
    #[inline]
    pub fn prefetch(&self, set: SetIndex) {
        self.signatures.prefetch(set.0 as usize);
        self.tags.prefetch(set);
        self.replacer.prefetch(set);
    }

    /// Cores that hold `line`; none if it has no entry.
    #[inline(always)]
    #[must_use]
    pub fn sharers(&self, set: SetIndex, line: LineAddr) -> Sharers {
        if self.signatures[set.0 as usize] & signature(line) == 0 {
            return Sharers::NONE;
        }
        self.find_sharers(set, line)
    }

    /// (Not inlined: the signature usually shows that there are none.)
    #[inline(never)]
    fn find_sharers(&self, set: SetIndex, line: LineAddr) -> Sharers {
        match self.tags.find(set, line) {
            Some(way) => self.holders(set, way, line),
            None => Sharers::NONE,
        }
    }

    /// Records the holders of `line`: an empty set frees the entry; a new line may evict another, which
    /// is returned and must be invalidated in the cores that hold it.
    pub fn record(
        &mut self,
        set: SetIndex,
        line: LineAddr,
        sharers: Sharers,
    ) -> Option<(LineAddr, Sharers)> {
        let known = self.signatures[set.0 as usize] & signature(line) != 0;
        if known && let Some(way) = self.tags.find(set, line) {
            if sharers.is_empty() {
                self.forget(set, way, line);
                self.sign(set);
            } else {
                if self.tags.note(set, way) == Sharers::SEVERAL {
                    self.shared.remove(&line);
                }
                let note = self.note_for(line, sharers);
                self.tags.set_note(set, way, note);
                self.replacer.hit(&self.tags, set, way);
            }
            return None;
        }
        if sharers.is_empty() {
            return None;
        }
        let way = self.replacer.choose(&self.tags, set, self.all_ways);
        let victim = self.tags.line_at(set, way).map(|victim| {
            let holders = self.holders(set, way, victim);
            self.forget(set, way, victim);
            (victim, holders)
        });
        let note = self.note_for(line, sharers);
        self.tags.put(set, way, line, note);
        if victim.is_some() {
            self.sign(set);
        } else {
            self.signatures[set.0 as usize] |= signature(line);
        }
        self.replacer.fill(&self.tags, set, way);
        victim
    }

    fn holders(&self, set: SetIndex, way: u32, line: LineAddr) -> Sharers {
        let several = || self.shared.get(&line).copied().unwrap_or_default();
        Sharers::of_note(self.tags.note(set, way), several)
    }

    /// The note of the holders of `line`; updates the entry of shared lines if there are several.
    fn note_for(&mut self, line: LineAddr, sharers: Sharers) -> u8 {
        let note = sharers.note();
        if note == Sharers::SEVERAL {
            self.shared.insert(line, sharers);
        }
        note
    }

    /// Empties an entry.
    fn forget(&mut self, set: SetIndex, way: u32, line: LineAddr) {
        if self.tags.note(set, way) == Sharers::SEVERAL {
            self.shared.remove(&line);
        }
        self.tags.clear(set, way);
    }

    /// Recomputes the signature of a set after an entry is freed. It was often the only one.
    fn sign(&mut self, set: SetIndex) {
        if self.tags.is_empty(set) {
            self.signatures[set.0 as usize] = 0;
            return;
        }
        let lines = self.tags.lines_in(set);
        self.signatures[set.0 as usize] = lines.fold(0, |bits, line| bits | signature(line));
    }

    /// All lines with an entry, in no particular order.
    pub fn lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.tags.lines()
    }
}

/// The signature bit of a line, from bits above the set index, where lines of one set differ.
#[inline]
fn signature(line: LineAddr) -> u32 {
    1 << ((line.0 >> 11 ^ line.0 >> 16) & 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_set_pushes_out_an_entry_with_its_cores() {
        let mut directory = Directory::new(1, 2, Replacement::Lru, 1);
        let set = SetIndex(0);
        assert_eq!(directory.record(set, LineAddr(1), Sharers::of(SocketCore(0))), None);
        assert_eq!(directory.record(set, LineAddr(2), Sharers::of(SocketCore(1))), None);
        let victim = directory.record(set, LineAddr(3), Sharers::of(SocketCore(2)));
        assert_eq!(victim, Some((LineAddr(1), Sharers::of(SocketCore(0)))));
        assert_eq!(directory.sharers(set, LineAddr(1)), Sharers::NONE);
    }

    #[test]
    fn an_entry_without_cores_is_free_again() {
        let mut directory = Directory::new(1, 1, Replacement::Lru, 1);
        let set = SetIndex(0);
        directory.record(set, LineAddr(1), Sharers::of(SocketCore(5)));
        directory.record(set, LineAddr(1), Sharers::NONE);
        assert_eq!(directory.sharers(set, LineAddr(1)), Sharers::NONE);
        assert_eq!(directory.record(set, LineAddr(2), Sharers::of(SocketCore(5))), None);
    }

    #[test]
    fn a_note_says_who_holds_a_line_unless_several_do() {
        for core in 0..64 {
            let one = Sharers::of(SocketCore(core));
            assert_eq!(one.note(), core);
            assert_eq!(Sharers::of_note(core, || unreachable!()), one);
            let two = one.with(SocketCore((core + 1) % 64));
            assert_eq!(two.note(), Sharers::SEVERAL);
            assert_eq!(Sharers::of_note(two.note(), || two), two);
        }
        assert_eq!(Sharers::NONE.note(), Sharers::NO_CORE);
        assert_eq!(Sharers::of_note(Sharers::NO_CORE, || unreachable!()), Sharers::NONE);
    }

    #[test]
    fn cores_come_out_lowest_first() {
        let sharers = Sharers::of(SocketCore(40))
            .with(SocketCore(3))
            .with(SocketCore(7))
            .without(SocketCore(7));
        assert_eq!(sharers.cores().collect::<Vec<_>>(), [SocketCore(3), SocketCore(40)]);
        assert!(sharers.contains(SocketCore(40)) && !sharers.contains(SocketCore(7)));
    }
}
