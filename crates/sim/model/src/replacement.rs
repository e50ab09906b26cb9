//! Victim choice within a set: a closed set of policies, used by every cache of the machine.
//!
//! Models: victim choice among the ways that an allocation may use. Empty ways are filled first, the
//! lowest or, where the policy says so, the highest. A victim comes from the mask of the allocation;
//! hits and fills change the state of the whole set, as on processors whose masks limit allocation
//! only.
//! Source: LRU, FIFO, NRU and random as in the textbooks; tree-PLRU, RRIP and QLRU in their files.
//! Simplifies: an adaptive policy (set dueling) is one of its two policies in all sets. Of
//! Intel's server LLC LRU was measured for lines of devices; of lines of cores nothing is published
//! (DEVIATIONS.md, 3).

mod ages;
mod name;
mod nru;
mod order;
mod qlru;
mod qlru_name;
mod rrip;
mod tree;

pub use name::UnknownReplacement;
pub use qlru_name::{InvalidQlru, QlruSpec};
pub use rrip::RrpvBits;

use nru::Nru;
use order::UseOrder;
use qlru::Qlru;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rrip::Rrip;
use tag_array::TagArray;
use tree::Trees;
use units::{SetIndex, WayMask};

/// A replacement policy. Platform files name it as [`std::fmt::Display`] prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The way used longest ago.
    Lru,
    /// The way filled longest ago.
    Fifo,
    /// The way that the bits of a binary tree point to; a use turns them to the other half.
    TreePlru,
    /// A way not used since all others were: one bit per way, lowest way first.
    Nru,
    /// Any way, with equal probability.
    Random,
    /// Static re-reference interval prediction with hit priority.
    Srrip(RrpvBits),
    /// Bimodal re-reference interval prediction with hit priority.
    Brrip(RrpvBits),
    /// Quad-age LRU with the given parameters.
    Qlru(QlruSpec),
}

/// The state that a policy keeps for one cache.
#[derive(Clone, Debug)]
pub struct Replacer {
    state: PolicyState,
    /// Whether hits change the state.
    notes_hits: bool,
    /// Whether fills change the state.
    notes_fills: bool,
    rng: Xoshiro256PlusPlus,
}

#[derive(Clone, Debug)]
enum PolicyState {
    Lru(UseOrder),
    Fifo(UseOrder),
    TreePlru(Trees),
    Nru(Nru),
    Random,
    Rrip(Rrip),
    Qlru(Qlru),
}

