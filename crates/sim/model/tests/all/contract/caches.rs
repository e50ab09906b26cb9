//! Caches: L1, L2, the LLC under each inclusion policy, the snoop filter; under every replacement.

use address_map::{AddressMap, SetFunction, SliceFunction};
use model::attribution::Owner;
use model::llc::inclusion::InclusiveMove;
use model::llc::{Directory, Inclusion, LineInfo, Llc, LlcConfig, Sharers};
use model::private_caches::{MesiState, PrivateCache, PrivateCacheConfig};
use model::replacement::Replacement;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;
use units::{LineAddr, SetIndex, SocketCore, WayMask};

const SETS: u32 = 4;
const LINES: u64 = 64;
const STEPS: u32 = 3_000;
const POLICIES: [Replacement; 3] = [Replacement::Lru, Replacement::Nru, Replacement::Random];

/// The interface that all caches share.
trait Cache {
    fn ways(&self) -> u32;
    /// Fills a line, or uses it if it is present; returns the victim.
    fn put(&mut self, line: LineAddr) -> Option<LineAddr>;
    fn take(&mut self, line: LineAddr);
    fn has(&self, line: LineAddr) -> bool;
    fn lines(&self) -> Vec<LineAddr>;
}

struct Private {
    cache: PrivateCache,
    ways: u32,
}

impl Private {
    fn new(ways: u32, replacement: Replacement) -> Self {
        let config = PrivateCacheConfig { sets: SETS, ways, replacement };
        Self { cache: PrivateCache::new(config, 7), ways }
    }
}

impl Cache for Private {
    fn ways(&self) -> u32 {
        self.ways
    }

    fn put(&mut self, line: LineAddr) -> Option<LineAddr> {
        if self.cache.access(line, false).is_some() {
            return None;
        }
        self.cache.fill(line, MesiState::Exclusive).map(|(victim, _)| victim)
    }

    fn take(&mut self, line: LineAddr) {
        self.cache.invalidate(line);
    }

    fn has(&self, line: LineAddr) -> bool {
        self.cache.state(line).is_some()
    }

    fn lines(&self) -> Vec<LineAddr> {
        self.cache.lines().map(|(line, _)| line).collect()
    }
}

const LLC_WAYS: u32 = 6;

struct Shared {
    llc: Llc,
    within: WayMask,
}

impl Shared {
    fn new(inclusion: Inclusion, replacement: Replacement) -> Self {
        let map = AddressMap::new(1, SETS, SliceFunction::Mixing, SetFunction::Plain);
        let config =
            LlcConfig { map, ways: LLC_WAYS, inclusion, replacement, device_reads_refresh: true };
        Self { llc: Llc::new(&config, 3, 7), within: WayMask::bottom(LLC_WAYS) }
    }

    fn info(owner: u8) -> LineInfo {
        LineInfo { owner: Owner(owner), dirty: owner == 1, consumed: false }
    }
}

impl Cache for Shared {
    fn ways(&self) -> u32 {
        LLC_WAYS
    }

    fn put(&mut self, line: LineAddr) -> Option<LineAddr> {
        let info = Self::info((line.0 % 3) as u8);
        let set = self.llc.set_of(line);
        match self.llc.find(set, line) {
            Some(way) => {
                self.llc.update(set, way, info);
                None
            }
            None => self.llc.allocate(set, line, info, self.within).1.map(|evicted| evicted.line),
        }
    }

    fn take(&mut self, line: LineAddr) {
        let set = self.llc.set_of(line);
        if let Some(way) = self.llc.find(set, line) {
            self.llc.take(set, way);
        }
    }

    fn has(&self, line: LineAddr) -> bool {
        self.llc.find(self.llc.set_of(line), line).is_some()
    }

    fn lines(&self) -> Vec<LineAddr> {
        self.llc.lines().collect()
    }
}

const FILTER_WAYS: u32 = 3;

struct Filter(Directory);

impl Filter {
    fn new(replacement: Replacement) -> Self {
        Self(Directory::new(SETS, FILTER_WAYS, replacement, 7))
    }

    fn set(line: LineAddr) -> SetIndex {
        SetIndex((line.0 % u64::from(SETS)) as u32)
    }
}

