//! The ways of each set in the order of their last use (LRU) or of their fill (FIFO).
//!
//! Models: the exact order, for any number of ways.
//!
//! A set of up to 16 ways is a list of 4-bit way numbers in one word, newest lowest; a search compares
//! all sixteen digits at once.

use tag_array::Table;
use units::narrow::{fit, low_u32};
use units::{SetIndex, WayMask};

/// Digits of a word.
const MOST_DIGITS: u32 = 16;
/// Every digit is 1.
const ONES: u64 = 0x1111_1111_1111_1111;
/// The highest bit of every digit.
const HIGH_BITS: u64 = 8 * ONES;
const MOST_WAYS: usize = 32;

/// The order of the ways of every set.
#[derive(Clone, Debug)]
pub(super) enum UseOrder {
    /// Way numbers, newest first. Numbers that are not ways come last and stay there.
    List { lists: Table<u64>, ways: u32 },
    /// Number of newer ways, per way. Numbers that are not ways have a higher rank than all ways.
    Ranks { ranks: Table<[u8; MOST_WAYS]>, ways: u32 },
}

impl UseOrder {
    /// All ways of all sets in order, the lowest the oldest.
    pub(super) fn new(sets: u32, ways: u32) -> Self {
        let newest_first = (0..fit(MOST_WAYS)).map(|i| if i < ways { ways - 1 - i } else { i });
        if ways <= MOST_DIGITS {
            let digits = newest_first.take(MOST_DIGITS as usize);
            let list = digits.rev().fold(0, |list, way| list << 4 | u64::from(way));
            return Self::List { lists: Table::new(list, sets as usize), ways };
        }
        let mut ranks = [0; MOST_WAYS];
        for (rank, way) in newest_first.enumerate() {
            ranks[way as usize] = fit(rank);
        }
        Self::Ranks { ranks: Table::new(ranks, sets as usize), ways }
    }

    /// Prefetches the order of `set` into the host's cache.
    #[inline]
    pub(super) fn prefetch(&self, set: SetIndex) {
        match self {
            Self::List { lists, .. } => lists.prefetch(set.0 as usize),
            Self::Ranks { ranks, .. } => ranks.prefetch(set.0 as usize),
        }
    }

    /// Makes `way` the newest. (Always inlined: a call would take as long as the work.)
    #[inline(always)]
    pub(super) fn renew(&mut self, set: SetIndex, way: u32) {
        match self {
            Self::List { lists, .. } => {
                let list = &mut lists[set.0 as usize];
                *list = moved_to_front(*list, way);
            }
            Self::Ranks { ranks, .. } => make_newest(&mut ranks[set.0 as usize], way),
        }
    }

    /// The oldest way.
    #[inline]
    pub(super) fn oldest_of_all(&self, set: SetIndex) -> u32 {
        match self {
            Self::List { lists, ways } => digit(lists[set.0 as usize], ways - 1),
            Self::Ranks { ranks, ways } => {
                highest_rank(&ranks[set.0 as usize], u32::MAX >> (32 - ways))
            }
        }
    }

    /// Makes the oldest way the newest; returns it.
    #[inline]
    pub(super) fn renew_oldest(&mut self, set: SetIndex) -> u32 {
        let oldest = self.oldest_of_all(set);
        match self {
            Self::List { lists, ways } => {
                let list = &mut lists[set.0 as usize];
                let all_ways = u64::MAX >> (64 - 4 * *ways);
                let shifted = *list << 4 | u64::from(oldest);
                *list ^= (*list ^ shifted) & all_ways;
            }
            Self::Ranks { ranks, .. } => make_newest(&mut ranks[set.0 as usize], oldest),
        }
        oldest
    }

    /// Makes the oldest way of `within` the newest; returns it.
    #[inline(always)]
    pub(super) fn renew_oldest_of(&mut self, set: SetIndex, within: WayMask) -> u32 {
        match self {
            Self::List { lists, ways } => {
                let list = &mut lists[set.0 as usize];
                let place = last_place(*list, *ways, within.0);
                let oldest = digit_at(*list, place);
                *list = renewed(*list, oldest, place);
                oldest
            }
            Self::Ranks { ranks, .. } => {
                let ranks = &mut ranks[set.0 as usize];
                let oldest = highest_rank(ranks, within.0);
                make_newest(ranks, oldest);
                oldest
            }
        }
    }

    /// The oldest way of `within`.
    #[inline(always)]
    pub(super) fn oldest(&self, set: SetIndex, within: WayMask) -> u32 {
        match self {
            Self::List { lists, ways } => {
                let list = lists[set.0 as usize];
                digit_at(list, last_place(list, *ways, within.0))
            }
            Self::Ranks { ranks, .. } => highest_rank(&ranks[set.0 as usize], within.0),
        }
    }
}

/// The digit of `list` at an index.
#[inline]
fn digit(list: u64, place: u32) -> u32 {
    low_u32(list >> (4 * place)) & 15
}

/// The highest bit of the digit of `list` that equals `way`.
#[inline]
fn place_of(list: u64, way: u32) -> u64 {
    let zero_there = list ^ (u64::from(way) * ONES);
    // The lowest digit that borrows is the zero; only higher ones may borrow wrongly.
    let borrowed = zero_there.wrapping_sub(ONES) & !zero_there & HIGH_BITS;
    borrowed & borrowed.wrapping_neg()
}

