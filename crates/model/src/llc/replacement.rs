//! Which way of a set gives way: a closed set of policies, used by every cache level.
//!
//! Models: victim choice among the ways that an allocation may use. Empty ways go first.
//! Source: LRU, NRU and random as in the textbooks.
//! Simplifies: Intel's server LLC policy is not published; random victims fit the measured rings of
//! the Gold 6140 best (DEVIATIONS.md, 3).

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tag_array::{Table, TagArray};
use units::{SetIndex, WayMask};

/// A replacement policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The way used longest ago.
    Lru,
    /// A way not used since all others were: one bit per way, lowest way first.
    Nru,
    /// Any way, with equal probability.
    Random,
}

/// The state that a policy keeps for one cache.
#[derive(Clone, Debug)]
pub struct Replacer {
    policy: Replacement,
    /// LRU: time of last use per place. Empty for the other policies.
    last_use: Table<u64>,
    clock: u64,
    /// NRU: ways used since the last round, per set. Empty for the other policies.
    used: Vec<u32>,
    rng: Xoshiro256PlusPlus,
}

impl Replacer {
    /// State for the cache whose tags are `tags`, with `sets` sets.
    #[must_use]
    pub fn new(policy: Replacement, tags: &TagArray, sets: u32, seed: u64) -> Self {
        let if_policy = |wanted, length| if policy == wanted { length } else { 0 };
        Self {
            policy,
            last_use: Table::new(0, if_policy(Replacement::Lru, (sets * tags.ways()) as usize)),
            clock: 0,
            used: vec![0; if_policy(Replacement::Nru, sets as usize)],
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Notes that a way was hit or filled.
    #[inline]
    pub fn touch(&mut self, tags: &TagArray, set: SetIndex, way: u32) {
        match self.policy {
            Replacement::Lru => {
                self.clock += 1;
                self.last_use[tags.place(set, way)] = self.clock;
            }
            Replacement::Nru => {
                let used = &mut self.used[set.0 as usize];
                *used |= 1 << way;
                if used.count_ones() == tags.ways() {
                    *used = 1 << way;
                }
            }
            Replacement::Random => {}
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
            return empty.0.trailing_zeros();
        }
        match self.policy {
            Replacement::Lru => ways_of(within)
                .min_by_key(|&way| self.last_use[tags.place(set, way)])
                .unwrap_or_default(),
            Replacement::Nru => {
                let unused = within.0 & !self.used[set.0 as usize];
                if unused != 0 { unused.trailing_zeros() } else { within.0.trailing_zeros() }
            }
            Replacement::Random => {
                let pick = ((self.rng.next_u64() >> 32) * u64::from(within.count())) >> 32;
                nth_way(within, pick as u32)
            }
        }
    }
}

fn ways_of(mask: WayMask) -> impl Iterator<Item = u32> {
    let mut left = mask.0;
    std::iter::from_fn(move || {
        let way = (left != 0).then(|| left.trailing_zeros())?;
        left &= left - 1;
        Some(way)
    })
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
    use units::LineAddr;

    fn full_set(policy: Replacement) -> (TagArray, Replacer) {
        let mut tags = TagArray::new(1, 4);
        let mut replacer = Replacer::new(policy, &tags, 1, 7);
        for way in 0..4 {
            tags.put(SetIndex(0), way, LineAddr(u64::from(way)), 0);
            replacer.touch(&tags, SetIndex(0), way);
        }
        (tags, replacer)
    }

    #[test]
    fn an_empty_way_goes_first_whatever_the_policy() {
        for policy in [Replacement::Lru, Replacement::Nru, Replacement::Random] {
            let (mut tags, mut replacer) = full_set(policy);
            tags.clear(SetIndex(0), 2);
            assert_eq!(replacer.choose(&tags, SetIndex(0), WayMask(0xF)), 2);
        }
    }

    #[test]
    fn lru_gives_the_way_used_longest_ago_within_the_mask() {
        let (tags, mut replacer) = full_set(Replacement::Lru);
        replacer.touch(&tags, SetIndex(0), 0);
        assert_eq!(replacer.choose(&tags, SetIndex(0), WayMask(0xF)), 1);
        assert_eq!(replacer.choose(&tags, SetIndex(0), WayMask(0b1001)), 3);
    }

    #[test]
    fn nru_spares_the_ways_used_in_this_round() {
        let (tags, mut replacer) = full_set(Replacement::Nru);
        // The fourth touch of the set-up started a new round in which only way 3 is used.
        assert_eq!(replacer.choose(&tags, SetIndex(0), WayMask(0b1000)), 3);
        assert_eq!(replacer.choose(&tags, SetIndex(0), WayMask(0b1100)), 2);
    }

    #[test]
    fn random_victims_stay_in_the_mask_and_use_all_of_it_evenly() {
        let (tags, mut replacer) = full_set(Replacement::Random);
        let mut chosen = [0u32; 4];
        for _ in 0..30_000 {
            chosen[replacer.choose(&tags, SetIndex(0), WayMask(0b1101)) as usize] += 1;
        }
        assert_eq!(chosen[1], 0);
        assert!([0, 2, 3].iter().all(|&way| chosen[way as usize].abs_diff(10_000) < 400));
    }
}