impl Cache for Filter {
    fn ways(&self) -> u32 {
        FILTER_WAYS
    }

    fn put(&mut self, line: LineAddr) -> Option<LineAddr> {
        // Lines of several cores are stored in another way than those of one.
        let one = Sharers::of(SocketCore((line.0 % 7) as u8));
        let holders = if line.0.is_multiple_of(2) { one } else { one.with(SocketCore(9)) };
        self.0.record(Self::set(line), line, holders).map(|(victim, _)| victim)
    }

    fn take(&mut self, line: LineAddr) {
        self.0.record(Self::set(line), line, Sharers::NONE);
    }

    fn has(&self, line: LineAddr) -> bool {
        !self.0.sharers(Self::set(line), line).is_empty()
    }

    fn lines(&self) -> Vec<LineAddr> {
        self.0.lines().collect()
    }
}

/// Fills and removes lines: the cache holds the lines of a plain set.
fn finds_what_was_put_until_it_is_pushed_out_or_taken(cache: &mut impl Cache) {
    let mut there = BTreeSet::new();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for _ in 0..STEPS {
        let line = LineAddr(rng.next_u64() % LINES);
        if rng.next_u64().is_multiple_of(4) {
            cache.take(line);
            there.remove(&line);
        } else {
            let victim = cache.put(line);
            there.insert(line);
            if let Some(victim) = victim {
                assert!(victim != line && there.remove(&victim), "{victim:?} was not there");
            }
        }
        for other in (0..LINES).map(LineAddr) {
            assert_eq!(cache.has(other), there.contains(&other), "{other:?}");
        }
        let mut lines = cache.lines();
        lines.sort_unstable();
        assert_eq!(lines, there.iter().copied().collect::<Vec<_>>());
    }
}

fn holds_as_many_lines_of_a_set_as_it_has_ways(cache: &mut impl Cache) {
    let ways = u64::from(cache.ways());
    let of_a_set = |i: u64| LineAddr(i * u64::from(SETS));
    for i in 0..ways {
        assert_eq!(cache.put(of_a_set(i)), None, "there is room for line {i}");
    }
    for i in ways..4 * ways {
        assert!(cache.put(of_a_set(i)).is_some(), "there is no room for line {i}");
        assert_eq!(cache.lines().len() as u64, ways);
    }
}

fn fills_an_empty_place_before_it_pushes_anything_out(cache: &mut impl Cache) {
    let of_a_set = |i: u64| LineAddr(i * u64::from(SETS));
    for i in 0..20 {
        cache.put(of_a_set(i));
    }
    for i in 20..60 {
        let there = cache.lines();
        let leaves = there[i as usize % there.len()];
        cache.take(leaves);
        cache.take(leaves);
        assert!(!cache.has(leaves));
        assert_eq!(cache.put(of_a_set(i)), None);
        assert_eq!(cache.lines().len(), there.len());
    }
}

fn keeps_sets_apart(cache: &mut impl Cache) {
    let sets = u64::from(SETS);
    for i in 0..u64::from(cache.ways()) {
        cache.put(LineAddr(i * sets));
    }
    let first_set = cache.lines();
    for i in 0..100 {
        cache.put(LineAddr(i * sets + 1 + i % (sets - 1)));
    }
    assert!(first_set.iter().all(|&line| cache.has(line)));
}

fn does_the_same_again(cache: &mut impl Cache, again: &mut impl Cache) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    for _ in 0..STEPS {
        let line = LineAddr(rng.next_u64() % LINES);
        assert_eq!(cache.put(line), again.put(line));
    }
}

macro_rules! caches {
    ($($name:ident: $empty:expr;)+) => { $(
        mod $name {
            use super::*;

            #[test]
            fn what_was_put_is_found_until_it_is_pushed_out_or_taken() {
                for policy in POLICIES {
                    finds_what_was_put_until_it_is_pushed_out_or_taken(&mut $empty(policy));
                }
            }

            #[test]
            fn a_set_holds_as_many_lines_as_there_are_ways() {
                for policy in POLICIES {
                    holds_as_many_lines_of_a_set_as_it_has_ways(&mut $empty(policy));
                }
            }

            #[test]
            fn an_empty_place_is_filled_before_anything_leaves() {
                for policy in POLICIES {
                    fills_an_empty_place_before_it_pushes_anything_out(&mut $empty(policy));
                }
            }

            #[test]
            fn lines_of_other_sets_push_nothing_out() {
                for policy in POLICIES {
                    keeps_sets_apart(&mut $empty(policy));
                }
            }

            #[test]
            fn equal_seeds_choose_equal_victims() {
                for policy in POLICIES {
                    does_the_same_again(&mut $empty(policy), &mut $empty(policy));
                }
            }
        }
    )+ };
}

