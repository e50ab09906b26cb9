//! Data ways of all slices of a last-level cache.
//!
//! Models: lines are allocated within a way mask and found in every way. The inclusion policy relates
//! them to copies in cores: tracked ways hold lines that cores may hold too, and carry a core bitmask.
//! Source: Intel (slices, ways, inclusion by generation); "inclusive ways and migration" as published
//! for A4 (ISCA'25), or as Double-Trouble measured them: at a device's next write.
//! Simplifies: slices share one replacement state type; nothing else.

use super::config::LlcConfig;
use super::directory::Sharers;
use super::line_info::{Evicted, LineInfo};
use crate::attribution::Owner;
use crate::replacement::Replacer;
use address_map::AddressMap;
use tag_array::{RUN_LINES, Table, TagArray};
use units::{LINE_BYTES, LineAddr, SetIndex, SliceId, WayMask};

/// The data ways of every slice.
#[derive(Clone, Debug)]
pub struct Llc {
    map: AddressMap,
    /// Each tracked way has a second note, for the holders of its line: it lies with the tags of the
    /// set, because each allocation reads the victim's.
    tags: TagArray,
    /// Holders of lines in tracked ways that several cores hold: set x tracked ways + way.
    several: Table<Sharers>,
    tracked_ways: u32,
    replacer: Replacer,
    device_reads_refresh: bool,
    lines_of_owner: [u64; Owner::MOST as usize],
    owners: usize,
    /// Ways that I/O has emptied, per set; no sets until one is marked.
    freed_by_io: Vec<WayMask>,
    /// A refill does not clear the freed-by-I/O mark, as in the published gem5 code.
    marks_stay: bool,
}

impl Llc {
    /// An empty LLC used by `owners` owners.
    ///
    /// # Panics
    /// If there are more than a note can distinguish.
    #[must_use]
    pub fn new(config: &LlcConfig, owners: usize, seed: u64) -> Self {
        assert!(owners <= usize::from(Owner::MOST));
        let sets = config.map.total_sets();
        let tracked_ways = config.inclusion.tracked_ways(config.ways);
        let tags = TagArray::with_more_notes(sets, config.ways, tracked_ways);
        Self {
            map: config.map.clone(),
            several: Table::new(Sharers::NONE, (sets * tracked_ways) as usize),
            tracked_ways,
            device_reads_refresh: config.device_reads_refresh,
            replacer: Replacer::new(config.replacement, &tags, sets, seed),
            tags,
            lines_of_owner: [0; Owner::MOST as usize],
            owners,
            freed_by_io: Vec::new(),
            marks_stay: false,
        }
    }

    /// The set of `line` over all slices.
    #[inline]
    #[must_use]
    pub fn set_of(&self, line: LineAddr) -> SetIndex {
        self.map.set_of(line)
    }

    /// The sets of neighbouring lines, from `first` on.
    #[inline]
    pub fn sets_of_run(&self, first: LineAddr, sets: &mut [SetIndex]) {
        self.map.sets_of_run(first, sets);
    }

    /// Prefetches the data for a look-up in `set` into the host's cache.
    #[inline]
    pub fn prefetch(&self, set: SetIndex) {
        self.tags.prefetch(set);
    }

    /// Prefetches the data for an allocation in `set` into the host's cache.
    #[inline]
    pub fn prefetch_for_fill(&self, set: SetIndex) {
        self.tags.prefetch(set);
        self.replacer.prefetch(set);
    }

    /// The way that holds `line`.
    #[inline]
    #[must_use]
    pub fn find(&self, set: SetIndex, line: LineAddr) -> Option<u32> {
        self.tags.find(set, line)
    }

    /// Looks up neighbouring lines from `first` on, each in its set of `sets`. Bit i of the result says
    /// whether line i hits, and the i-th of `ways` in which way.
    #[inline]
    #[must_use]
    pub fn find_run(&self, sets: &[SetIndex], first: LineAddr, ways: &mut [u8; RUN_LINES]) -> u64 {
        self.tags.find_run(sets, first, ways)
    }

    /// Whether neighbouring lines from `first` on all lie in different sets.
    #[inline]
    #[must_use]
    pub fn run_is_spread(&self, first: LineAddr, lines: u64) -> bool {
        self.map.run_is_spread(first, lines)
    }

    /// State of the line in a way.
    #[inline]
    #[must_use]
    pub fn info(&self, set: SetIndex, way: u32) -> LineInfo {
        LineInfo::of_note(self.tags.note(set, way))
    }

