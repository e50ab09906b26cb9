//! Why accesses to a cache miss: the three classic kinds, and lines that were invalidated.
//!
//! Models: a shadow of a cache with the same number of lines, fully associative with exact LRU, that
//! sees the same accesses. A miss is *compulsory* if the line was never seen before, *capacity* if the
//! shadow misses too, *conflict* otherwise (caused by sets, way masks or the replacement policy).
//! Source: Hill and Smith, "Evaluating associativity in CPU caches" (IEEE ToC 1989).
//! Simplifies: LRU is not the best policy, so a cache may hit where its shadow misses. Such
//! *anti-conflict* hits are counted: misses of the shadow = compulsory + capacity + invalidated +
//! anti-conflict. Costs four bytes of host memory per line of simulated memory, for each 64 MiB of
//! it of which anything was touched.

use crate::attribution::AgentId;
use crate::recency::Recency;
use tag_array::Table;
use units::LineAddr;
use units::narrow::{fit, usize_from};

/// Why an access missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissKind {
    /// The line was never requested before.
    Compulsory,
    /// A fully associative LRU cache of the same size would have missed too.
    Capacity,
    /// A fully associative LRU cache of the same size would have hit.
    Conflict,
    /// [`MissKinds::invalidate`] removed the line since its last access.
    Invalidated,
}

/// Hits, and misses of each kind, of one agent's accesses to a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessCounts {
    /// Number of hits, anti-conflict hits included.
    pub hits: u64,
    /// Number of hits where the fully associative LRU cache missed.
    pub anti_conflict_hits: u64,
    misses: [u64; 4],
}

crate::reading!(AccessCounts { hits, anti_conflict_hits, misses });

impl AccessCounts {
    /// Number of misses of one kind.
    #[must_use]
    pub fn misses(&self, kind: MissKind) -> u64 {
        self.misses[kind as usize]
    }

    /// Number of misses of all kinds.
    #[must_use]
    pub fn all_misses(&self) -> u64 {
        self.misses.iter().sum()
    }

    /// Misses of the fully associative LRU cache: all but conflict misses, plus anti-conflict hits.
    #[must_use]
    pub fn fully_associative_misses(&self) -> u64 {
        self.all_misses() - self.misses(MissKind::Conflict) + self.anti_conflict_hits
    }
}

/// The shadow of a cache, and the counts of each agent.
#[derive(Clone, Debug)]
pub struct MissKinds {
    shadow: Shadow,
    counts: Vec<AccessCounts>,
}

impl MissKinds {
    /// An empty shadow of a cache with this many lines.
    ///
    /// # Panics
    /// If there are no lines, or 2^31 and more.
    #[must_use]
    pub fn new(lines_of_cache: u32) -> Self {
        let counts = vec![AccessCounts::default(); usize::from(AgentId::MOST)];
        Self { shadow: Shadow::new(lines_of_cache), counts }
    }

    /// An access that allocates the line on a miss; `hit` says whether the cache hit. Returns why it
    /// missed.
    #[inline]
    pub fn access(&mut self, agent: AgentId, line: LineAddr, hit: bool) -> Option<MissKind> {
        let before = self.shadow.access(line, true);
        self.count(agent, before, hit)
    }

    /// As [`Self::access`], but a miss does not allocate, for instance a device's read.
    #[inline]
    pub fn pass_by(&mut self, agent: AgentId, line: LineAddr, hit: bool) -> Option<MissKind> {
        let before = self.shadow.access(line, false);
        self.count(agent, before, hit)
    }

    /// Announces an access to `line`: prefetches its data into the host's cache.
    #[inline]
    pub fn expect(&self, line: LineAddr) {
        self.shadow.places.prefetch(line.low_bits());
    }

    /// The line was removed from the cache by something other than replacement.
    pub fn invalidate(&mut self, line: LineAddr) {
        self.shadow.invalidate(line);
    }

    /// The counts of an agent.
    #[must_use]
    pub fn counts(&self, agent: AgentId) -> &AccessCounts {
        &self.counts[usize::from(agent.0)]
    }

    /// The counts of all agents, by number.
    #[must_use]
    pub fn all_counts(&self) -> &[AccessCounts] {
        &self.counts
    }

    /// Resets the counts to zero; the shadow and the lines seen stay.
    pub fn clear(&mut self) {
        self.counts.fill(AccessCounts::default());
    }