const NON_INCLUSIVE: Inclusion =
    Inclusion::NonInclusive { inclusive_ways: 2, moved_by: InclusiveMove::CoreAccess };

caches! {
    l1: |policy| Private::new(2, policy);
    l2: |policy| Private::new(5, policy);
    inclusive_llc: |policy| Shared::new(Inclusion::Inclusive, policy);
    non_inclusive_llc: |policy| Shared::new(NON_INCLUSIVE, policy);
    exclusive_victim_llc: |policy| Shared::new(Inclusion::ExclusiveVictim, policy);
    independent_llc: |policy| Shared::new(Inclusion::Nine, policy);
    snoop_filter: Filter::new;
}

fn every_llc(test: impl Fn(Inclusion, Replacement)) {
    let inclusions =
        [Inclusion::Inclusive, NON_INCLUSIVE, Inclusion::ExclusiveVictim, Inclusion::Nine];
    for inclusion in inclusions {
        POLICIES.into_iter().for_each(|policy| test(inclusion, policy));
    }
}

#[test]
fn an_allocation_in_any_llc_stays_in_its_mask_and_is_found_in_every_way() {
    every_llc(|inclusion, policy| {
        let mut shared = Shared::new(inclusion, policy);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        for _ in 0..STEPS {
            let line = LineAddr(rng.next_u64() % LINES);
            let set = shared.llc.set_of(line);
            shared.within = WayMask(1 + (rng.next_u64() % 63) as u32);
            let was = shared.llc.find(set, line);
            shared.put(line);
            let way = shared.llc.find(set, line).expect("it was just put");
            match was {
                Some(was) => assert_eq!(way, was),
                None => assert!(shared.within.0 >> way & 1 == 1, "{way}, {:?}", shared.within),
            }
        }
    });
}

#[test]
fn a_tracked_way_of_any_llc_forgets_its_cores_with_its_line() {
    every_llc(|inclusion, policy| {
        let mut llc = Shared::new(inclusion, policy).llc;
        let set = SetIndex(0);
        for way in 0..LLC_WAYS {
            let line = LineAddr(u64::from(way * SETS));
            llc.allocate(set, line, Shared::info(0), WayMask(1 << way));
            let tracked = way < inclusion.tracked_ways(LLC_WAYS);
            assert_eq!(llc.is_tracked_way(way), tracked);
            let cores = if tracked {
                Sharers::of(SocketCore(3)).with(SocketCore(5))
            } else {
                Sharers::NONE
            };
            if tracked {
                llc.set_sharers(set, way, cores);
            }
            assert_eq!(llc.sharers(set, way), cores);
            let next = LineAddr(u64::from((LLC_WAYS + way) * SETS));
            let (_, evicted) = llc.allocate(set, next, Shared::info(1), WayMask(1 << way));
            assert_eq!(evicted.map(|evicted| evicted.sharers), Some(cores));
            assert_eq!(llc.sharers(set, way), Sharers::NONE);
        }
    });
}

#[test]
fn every_line_of_any_llc_belongs_to_one_owner() {
    every_llc(|inclusion, policy| {
        let mut shared = Shared::new(inclusion, policy);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        for _ in 0..STEPS {
            let line = LineAddr(rng.next_u64() % LINES);
            match rng.next_u64() % 4 {
                0 => shared.take(line),
                _ => drop(shared.put(line)),
            }
            let mut bytes = [0; 3];
            for line in shared.lines() {
                let set = shared.llc.set_of(line);
                let way = shared.llc.find(set, line).expect("it is there");
                bytes[usize::from(shared.llc.info(set, way).owner.0)] += 64;
            }
            assert_eq!(shared.llc.occupancy_bytes().collect::<Vec<_>>(), bytes);
        }
    });
}