    /// Marks the content of a way as used by a device, which for replacement is a use if the cache is
    /// configured so.
    #[inline(always)]
    pub fn note_device_read(&mut self, set: SetIndex, way: u32) {
        let note = self.tags.note(set, way);
        self.tags.set_note(set, way, note | LineInfo::CONSUMED);
        if self.device_reads_refresh {
            self.replacer.hit(&self.tags, set, way);
        }
    }

    /// Replaces the state of the line in a way; this counts as a use.
    #[inline(always)]
    pub fn update(&mut self, set: SetIndex, way: u32, info: LineInfo) {
        let before = self.info(set, way);
        if before.owner != info.owner {
            self.lines_of_owner[before.owner_index()] -= 1;
            self.lines_of_owner[info.owner_index()] += 1;
        }
        self.tags.set_note(set, way, info.note());
        self.replacer.hit(&self.tags, set, way);
    }

    /// Whether `way` is a tracked way, whose line cores may hold too.
    #[inline]
    #[must_use]
    pub fn is_tracked_way(&self, way: u32) -> bool {
        way < self.tracked_ways
    }

    /// Mask of the tracked ways.
    #[must_use]
    pub fn tracked_mask(&self) -> WayMask {
        WayMask::bottom(self.tracked_ways)
    }

    /// The slice of a set.
    #[inline]
    #[must_use]
    pub fn slice_of_set(&self, set: SetIndex) -> SliceId {
        self.map.slice_of_set(set)
    }

    /// Marks the line in a way as newer than memory; this is not a use.
    #[inline]
    pub fn mark_dirty(&mut self, set: SetIndex, way: u32) {
        let info = LineInfo { dirty: true, ..self.info(set, way) };
        self.tags.set_note(set, way, info.note());
    }

    /// Marks the line in a way as equal to memory; this is not a use.
    #[inline]
    pub fn mark_clean(&mut self, set: SetIndex, way: u32) {
        let info = LineInfo { dirty: false, ..self.info(set, way) };
        self.tags.set_note(set, way, info.note());
    }

    /// Marks the content of a way as used by another socket; for replacement this is not a use.
    #[inline]
    pub fn mark_consumed(&mut self, set: SetIndex, way: u32) {
        let info = LineInfo { consumed: true, ..self.info(set, way) };
        self.tags.set_note(set, way, info.note());
    }

    /// Cores that hold the line in a way.
    #[inline]
    #[must_use]
    pub fn sharers(&self, set: SetIndex, way: u32) -> Sharers {
        if !self.is_tracked_way(way) {
            return Sharers::NONE;
        }
        let note = self.tags.note(set, self.second_note(way));
        Sharers::of_note(note, || self.several[self.index_of_several(set, way)])
    }

    /// Records which cores hold the line in a way.
    ///
    /// # Panics
    /// In debug builds for a line outside the tracked ways.
    #[inline]
    pub fn set_sharers(&mut self, set: SetIndex, way: u32, sharers: Sharers) {
        debug_assert!(self.is_tracked_way(way));
        let note = sharers.note();
        self.tags.set_note(set, self.second_note(way), note);
        if note == Sharers::SEVERAL {
            let index = self.index_of_several(set, way);
            self.several[index] = sharers;
        }
    }

    #[inline]
    fn second_note(&self, way: u32) -> u32 {
        self.tags.ways() + way
    }

    #[inline]
    fn index_of_several(&self, set: SetIndex, way: u32) -> usize {
        (set.0 * self.tracked_ways + way) as usize
    }

    /// Allocates `line` in a way of `within`; returns the way and the victim.
    #[inline(always)]
    pub fn allocate(
        &mut self,
        set: SetIndex,
        line: LineAddr,
        info: LineInfo,
        within: WayMask,
    ) -> (u32, Option<Evicted>) {
        let renewed = self.replacer.renew_oldest_of(&self.tags, set, within);
        let way = renewed.unwrap_or_else(|| self.choose(set, within));
        let evicted = self.replace(set, way, line, info);
        if renewed.is_none() {
            self.replacer.fill(&self.tags, set, way);
        }
        (way, evicted)
    }

    /// The way of `within` that an allocation would take.
    #[inline(always)]
    pub fn choose(&mut self, set: SetIndex, within: WayMask) -> u32 {
        self.replacer.choose(&self.tags, set, within)
    }