    #[inline]
    fn count(&mut self, agent: AgentId, before: ShadowState, hit: bool) -> Option<MissKind> {
        let counts = &mut self.counts[usize::from(agent.0)];
        if hit {
            counts.hits += 1;
            counts.anti_conflict_hits += u64::from(before != ShadowState::Resident);
            return None;
        }
        let kind = match before {
            ShadowState::NeverSeen => MissKind::Compulsory,
            ShadowState::PushedOut => MissKind::Capacity,
            ShadowState::Resident => MissKind::Conflict,
            ShadowState::Invalidated => MissKind::Invalidated,
        };
        counts.misses[kind as usize] += 1;
        Some(kind)
    }
}

/// State of a line in the shadow before an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShadowState {
    NeverSeen,
    PushedOut,
    Invalidated,
    Resident,
}

/// Values for lines that are not in the shadow. Slot numbers begin above them.
const NEVER_SEEN: u32 = 0;
const PUSHED_OUT: u32 = 1;
const INVALIDATED: u32 = 2;
const FIRST_SLOT: u32 = 3;

/// The line of a slot that is free.
const NO_LINE: u32 = u32::MAX;

/// Lines per page of the slot table, as a power of two: 64 MiB of simulated memory.
const PAGE_BITS: u32 = 20;
const PAGE_LINES: usize = 1 << PAGE_BITS;

/// A fully associative LRU cache in constant time per access.
#[derive(Clone, Debug)]
struct Shadow {
    /// The line of each slot. Free slots are the oldest, so the oldest is always the next to use.
    slots: Recency<u32>,
    places: SlotTable,
}

impl Shadow {
    fn new(lines: u32) -> Self {
        Self { slots: Recency::new(lines, NO_LINE), places: SlotTable::default() }
    }

    #[inline]
    fn access(&mut self, line: LineAddr, allocates: bool) -> ShadowState {
        let place = self.places.slot_mut(line);
        let found = *place;
        if found >= FIRST_SLOT {
            self.slots.renew((found - FIRST_SLOT) as usize);
            return ShadowState::Resident;
        }
        if allocates {
            let slot = self.slots.oldest();
            *place = fit::<u32, _>(slot) + FIRST_SLOT;
            self.replace(slot, line);
        } else {
            *place = PUSHED_OUT;
        }
        match found {
            NEVER_SEEN => ShadowState::NeverSeen,
            INVALIDATED => ShadowState::Invalidated,
            _ => ShadowState::PushedOut,
        }
    }

    fn invalidate(&mut self, line: LineAddr) {
        let place = self.places.slot_mut(line);
        let found = *place;
        if found == NEVER_SEEN {
            return;
        }
        *place = INVALIDATED;
        if found >= FIRST_SLOT {
            let slot = (found - FIRST_SLOT) as usize;
            *self.slots.value_mut(slot) = NO_LINE;
            self.slots.retire(slot);
        }
    }

    /// Gives the oldest slot to `line`.
    #[inline]
    fn replace(&mut self, slot: usize, line: LineAddr) {
        let victim = std::mem::replace(self.slots.value_mut(slot), line.low_bits());
        if victim != NO_LINE {
            *self.places.slot_mut(LineAddr(u64::from(victim))) = PUSHED_OUT;
        }
        self.slots.renew(slot);
        // The next victim is known already: its table entry is prefetched.
        self.places.prefetch(*self.slots.value(self.slots.oldest()));
    }
}

/// The slot of each line, by line number. Pages without a line that was seen are absent.
#[derive(Clone, Debug, Default)]
struct SlotTable(Vec<Option<Table<u32>>>);

impl SlotTable {
    #[inline]
    fn slot_mut(&mut self, line: LineAddr) -> &mut u32 {
        let page = (line.0 >> PAGE_BITS) as usize;
        if self.0.get(page).is_none_or(Option::is_none) {
            self.add_page(line);
        }
        let places = self.0[page].as_mut().expect("the page was just added");
        &mut places[usize_from(line.0) % PAGE_LINES]
    }

    #[inline]
    fn prefetch(&self, line: u32) {
        if let Some(Some(page)) = self.0.get((line >> PAGE_BITS) as usize) {
            page.prefetch(line as usize % PAGE_LINES);
        }
    }

    #[cold]
    fn add_page(&mut self, line: LineAddr) {
        assert!(line.0 < u64::from(NO_LINE), "line numbers fit 32 bits in every cache");
        let page = (line.0 >> PAGE_BITS) as usize;
        if self.0.len() <= page {
            self.0.resize_with(page + 1, || None);
        }
        self.0[page] = Some(Table::new(NEVER_SEEN, PAGE_LINES));
    }
}
