//! Is a set index recovered by eviction tests right, or refused?

use crate::emulated::pages;
use address_map::{AddressMap, SetFunction, SliceFunction};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slices::SliceMap;
use slices::published;
use slices::recovery::{HugePage, HugePageSize};
use slices::set_index::{
    EvictionAnswer, EvictionOracle, PlainSetIndex, SetIndexError, SetIndexPlan, recover,
};
use std::convert::Infallible;
use units::LineAddr;

const WAYS: u32 = 11;
/// Pages of 2 MiB, enough for three times the ways of lines at an offset in each of 28 slices.
const PAGES: usize = 2048;

/// A cache whose sets `set_of` gives, slice included: as many lines of a set as it has ways evict another.
struct Part<S> {
    set_of: S,
    /// Share of answers that are wrong, and of those that are unclear.
    wrong: f64,
    unclear: f64,
    numbers: Xoshiro256PlusPlus,
}

impl<S: Fn(u64) -> u64> EvictionOracle for Part<S> {
    type Error = Infallible;

    fn evicts(&mut self, target: u64, lines: &[u64]) -> Result<EvictionAnswer, Infallible> {
        let mut draw = || f64::from(self.numbers.next_u32()) / f64::from(u32::MAX);
        if draw() < self.unclear {
            return Ok(EvictionAnswer::Unclear);
        }
        let set = (self.set_of)(target);
        let alike = lines.iter().filter(|line| (self.set_of)(**line) == set).count();
        let evicted = (alike >= WAYS as usize) != (draw() < self.wrong);
        Ok(if evicted { EvictionAnswer::Evicted } else { EvictionAnswer::Kept })
    }
}

fn part<S: Fn(u64) -> u64>(set_of: S, wrong: f64, unclear: f64) -> Part<S> {
    Part { set_of, wrong, unclear, numbers: Xoshiro256PlusPlus::seed_from_u64(7) }
}

fn plan(sets_per_slice: u32, seed: u64) -> SetIndexPlan {
    SetIndexPlan { ways: WAYS, sets_per_slice, seed }
}

fn some_pages(seed: u64) -> Vec<HugePage> {
    pages(PAGES, HugePageSize::TwoMiB, 35, seed)
}

fn map(name: &str) -> SliceMap {
    published::named(name).expect("is listed").map()
}

/// A part with a published slice function and a set function of the simulator.
fn sets(name: &str, sets: u32, function: SetFunction) -> impl Fn(u64) -> u64 + use<> {
    let published = published::named(name).expect("is listed");
    let slices = SliceFunction::BaseSequence(published.sequence());
    let map = AddressMap::new(published.slices, sets, slices, function);
    move |address| u64::from(map.set_of(LineAddr::of_byte(address)).0)
}

#[test]
fn a_plain_index_is_recovered_on_every_published_part() {
    for (seed, one) in (0..).zip(published::all()) {
        for (count, highest_bit) in [(1024, 15), (2048, 16)] {
            let mut oracle = part(sets(one.name, count, SetFunction::Plain), 0.0, 0.0);
            // Parts with many slices need more pages for as many lines of one.
            let pages = pages(2 * PAGES, HugePageSize::TwoMiB, 36, seed);
            let found = recover(&mut oracle, &one.map(), &pages, plan(count, seed));
            let found = found.unwrap_or_else(|error| panic!("{}: {error}", one.name));
            assert_eq!(found, PlainSetIndex { lowest_bit: 6, highest_bit }, "{}", one.name);
        }
    }
}

#[test]
fn a_hashed_index_is_refused() {
    for function in [SetFunction::Hashed, SetFunction::Ranked] {
        let mut oracle = part(sets("skx-18", 2048, function), 0.0, 0.0);
        let refused = recover(&mut oracle, &map("skx-18"), &some_pages(3), plan(2048, 3));
        assert!(matches!(refused, Err(SetIndexError::PageBits)), "{function:?}: {refused:?}");
    }
}

/// Hashes of few bits, some of which look plain to a test of page bits alone.
#[test]
fn an_index_with_a_few_hashed_bits_is_refused() {
    let plain = sets("skx-18", 2048, SetFunction::Plain);
    let bit = |address: u64, number: u32| address >> number & 1;
    let hashes: [(&str, &dyn Fn(u64) -> u64); 4] = [
        ("within the page", &|address| bit(address, 17)),
        ("of two bits of the page", &|address| bit(address, 17) ^ bit(address, 20)),
        ("with a page bit", &|address| bit(address, 21) << 10),
        ("with many page bits", &|address| u64::from((address >> 21).count_ones() & 1) << 3),
    ];
    for (name, turned) in hashes {
        let mut oracle = part(|address| plain(address) ^ turned(address), 0.0, 0.0);
        let refused = recover(&mut oracle, &map("skx-18"), &some_pages(4), plan(2048, 4));
        assert!(
            matches!(
                refused,
                Err(SetIndexError::NotPlain { .. }
                    | SetIndexError::Unclear { .. }
                    | SetIndexError::PageBits)
            ),
            "{name}: {refused:?}"
        );
    }
}

#[test]
fn answers_that_err_give_the_right_index_or_none() {
    let mut right = 0;
    for seed in 0..20 {
        let mut oracle = part(sets("skx-26", 2048, SetFunction::Plain), 0.08, 0.1);
        oracle.numbers = Xoshiro256PlusPlus::seed_from_u64(seed);
        match recover(&mut oracle, &map("skx-26"), &some_pages(seed), plan(2048, seed)) {
            Ok(found) => {
                assert_eq!(found, PlainSetIndex { lowest_bit: 6, highest_bit: 16 });
                right += 1;
            }
            Err(SetIndexError::Unclear { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(right >= 10, "{right} of 20");
    let mut noise = part(sets("skx-26", 2048, SetFunction::Plain), 0.5, 0.0);
    let refused = recover(&mut noise, &map("skx-26"), &some_pages(1), plan(2048, 1));
    assert!(refused.is_err(), "{refused:?}");
}

#[test]
fn a_table_of_another_part_is_refused() {
    let mut oracle = part(sets("skx-18", 2048, SetFunction::Plain), 0.0, 0.0);
    let refused = recover(&mut oracle, &map("skx-28"), &some_pages(5), plan(2048, 5));
    assert!(matches!(refused, Err(SetIndexError::PageBits)), "{refused:?}");
}

#[test]
fn too_few_pages_are_refused_with_how_many_lines_they_have() {
    let mut oracle = part(sets("skx-18", 2048, SetFunction::Plain), 0.0, 0.0);
    let few = pages(64, HugePageSize::TwoMiB, 35, 1);
    let refused = recover(&mut oracle, &map("skx-18"), &few, plan(2048, 1));
    assert!(matches!(refused, Err(SetIndexError::Pages { wanted: 33, .. })), "{refused:?}");
    let odd = recover(&mut oracle, &map("skx-18"), &few, plan(1536, 1));
    assert!(matches!(odd, Err(SetIndexError::Sets(1536))), "{odd:?}");
}