    /// Allocates `line` in `way`; returns the victim.
    #[inline(always)]
    pub fn allocate_at(
        &mut self,
        set: SetIndex,
        way: u32,
        line: LineAddr,
        info: LineInfo,
    ) -> Option<Evicted> {
        let evicted = self.replace(set, way, line, info);
        self.replacer.fill(&self.tags, set, way);
        evicted
    }

    /// As [`Self::allocate_at`], without a note of the fill for replacement.
    #[inline(always)]
    fn replace(
        &mut self,
        set: SetIndex,
        way: u32,
        line: LineAddr,
        info: LineInfo,
    ) -> Option<Evicted> {
        debug_assert!(self.find(set, line).is_none());
        debug_assert!(info.owner_index() < self.owners);
        let sharers =
            if self.is_tracked_way(way) { self.take_sharers(set, way) } else { Sharers::NONE };
        if let Some(freed) = self.freed_by_io.get_mut(set.0 as usize)
            && !self.marks_stay
        {
            freed.0 &= !(1 << way);
        }
        let before = self.tags.replace(set, way, line, info.note());
        self.lines_of_owner[info.owner_index()] += 1;
        let (line, note) = before?;
        let info = LineInfo::of_note(note);
        self.lines_of_owner[info.owner_index()] -= 1;
        Some(Evicted { line, info, sharers })
    }

    /// Cores that hold the line in a tracked way; clears the list.
    #[inline]
    fn take_sharers(&mut self, set: SetIndex, way: u32) -> Sharers {
        let sharers = self.sharers(set, way);
        self.set_sharers(set, way, Sharers::NONE);
        sharers
    }

    /// The ways of `within` that hold unread lines of one of `owners` (bit i for owner i).
    #[must_use]
    pub fn unread_ways(&self, set: SetIndex, within: WayMask, owners: u64) -> WayMask {
        let is_unread = |way: u32| {
            let info = self.info(set, way);
            owners >> info.owner.0 & 1 == 1
                && !info.consumed
                && self.tags.line_at(set, way).is_some()
        };
        let ways = (0..u32::BITS).filter(|&way| within.0 >> way & 1 == 1 && is_unread(way));
        WayMask(ways.fold(0, |mask, way| mask | 1 << way))
    }

    /// Empties a way; returns its content.
    #[inline]
    pub fn take(&mut self, set: SetIndex, way: u32) -> Option<Evicted> {
        let taken = self.at(set, way)?;
        self.tags.clear(set, way);
        if self.is_tracked_way(way) {
            self.set_sharers(set, way, Sharers::NONE);
        }
        self.lines_of_owner[taken.info.owner_index()] -= 1;
        Some(taken)
    }

    /// Content of a way. (Always inlined: its fields are used at once, the whole is rarely built.)
    #[inline(always)]
    fn at(&self, set: SetIndex, way: u32) -> Option<Evicted> {
        let line = self.tags.line_at(set, way)?;
        Some(Evicted { line, info: self.info(set, way), sharers: self.sharers(set, way) })
    }

    /// Ways of a set outside the tracked ones that hold no line.
    #[inline]
    #[must_use]
    pub fn empty_ways(&self, set: SetIndex) -> WayMask {
        let all = WayMask::bottom(self.tags.ways()).0;
        self.tags.empty_ways(set, WayMask(all & !self.tracked_mask().0))
    }

    /// Marks a way as freed by I/O: an I/O write-back may refill it, inside the DDIO ways or not. With
    /// `stays`, a refill does not clear the mark.
    pub fn mark_freed(&mut self, set: SetIndex, way: u32, stays: bool) {
        self.marks_stay = stays;
        if self.freed_by_io.is_empty() {
            self.freed_by_io = vec![WayMask(0); self.map.total_sets() as usize];
        }
        self.freed_by_io[set.0 as usize].0 |= 1 << way;
    }

    /// Marked ways of a set.
    #[must_use]
    pub fn freed_ways(&self, set: SetIndex) -> WayMask {
        self.freed_by_io.get(set.0 as usize).copied().unwrap_or(WayMask(0))
    }