/// `list` with `way` moved to the lowest digit and the digits below it moved up by one.
#[inline]
fn moved_to_front(list: u64, way: u32) -> u64 {
    renewed(list, way, place_of(list, way))
}

/// The highest bit of the digit of the way of `within` that comes last in a list of `ways` ways.
///
/// The ways inside and outside the mask are looked up in parallel until the smaller group is done: the
/// oldest host CPUs that we build for cannot count bits quickly.
#[inline(always)]
fn last_place(list: u64, ways: u32, within: u32) -> u64 {
    let all_but_first = within & (within - 1);
    if all_but_first.is_power_of_two() {
        // Two ways, as those of devices usually are.
        let (first, second) = (within.trailing_zeros(), all_but_first.trailing_zeros());
        return place_of(list, first).max(place_of(list, second));
    }
    let all_places = HIGH_BITS >> (64 - 4 * ways);
    let (mut wanted, mut others) = (within, !within & u32::MAX >> (32 - ways));
    let (mut places, mut other_places) = (0, 0);
    while wanted != 0 && others != 0 {
        places |= place_of(list, wanted.trailing_zeros());
        other_places |= place_of(list, others.trailing_zeros());
        wanted &= wanted - 1;
        others &= others - 1;
    }
    let found = if others == 0 { all_places & !other_places } else { places };
    1 << found.ilog2()
}

/// The digit whose highest bit is `place`.
#[inline]
fn digit_at(list: u64, place: u64) -> u32 {
    low_u32(list >> (place.trailing_zeros() & !3)) & 15
}

/// `list` with `way`, whose digit has its highest bit at `place`, moved to the lowest digit and the
/// digits below it moved up by one.
#[inline]
fn renewed(list: u64, way: u32, place: u64) -> u64 {
    let up_to_place = place | (place - 1);
    let shifted = list << 4 | u64::from(way);
    list ^ (list ^ shifted) & up_to_place
}

#[inline(never)]
fn make_newest(ranks: &mut [u8; MOST_WAYS], way: u32) {
    let before = ranks[way as usize];
    for rank in ranks.iter_mut() {
        *rank += u8::from(*rank < before);
    }
    ranks[way as usize] = 0;
}

/// The way of `within` with the highest rank.
#[inline(never)]
fn highest_rank(ranks: &[u8; MOST_WAYS], within: u32) -> u32 {
    let mut left = within;
    let mut highest = 0;
    while left != 0 {
        let way = left.trailing_zeros();
        highest = highest.max(u32::from(ranks[way as usize]) << 8 | way);
        left &= left - 1;
    }
    highest & 0xFF
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SET: SetIndex = SetIndex(0);

    /// The way of `within` whose digit comes last, digit by digit.
    fn last_by_digits(list: u64, ways: u32, within: u32) -> Option<u32> {
        (0..ways).map(|place| digit(list, place)).rfind(|way| within >> way & 1 == 1)
    }

    proptest! {
        #[test]
        fn the_last_of_a_mask_is_that_of_the_digits_and_renewing_it_is_renewing_a_way(
            ways in 1u32..=16,
            uses in prop::collection::vec((0u32..16, 1u32..=u32::MAX), 1..100),
        ) {
            let (mut at_once, mut in_steps) = (UseOrder::new(1, ways), UseOrder::new(1, ways));
            for (used, mask) in uses {
                at_once.renew(SET, used % ways);
                in_steps.renew(SET, used % ways);
                let within = match mask & (u32::MAX >> (32 - ways)) {
                    0 => 1,
                    within => within,
                };
                let UseOrder::List { lists, .. } = &in_steps else { unreachable!() };
                let last = last_by_digits(lists[0], ways, within);
                let renewed = at_once.renew_oldest_of(SET, WayMask(within));
                prop_assert_eq!(Some(renewed), last);
                prop_assert_eq!(in_steps.oldest(SET, WayMask(within)), renewed);
                in_steps.renew(SET, renewed);
                let UseOrder::List { lists, .. } = &in_steps else { unreachable!() };
                let UseOrder::List { lists: others, .. } = &at_once else { unreachable!() };
                prop_assert_eq!(lists[0], others[0]);
            }
        }

        #[test]
        fn renewing_the_oldest_is_finding_it_and_renewing_it(
            ways in 1u32..=32,
            uses in prop::collection::vec(prop::option::of(0u32..32), 1..200),
        ) {
            let all_ways = WayMask(u32::MAX >> (32 - ways));
            let (mut at_once, mut in_steps) = (UseOrder::new(1, ways), UseOrder::new(1, ways));
            for used in uses {
                prop_assert_eq!(at_once.oldest_of_all(SET), in_steps.oldest(SET, all_ways));
                if let Some(way) = used {
                    at_once.renew(SET, way % ways);
                    in_steps.renew(SET, way % ways);
                } else {
                    let oldest = in_steps.oldest(SET, all_ways);
                    in_steps.renew(SET, oldest);
                    prop_assert_eq!(at_once.renew_oldest(SET), oldest);
                }
            }
        }
    }
}
