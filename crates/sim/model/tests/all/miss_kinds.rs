//! Kinds of misses: textbook sequences, and random ones against plain lists.

use model::attribution::AgentId;
use model::miss_kinds::{AccessCounts, MissKind, MissKinds};
use proptest::prelude::*;
use std::collections::BTreeSet;
use units::LineAddr;

const CORE: AgentId = AgentId(0);
const NIC: AgentId = AgentId(1);

/// A set-associative LRU cache with plain lists, the oldest line first; one set is an LRU cache.
struct Cache {
    ways: usize,
    sets: Vec<Vec<u64>>,
}

impl Cache {
    fn new(sets: usize, ways: usize) -> Self {
        Self { ways, sets: vec![Vec::new(); sets] }
    }

    fn access(&mut self, line: u64, allocates: bool) -> bool {
        let count = self.sets.len() as u64;
        let set = &mut self.sets[(line % count) as usize];
        let at = set.iter().position(|&other| other == line);
        if let Some(at) = at {
            set.remove(at);
        }
        if at.is_some() || allocates {
            set.push(line);
        }
        if set.len() > self.ways {
            set.remove(0);
        }
        at.is_some()
    }

    fn invalidate(&mut self, line: u64) {
        self.sets.iter_mut().for_each(|set| set.retain(|&other| other != line));
    }
}

/// Counts for lines that pass through a cache of `sets` x `ways`.
fn kinds_of(sets: usize, ways: usize, lines: &[u64]) -> AccessCounts {
    let mut cache = Cache::new(sets, ways);
    let mut kinds = MissKinds::new((sets * ways) as u32);
    for &line in lines {
        let hit = cache.access(line, true);
        assert_eq!(kinds.access(CORE, LineAddr(line), hit).is_none(), hit);
    }
    *kinds.counts(CORE)
}

fn misses(counts: &AccessCounts) -> [u64; 3] {
    [MissKind::Compulsory, MissKind::Capacity, MissKind::Conflict].map(|kind| counts.misses(kind))
}

/// Blocks 0, 8, 0, 6, 8 in a cache of four, as in Patterson and Hennessy: 5, 4 and 3 misses.
#[test]
fn the_textbook_s_five_accesses_miss_for_the_textbook_s_reasons() {
    let accesses = [0, 8, 0, 6, 8];
    assert_eq!(misses(&kinds_of(4, 1, &accesses)), [3, 0, 2]);
    assert_eq!(misses(&kinds_of(2, 2, &accesses)), [3, 0, 1]);
    assert_eq!(misses(&kinds_of(1, 4, &accesses)), [3, 0, 0]);
}

#[test]
fn a_loop_longer_than_the_cache_misses_for_want_of_capacity() {
    let lines: Vec<u64> = (0..10).flat_map(|_| 0..5).collect();
    let counts = kinds_of(1, 4, &lines);
    assert_eq!(misses(&counts), [5, 45, 0]);
    assert_eq!(counts.hits, 0);
}

#[test]
fn a_direct_mapped_cache_keeps_part_of_a_loop_that_lru_loses() {
    // Lines 0 and 4 of five compete for a set, lines 1 to 3 stay: LRU over the whole cache would miss
    // all.
    let lines: Vec<u64> = (0..10).flat_map(|_| 0..5).collect();
    let counts = kinds_of(4, 1, &lines);
    assert_eq!(misses(&counts), [5, 18, 0]);
    assert_eq!((counts.hits, counts.anti_conflict_hits), (27, 27));
    assert_eq!(counts.fully_associative_misses(), 50);
}

#[test]
fn lines_of_one_set_conflict_while_the_rest_of_the_cache_is_empty() {
    let lines: Vec<u64> = (0..10).flat_map(|_| [0, 64]).collect();
    assert_eq!(misses(&kinds_of(64, 1, &lines)), [2, 0, 18]);
}

#[test]
fn agents_are_counted_apart_and_share_the_cache() {
    let mut kinds = MissKinds::new(4);
    assert_eq!(kinds.access(NIC, LineAddr(7), false), Some(MissKind::Compulsory));
    assert_eq!(kinds.access(CORE, LineAddr(7), true), None);
    assert_eq!(kinds.access(CORE, LineAddr(7), false), Some(MissKind::Conflict));
    assert_eq!(misses(kinds.counts(NIC)), [1, 0, 0]);
    assert_eq!((kinds.counts(CORE).hits, misses(kinds.counts(CORE))), (1, [0, 0, 1]));
    kinds.clear();
    assert_eq!(*kinds.counts(CORE), AccessCounts::default());
    assert_eq!(kinds.access(CORE, LineAddr(7), true), None);
    assert_eq!(kinds.counts(CORE).anti_conflict_hits, 0, "the line is still known");
}