    /// Bytes held for each owner.
    pub fn occupancy_bytes(&self) -> impl Iterator<Item = u64> + '_ {
        self.lines_of_owner[..self.owners].iter().map(|lines| lines * LINE_BYTES)
    }

    /// The lines of a set with their state, way by way.
    pub fn lines_in(&self, set: SetIndex) -> impl Iterator<Item = (LineAddr, LineInfo)> + '_ {
        let ways = 0..self.tags.ways();
        ways.filter_map(move |way| Some((self.tags.line_at(set, way)?, self.info(set, way))))
    }

    /// Number of sets over all slices.
    #[must_use]
    pub fn sets(&self) -> u64 {
        u64::from(self.map.total_sets())
    }

    /// Number of ways of a set.
    #[must_use]
    pub fn ways(&self) -> u32 {
        self.tags.ways()
    }

    /// State of every line held, with its way, in no particular order.
    pub fn contents(&self) -> impl Iterator<Item = (u32, LineInfo)> + '_ {
        let sets = (0..self.map.total_sets()).map(SetIndex);
        sets.flat_map(move |set| {
            let held = (0..self.ways()).filter(move |&way| self.tags.line_at(set, way).is_some());
            held.map(move |way| (way, self.info(set, way)))
        })
    }

    /// All lines held, in no particular order.
    pub fn lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.tags.lines()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::Inclusion;
    use crate::llc::inclusion::InclusiveMove;
    use crate::replacement::Replacement;
    use address_map::{SetFunction, SliceFunction};
    use units::SocketCore;

    fn small() -> Llc {
        let config = LlcConfig {
            map: AddressMap::new(1, 1, SliceFunction::Mixing, SetFunction::Plain),
            ways: 4,
            inclusion: Inclusion::NonInclusive {
                inclusive_ways: 1,
                moved_by: InclusiveMove::CoreAccess,
            },
            replacement: Replacement::Lru,
            device_reads_refresh: true,
        };
        Llc::new(&config, 3, 1)
    }

    fn info(owner: u8) -> LineInfo {
        LineInfo { owner: Owner(owner), dirty: true, consumed: false }
    }

    #[test]
    fn an_allocation_stays_within_its_mask_and_names_its_victim() {
        let mut llc = small();
        let set = SetIndex(0);
        for line in 0..2 {
            assert_eq!(llc.allocate(set, LineAddr(line), info(0), WayMask(0b1100)).1, None);
        }
        let (way, evicted) = llc.allocate(set, LineAddr(2), info(1), WayMask(0b1100));
        assert_eq!(way, 2);
        assert_eq!(evicted.map(|e| (e.line, e.info.owner)), Some((LineAddr(0), Owner(0))));
        assert_eq!(llc.occupancy_bytes().collect::<Vec<_>>(), [64, 64, 0]);
    }

    #[test]
    fn only_inclusive_ways_remember_cores() {
        let mut llc = small();
        let set = SetIndex(0);
        llc.allocate(set, LineAddr(9), info(0), WayMask(0b0001));
        llc.set_sharers(set, 0, Sharers::of(SocketCore(3)));
        assert_eq!(llc.take(set, 0).map(|e| e.sharers), Some(Sharers::of(SocketCore(3))));
        assert_eq!(llc.sharers(set, 0), Sharers::NONE);
        assert_eq!(llc.sharers(set, 2), Sharers::NONE);
    }

    #[test]
    fn a_tracked_way_remembers_no_core_one_or_several_until_its_line_leaves() {
        let mut llc = small();
        let (set, several) = (SetIndex(0), Sharers::of(SocketCore(3)).with(SocketCore(40)));
        for (line, held) in (0..).zip([several, Sharers::of(SocketCore(7)), Sharers::NONE, several])
        {
            let (way, evicted) = llc.allocate(set, LineAddr(line), info(0), WayMask(0b0001));
            assert_eq!(llc.sharers(set, way), Sharers::NONE);
            llc.set_sharers(set, way, several);
            llc.set_sharers(set, way, held);
            assert_eq!(llc.sharers(set, way), held);
            assert_eq!(evicted.is_some(), line > 0);
        }
        assert_eq!(llc.take(set, 0).map(|e| e.sharers), Some(several));
    }

    #[test]
    fn an_update_changes_the_owner_in_place() {
        let mut llc = small();
        let set = SetIndex(0);
        let (way, _) = llc.allocate(set, LineAddr(9), info(0), WayMask(0b0010));
        llc.update(set, way, info(2));
        assert_eq!(llc.info(set, way), info(2));
        assert_eq!(llc.occupancy_bytes().collect::<Vec<_>>(), [0, 0, 64]);
    }
}
