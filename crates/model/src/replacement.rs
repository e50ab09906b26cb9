//! Which way of a set gives way: a closed set of policies, used by every cache of the machine.
//!
//! Models: victim choice among the ways that an allocation may use. Empty ways go first, the lowest
//! or, where the policy says so, the highest. A victim comes from the mask of the allocation; hits
//! and fills change the state of the whole set, as on parts whose masks limit allocation only.
//! Source: LRU, FIFO, NRU and random as in the textbooks; tree-PLRU, RRIP and QLRU in their files.
//! Simplifies: an adaptive policy (set dueling) is one of its two policies in all sets. Intel's
//! server LLC policy is not published; random victims fit the measured rings of the Gold 6140 best
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
use order::Order;
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
    /// Where the bits of a binary tree point to, each away from the half used last.
    TreePlru,
    /// A way not used since all others were: one bit per way, lowest way first.
    Nru,
    /// Any way, with equal probability.
    Random,
    /// Static re-reference interval prediction with hit priority.
    Srrip(RrpvBits),
    /// Bimodal re-reference interval prediction with hit priority.
    Brrip(RrpvBits),
    /// Quad-age LRU of the given parts.
    Qlru(QlruSpec),
}

/// The state that a policy keeps for one cache.
#[derive(Clone, Debug)]
pub struct Replacer {
    state: State,
    /// Whether hits change the state.
    notes_hits: bool,
    rng: Xoshiro256PlusPlus,
}

#[derive(Clone, Debug)]
enum State {
    Lru(Order),
    Fifo(Order),
    TreePlru(Trees),
    Nru(Nru),
    Random,
    Rrip(Rrip),
    Qlru(Qlru),
}

impl Replacer {
    /// State for the cache whose tags are `tags`, with `sets` sets. Equal seeds make equal draws.
    #[must_use]
    pub fn new(policy: Replacement, tags: &TagArray, sets: u32, seed: u64) -> Self {
        let ways = tags.ways();
        let all_ways = WayMask(u32::MAX >> (32 - ways));
        let state = match policy {
            Replacement::Lru => State::Lru(Order::new(sets, ways)),
            Replacement::Fifo => State::Fifo(Order::new(sets, ways)),
            Replacement::TreePlru => State::TreePlru(Trees::new(sets, ways)),
            Replacement::Nru => State::Nru(Nru::new(sets, all_ways)),
            Replacement::Random => State::Random,
            Replacement::Srrip(bits) => State::Rrip(Rrip::fixed(sets, bits)),
            Replacement::Brrip(bits) => State::Rrip(Rrip::bimodal(sets, bits)),
            Replacement::Qlru(spec) => State::Qlru(Qlru::new(sets, all_ways, spec)),
        };
        let notes_hits = !matches!(state, State::Fifo(_) | State::Random);
        Self { state, notes_hits, rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Starts to load the state of `set` into the host's cache.
    #[inline]
    pub fn prefetch(&self, set: SetIndex) {
        match &self.state {
            State::Lru(order) | State::Fifo(order) => order.prefetch(set),
            State::Nru(nru) => nru.prefetch(set),
            // Small, or none.
            State::TreePlru(_) | State::Rrip(_) | State::Qlru(_) | State::Random => {}
        }
    }

    /// The way of a full set that goes next, where that is cheap to tell.
    #[inline]
    pub fn next_victim(&self, set: SetIndex, within: WayMask) -> Option<u32> {
        match &self.state {
            State::Lru(order) | State::Fifo(order) => Some(order.oldest(set, within)),
            _ => None,
        }
    }

    /// Notes that the line in a way was used again.
    #[inline(always)]
    pub fn hit(&mut self, tags: &TagArray, set: SetIndex, way: u32) {
        if self.notes_hits {
            self.note_hit(tags, set, way);
        }
    }

    #[inline]
    fn note_hit(&mut self, tags: &TagArray, set: SetIndex, way: u32) {
        match &mut self.state {
            State::Lru(order) => order.renew(set, way),
            State::TreePlru(trees) => trees.point_away(set, way),
            State::Nru(nru) => nru.note_use(set, way),
            State::Rrip(rrip) => rrip.hit(set, way),
            State::Qlru(qlru) => qlru.hit(tags, set, way),
            State::Fifo(_) | State::Random => {}
        }
    }

    /// Notes that a line was put into a way, usually the one that [`Self::choose`] gave.
    #[inline]
    pub fn fill(&mut self, tags: &TagArray, set: SetIndex, way: u32) {
        match &mut self.state {
            State::Lru(order) | State::Fifo(order) => order.renew(set, way),
            State::TreePlru(trees) => trees.point_away(set, way),
            State::Nru(nru) => nru.note_use(set, way),
            State::Rrip(rrip) => rrip.fill(set, way, &mut self.rng),
            State::Qlru(qlru) => qlru.fill(tags, set, way, &mut self.rng),
            State::Random => {}
        }
    }

    /// The way of `within` to allocate: an empty one if there is one.
    ///
    /// # Panics
    /// In debug builds if `within` is empty: callers decide before that nothing is allocated.
    #[inline]
    pub fn choose(&mut self, tags: &TagArray, set: SetIndex, within: WayMask) -> u32 {
        debug_assert!(within.0 != 0);
        let empty = tags.empty_ways(set, within);
        if empty.0 != 0 {
            return match &self.state {
                State::Qlru(qlru) => qlru.first_empty(empty),
                _ => lowest(empty),
            };
        }
        match &mut self.state {
            State::Lru(order) | State::Fifo(order) => order.oldest(set, within),
            State::TreePlru(trees) => trees.follow(set, within),
            State::Nru(nru) => nru.victim(set, within),
            State::Random => nth_way(within, below(&mut self.rng, within.count())),
            State::Rrip(rrip) => rrip.victim(set, within),
            State::Qlru(qlru) => qlru.victim(set, within),
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

#[inline]
fn nth_way(mask: WayMask, n: u32) -> u32 {
    let mut left = mask.0;
    for _ in 0..n {
        left &= left - 1;
    }
    left.trailing_zeros()
}