#[test]
fn an_invalidated_line_is_missed_for_that_reason_once() {
    let mut kinds = MissKinds::new(2);
    kinds.invalidate(LineAddr(1));
    assert_eq!(kinds.access(CORE, LineAddr(1), false), Some(MissKind::Compulsory));
    kinds.access(CORE, LineAddr(2), false);
    kinds.invalidate(LineAddr(2));
    // Its slot is free: line 3 evicts no line.
    kinds.access(CORE, LineAddr(3), false);
    assert_eq!(kinds.access(CORE, LineAddr(1), false), Some(MissKind::Conflict));
    assert_eq!(kinds.access(CORE, LineAddr(2), false), Some(MissKind::Invalidated));
    assert_eq!(kinds.access(CORE, LineAddr(2), false), Some(MissKind::Conflict));
}

#[test]
fn an_access_that_passes_by_brings_nothing_in() {
    let mut kinds = MissKinds::new(2);
    kinds.access(CORE, LineAddr(1), false);
    kinds.access(CORE, LineAddr(2), false);
    assert_eq!(kinds.pass_by(NIC, LineAddr(9), false), Some(MissKind::Compulsory));
    assert_eq!(kinds.access(CORE, LineAddr(1), false), Some(MissKind::Conflict));
    assert_eq!(kinds.pass_by(NIC, LineAddr(9), false), Some(MissKind::Capacity));
    // A hit counts as a use: line 2 is now younger than line 1.
    assert_eq!(kinds.pass_by(NIC, LineAddr(2), true), None);
    kinds.access(CORE, LineAddr(3), false);
    assert_eq!(kinds.access(CORE, LineAddr(1), false), Some(MissKind::Capacity));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Access { agent: u8, line: u64, allocates: bool },
    Invalidate(u64),
}

/// Lines in two distant regions, so that several pages of the table are used.
fn step() -> impl Strategy<Value = Step> {
    let line = prop_oneof![0u64..40, 4_294_967_200u64..4_294_967_210];
    prop_oneof![
        8 => (0u8..3, line.clone(), prop::bool::weighted(0.8))
            .prop_map(|(agent, line, allocates)| Step::Access { agent, line, allocates }),
        1 => line.prop_map(Step::Invalidate),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(soak::amount(500, 10_000)))]
    #[test]
    fn kinds_are_those_of_a_plain_list_and_the_sums_balance(
        sets in 1usize..6,
        ways in 1usize..6,
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let mut kinds = MissKinds::new((sets * ways) as u32);
        let (mut cache, mut whole) = (Cache::new(sets, ways), Cache::new(1, sets * ways));
        let (mut seen, mut invalidated) = (BTreeSet::new(), BTreeSet::<u64>::new());
        let (mut accesses, mut whole_misses) = (0, 0);
        for step in steps {
            let (agent, line, allocates) = match step {
                Step::Access { agent, line, allocates } => (agent, line, allocates),
                Step::Invalidate(line) => {
                    kinds.invalidate(LineAddr(line));
                    cache.invalidate(line);
                    whole.invalidate(line);
                    invalidated.extend(seen.get(&line));
                    continue;
                }
            };
            let (hit, whole_hit) = (cache.access(line, allocates), whole.access(line, allocates));
            let expected = match (hit, whole_hit) {
                (true, _) => None,
                (false, true) => Some(MissKind::Conflict),
                (false, false) if !seen.contains(&line) => Some(MissKind::Compulsory),
                (false, false) if invalidated.contains(&line) => Some(MissKind::Invalidated),
                (false, false) => Some(MissKind::Capacity),
            };
            seen.insert(line);
            invalidated.remove(&line);
            let (agent, line) = (AgentId(agent), LineAddr(line));
            let kind = if allocates { kinds.access(agent, line, hit) } else { kinds.pass_by(agent, line, hit) };
            prop_assert_eq!(kind, expected);
            accesses += 1;
            whole_misses += u64::from(!whole_hit);
        }
        let counts: Vec<AccessCounts> = (0..3).map(|agent| *kinds.counts(AgentId(agent))).collect();
        let sum = |part: fn(&AccessCounts) -> u64| counts.iter().map(part).sum::<u64>();
        prop_assert_eq!(sum(|c| c.hits) + sum(AccessCounts::all_misses), accesses);
        prop_assert_eq!(sum(AccessCounts::fully_associative_misses), whole_misses);
    }
}