impl Replacer {
    /// State for the cache whose tags are `tags`, with `sets` sets. Equal seeds give equal draws.
    #[must_use]
    pub fn new(policy: Replacement, tags: &TagArray, sets: u32, seed: u64) -> Self {
        let ways = tags.ways();
        let all_ways = WayMask(u32::MAX >> (32 - ways));
        let state = match policy {
            Replacement::Lru => PolicyState::Lru(UseOrder::new(sets, ways)),
            Replacement::Fifo => PolicyState::Fifo(UseOrder::new(sets, ways)),
            Replacement::TreePlru => PolicyState::TreePlru(Trees::new(sets, ways)),
            Replacement::Nru => PolicyState::Nru(Nru::new(sets, all_ways)),
            Replacement::Random => PolicyState::Random,
            Replacement::Srrip(bits) => PolicyState::Rrip(Rrip::fixed(sets, bits)),
            Replacement::Brrip(bits) => PolicyState::Rrip(Rrip::bimodal(sets, bits)),
            Replacement::Qlru(spec) => PolicyState::Qlru(Qlru::new(sets, all_ways, spec)),
        };
        let notes_hits = !matches!(state, PolicyState::Fifo(_) | PolicyState::Random);
        let notes_fills = !matches!(state, PolicyState::Random);
        Self { state, notes_hits, notes_fills, rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Prefetches the state of `set` into the host's cache.
    #[inline]
    pub fn prefetch(&self, set: SetIndex) {
        match &self.state {
            PolicyState::Lru(order) | PolicyState::Fifo(order) => order.prefetch(set),
            PolicyState::Nru(nru) => nru.prefetch(set),
            // These states are small or empty.
            PolicyState::TreePlru(_)
            | PolicyState::Rrip(_)
            | PolicyState::Qlru(_)
            | PolicyState::Random => {}
        }
    }

    /// Whether [`Self::choose`] takes the lowest empty way, and [`Self::fill`] reads no tags.
    #[must_use]
    pub fn fills_lowest_way(&self) -> bool {
        !matches!(self.state, PolicyState::Qlru(_))
    }

    /// The next victim way of a full set under a full mask, where it is cheap to determine.
    #[inline]
    pub fn next_victim(&self, set: SetIndex) -> Option<u32> {
        match &self.state {
            PolicyState::Lru(order) | PolicyState::Fifo(order) => Some(order.oldest_of_all(set)),
            _ => None,
        }
    }

    /// [`Self::choose`] among all ways and [`Self::fill`] in one step where that is cheap: if the set
    /// is full and its order is kept.
    #[inline(always)]
    pub fn renew_oldest(&mut self, tags: &TagArray, set: SetIndex) -> Option<u32> {
        match &mut self.state {
            PolicyState::Lru(order) | PolicyState::Fifo(order) if tags.is_full(set) => {
                Some(order.renew_oldest(set))
            }
            _ => None,
        }
    }

    /// [`Self::choose`] among the ways of `within` and [`Self::fill`] in one step where that is cheap: if
    /// the set is full and its order is kept.
    #[inline(always)]
    pub fn renew_oldest_of(
        &mut self,
        tags: &TagArray,
        set: SetIndex,
        within: WayMask,
    ) -> Option<u32> {
        match &mut self.state {
            PolicyState::Lru(order) | PolicyState::Fifo(order) if tags.is_full(set) => {
                Some(order.renew_oldest_of(set, within))
            }
            _ => None,
        }
    }

    /// Records a hit in a way. This draws no random numbers: hits in different sets may come in any
    /// order.
    #[inline(always)]
    pub fn hit(&mut self, tags: &TagArray, set: SetIndex, way: u32) {
        if self.notes_hits {
            self.note_hit(tags, set, way);
        }
    }

    #[inline]
    fn note_hit(&mut self, tags: &TagArray, set: SetIndex, way: u32) {
        match &mut self.state {
            PolicyState::Lru(order) => order.renew(set, way),
            PolicyState::TreePlru(trees) => trees.point_away(set, way),
            PolicyState::Nru(nru) => nru.note_use(set, way),
            PolicyState::Rrip(rrip) => rrip.hit(set, way),
            PolicyState::Qlru(qlru) => qlru.hit(tags, set, way),
            PolicyState::Fifo(_) | PolicyState::Random => {}
        }
    }

    /// Records a fill of a way, usually the one that [`Self::choose`] returned.
    #[inline(always)]
    pub fn fill(&mut self, tags: &TagArray, set: SetIndex, way: u32) {
        if self.notes_fills {
            self.note_fill(tags, set, way);
        }
    }

    fn note_fill(&mut self, tags: &TagArray, set: SetIndex, way: u32) {
        match &mut self.state {
            PolicyState::Lru(order) | PolicyState::Fifo(order) => order.renew(set, way),
            PolicyState::TreePlru(trees) => trees.point_away(set, way),
            PolicyState::Nru(nru) => nru.note_use(set, way),
            PolicyState::Rrip(rrip) => rrip.fill(set, way, &mut self.rng),
            PolicyState::Qlru(qlru) => qlru.fill(tags, set, way, &mut self.rng),
            PolicyState::Random => {}
        }
    }

    /// The way of `within` to allocate: an empty one if there is any.
    ///
    /// # Panics
    /// In debug builds if `within` is empty: callers check before that the mask has a way.
    #[inline(always)]
    pub fn choose(&mut self, tags: &TagArray, set: SetIndex, within: WayMask) -> u32 {
        debug_assert!(within.0 != 0);
        let empty = tags.empty_ways(set, within);
        if empty.0 != 0 {
            return match &self.state {
                PolicyState::Qlru(qlru) => qlru.first_empty(empty),
                _ => lowest(empty),
            };
        }
        if let PolicyState::Random = self.state {
            // The usual case of large caches: a call would cost more.
            return any_way(within, &mut self.rng);
        }
        self.victim(set, within)
    }

    /// The victim among the ways of `within`, all of which hold lines.
    fn victim(&mut self, set: SetIndex, within: WayMask) -> u32 {
        match &mut self.state {
            PolicyState::Lru(order) | PolicyState::Fifo(order) => order.oldest(set, within),
            PolicyState::TreePlru(trees) => trees.follow(set, within),
            PolicyState::Nru(nru) => nru.victim(set, within),
            PolicyState::Random => any_way(within, &mut self.rng),
            PolicyState::Rrip(rrip) => rrip.victim(set, within),
            PolicyState::Qlru(qlru) => qlru.victim(set, within),
        }
    }
}

#[inline]
fn lowest(ways: WayMask) -> u32 {
    ways.0.trailing_zeros()
}

#[inline]
fn highest(ways: WayMask) -> u32 {
    ways.0.ilog2()
}

/// An even draw from 0 to `end` - 1.
#[inline]
fn below(rng: &mut Xoshiro256PlusPlus, end: u32) -> u32 {
    (((rng.next_u64() >> 32) * u64::from(end)) >> 32) as u32
}

/// A way of `mask` by an even draw.
#[inline]
fn any_way(mask: WayMask, rng: &mut Xoshiro256PlusPlus) -> u32 {
    let first = lowest(mask);
    let ways = mask.0 >> first;
    if ways & ways.wrapping_add(1) == 0 {
        // The mask usually has no gaps: no bits need to be counted.
        return first + below(rng, u32::BITS - ways.leading_zeros());
    }
    nth_way(mask, below(rng, mask.count()))
}

#[inline]
fn nth_way(mask: WayMask, n: u32) -> u32 {
    let mut left = mask.0;
    for _ in 0..n {
        left &= left - 1;
    }
    left.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::LineAddr;

    proptest! {
        #[test]
        fn any_way_of_a_mask_is_the_drawn_one_with_gaps_or_without(
            mask in prop_oneof![1..=u32::MAX, (0u32..32, 0u32..32).prop_map(|(from, more)| {
                u32::MAX >> more >> from << from | 1 << from
            })],
            seed in any::<u64>(),
        ) {
            let mask = WayMask(mask);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut same = rng.clone();
            for _ in 0..20 {
                let drawn = nth_way(mask, below(&mut same, mask.count()));
                prop_assert_eq!(any_way(mask, &mut rng), drawn);
            }
        }

        #[test]
        fn renewing_the_oldest_is_choosing_and_filling(
            ways in 1u32..=32,
            policy in prop_oneof![Just(Replacement::Lru), Just(Replacement::Fifo)],
            operations in prop::collection::vec((0u32..3, 0u32..32), 1..300),
        ) {
            let (set, all_ways) = (SetIndex(0), WayMask(u32::MAX >> (32 - ways)));
            let mut tags = TagArray::new(1, ways);
            let mut at_once = Replacer::new(policy, &tags, 1, 1);
            let mut in_steps = at_once.clone();
            for (line, (operation, way)) in (1..).map(LineAddr).zip(operations) {
                match operation {
                    0 => tags.clear(set, way % ways),
                    1 if tags.line_at(set, way % ways).is_some() => {
                        at_once.hit(&tags, set, way % ways);
                        in_steps.hit(&tags, set, way % ways);
                    }
                    _ => {
                        let chosen = in_steps.choose(&tags, set, all_ways);
                        let renewed = at_once.renew_oldest(&tags, set);
                        prop_assert_eq!(renewed.is_some(), tags.is_full(set));
                        prop_assert_eq!(renewed.unwrap_or(chosen), chosen);
                        tags.put(set, chosen, line, 0);
                        in_steps.fill(&tags, set, chosen);
                        if renewed.is_none() {
                            at_once.fill(&tags, set, chosen);
                        }
                    }
                }
            }
        }
    }
}
