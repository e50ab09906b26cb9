//! Every replacement policy against a slow reference written from its published definition: the same
//! victims over random hits, fills, searches and invalidations, with random masks.

use crate::one_set::{OneSet, policy};
use proptest::prelude::*;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A policy's state of a set, in the plainest form.
trait Reference {
    fn hit(&mut self, way: usize);
    fn fill(&mut self, way: usize);
    /// The victim among `candidates`, in ascending order, all of which hold lines.
    fn victim(&mut self, candidates: &[usize]) -> usize;
    fn invalidate(&mut self, _way: usize) {}
    fn first_empty(&self, empty: &[usize]) -> usize {
        empty[0]
    }
}

/// Ways stamped with the time at which they were last renewed.
struct Stamps {
    time: u64,
    renewed: Vec<u64>,
    by_hits: bool,
}

impl Stamps {
    fn renew(&mut self, way: usize) {
        self.time += 1;
        self.renewed[way] = self.time;
    }
}

impl Reference for Stamps {
    fn hit(&mut self, way: usize) {
        if self.by_hits {
            self.renew(way);
        }
    }

    fn fill(&mut self, way: usize) {
        self.renew(way);
    }

    fn victim(&mut self, candidates: &[usize]) -> usize {
        let mut oldest = candidates[0];
        for &way in candidates {
            if self.renewed[way] < self.renewed[oldest] {
                oldest = way;
            }
        }
        oldest
    }
}

/// A tree with ways at its leaves; leaves beyond the last way exist, but are no candidates.
enum Tree {
    Leaf(usize),
    Node { low: Box<Tree>, high: Box<Tree>, points_high: bool },
}

impl Tree {
    fn over(first: usize, leaves: usize) -> Self {
        if leaves == 1 {
            return Self::Leaf(first);
        }
        let half = leaves / 2;
        Self::Node {
            low: Box::new(Self::over(first, half)),
            high: Box::new(Self::over(first + half, half)),
            points_high: false,
        }
    }

    fn holds(&self, way: usize) -> bool {
        match self {
            Self::Leaf(leaf) => *leaf == way,
            Self::Node { low, high, .. } => low.holds(way) || high.holds(way),
        }
    }

    fn point_away(&mut self, way: usize) {
        if let Self::Node { low, high, points_high } = self {
            *points_high = low.holds(way);
            let side = if low.holds(way) { low } else { high };
            side.point_away(way);
        }
    }
}

impl Reference for Tree {
    fn hit(&mut self, way: usize) {
        self.point_away(way);
    }

    fn fill(&mut self, way: usize) {
        self.point_away(way);
    }

    fn victim(&mut self, candidates: &[usize]) -> usize {
        match self {
            Self::Leaf(way) => *way,
            Self::Node { low, high, points_high } => {
                let in_low = candidates.iter().any(|&way| low.holds(way));
                let in_high = candidates.iter().any(|&way| high.holds(way));
                let side = match (in_low, in_high) {
                    (true, false) => low,
                    (false, true) => high,
                    _ if *points_high => high,
                    _ => low,
                };
                side.victim(candidates)
            }
        }
    }
}

/// Whether each way was used in this round.
struct Rounds(Vec<bool>);

impl Reference for Rounds {
    fn hit(&mut self, way: usize) {
        self.0[way] = true;
        if self.0.iter().all(|&used| used) {
            self.0.fill(false);
            self.0[way] = true;
        }
    }

    fn fill(&mut self, way: usize) {
        self.hit(way);
    }

    fn victim(&mut self, candidates: &[usize]) -> usize {
        let unused = candidates.iter().find(|&&way| !self.0[way]);
        *unused.unwrap_or(&candidates[0])
    }
}

/// Even draws, from the generator of the simulator.
struct Draws(Xoshiro256PlusPlus);

impl Draws {
    fn of_seed(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The upper half of a word as a fraction of `end`.
    fn below(&mut self, end: u64) -> u64 {
        (self.0.next_u64() >> 32) * end / (1 << 32)
    }
}

struct AnyWay(Draws);

impl Reference for AnyWay {
    fn hit(&mut self, _way: usize) {}
    fn fill(&mut self, _way: usize) {}
    fn victim(&mut self, candidates: &[usize]) -> usize {
        candidates[self.0.below(candidates.len() as u64) as usize]
    }
}

/// RRIP with hit priority, step by step as published.
struct Intervals {
    rrpv: Vec<u32>,
    distant: u32,
    bimodal: Option<Draws>,
}

impl Reference for Intervals {
    fn hit(&mut self, way: usize) {
        self.rrpv[way] = 0;
    }

    fn fill(&mut self, way: usize) {
        let long = self.bimodal.as_mut().is_none_or(|draws| draws.below(32) == 0);
        self.rrpv[way] = if long { self.distant - 1 } else { self.distant };
    }

    fn victim(&mut self, candidates: &[usize]) -> usize {
        loop {
            for &way in candidates {
                if self.rrpv[way] == self.distant {
                    return way;
                }
            }
            for &way in candidates {
                self.rrpv[way] += 1;
            }
        }
    }
}

/// QLRU from the parameters of its name; an empty way is at age 3.
struct Quad {
    ages: Vec<u32>,
    hit_from: [u32; 4],
    insertion: u32,
    /// One block in this number gets the age of insertion, the others 3.
    one_in: Option<u64>,
    location: char,
    update: char,
    on_miss_only: bool,
    draws: Draws,
}

impl Quad {
    fn of_name(name: &str, ways: usize, seed: u64) -> Self {
        let parts: Vec<Vec<char>> = name.split('_').map(|part| part.chars().collect()).collect();
        let digit = |part: usize, at: usize| parts[part][at].to_digit(10).expect("is a digit");
        let random = parts[2][1] == 'R';
        let blocks: String = parts[2].iter().filter(|letter| letter.is_ascii_digit()).collect();
        Self {
            ages: vec![3; ways],
            hit_from: [0, 0, digit(1, 2), digit(1, 1)],
            insertion: digit(2, parts[2].len() - 1),
            one_in: random.then(|| blocks[..blocks.len() - 1].parse().expect("is a number")),
            location: parts[3][1],
            update: parts[4][1],
            on_miss_only: parts.len() == 6,
            draws: Draws::of_seed(seed),
        }
    }

    /// Ages `ways` once, except `accessed` if U1 or U3 spare it.
    fn age(&mut self, ways: &[usize], accessed: Option<usize>) {
        let spared = if "13".contains(self.update) { accessed } else { None };
        let ageing: Vec<usize> = ways.iter().copied().filter(|&way| Some(way) != spared).collect();
        let greatest = ageing.iter().map(|&way| self.ages[way]).max().unwrap_or(0);
        for way in ageing {
            self.ages[way] += if "01".contains(self.update) { 3 - greatest } else { 1 };
        }
    }

    fn after_access(&mut self, way: usize) {
        if !self.on_miss_only && !self.ages.contains(&3) {
            let all_ways: Vec<usize> = (0..self.ages.len()).collect();
            self.age(&all_ways, Some(way));
        }
    }
}

impl Reference for Quad {
    fn hit(&mut self, way: usize) {
        self.ages[way] = self.hit_from[self.ages[way] as usize];
        self.after_access(way);
    }

    fn fill(&mut self, way: usize) {
        let chosen = self.one_in.is_none_or(|blocks| self.draws.below(blocks) == 0);
        self.ages[way] = if chosen { self.insertion } else { 3 };
        self.after_access(way);
    }

    fn victim(&mut self, candidates: &[usize]) -> usize {
        let is_part = candidates.len() < self.ages.len();
        let none_is_three = candidates.iter().all(|&way| self.ages[way] != 3);
        if none_is_three && (self.on_miss_only || is_part) {
            self.age(candidates, None);
        }
        let mut wanted = 3;
        loop {
            if let Some(&way) = candidates.iter().find(|&&way| self.ages[way] == wanted) {
                return way;
            }
            if self.location == '1' {
                return candidates[0];
            }
            assert!(is_part || self.ages.len() == 1, "a full set always has a block of age 3");
            wanted -= 1;
        }
    }

    fn invalidate(&mut self, way: usize) {
        self.ages[way] = 3;
    }

    fn first_empty(&self, empty: &[usize]) -> usize {
        if self.location == '2' { empty[empty.len() - 1] } else { empty[0] }
    }
}

fn reference(name: &str, ways: usize, seed: u64) -> Box<dyn Reference> {
    let intervals = |bimodal| -> Box<dyn Reference> {
        let bits = name[5..].parse().unwrap_or(2);
        let distant = 2u32.pow(bits) - 1;
        Box::new(Intervals { rrpv: vec![distant; ways], distant, bimodal })
    };
    let stamps = |by_hits| -> Box<dyn Reference> {
        Box::new(Stamps { time: 0, renewed: vec![0; ways], by_hits })
    };
    match name {
        "lru" => stamps(true),
        "fifo" => stamps(false),
        "tree-plru" => Box::new(Tree::over(0, ways.next_power_of_two())),
        "nru" => Box::new(Rounds(vec![false; ways])),
        "random" => Box::new(AnyWay(Draws::of_seed(seed))),
        _ if name.starts_with("srrip") => intervals(None),
        _ if name.starts_with("brrip") => intervals(Some(Draws::of_seed(seed))),
        _ => Box::new(Quad::of_name(name, ways, seed)),
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A use of a line: a fill if it misses.
    Access { line: u64, mask: u32 },
    /// A search for a way that is then not filled.
    Search { mask: u32 },
    /// The line of the way is removed.
    Invalidate { way: u32 },
}

fn step() -> impl Strategy<Value = Step> {
    let mask = || prop_oneof![Just(u32::MAX), any::<u32>(), (0u32..31).prop_map(|at| 3 << at)];
    // Few lines that are hit often and many that are not.
    let line = prop_oneof![0u64..8, 0u64..48];
    prop_oneof![
        12 => (line, mask()).prop_map(|(line, mask)| Step::Access { line, mask }),
        1 => mask().prop_map(|mask| Step::Search { mask }),
        1 => (0u32..32).prop_map(|way| Step::Invalidate { way }),
    ]
}

/// The ways in `mask`, all if there is none.
fn ways_of(mask: u32, ways: usize) -> (u32, Vec<usize>) {
    let all = u32::MAX >> (32 - ways);
    let mask = if mask & all == 0 { all } else { mask & all };
    (mask, (0..ways).filter(|way| mask >> way & 1 == 1).collect())
}

fn expected_way(set: &OneSet, candidates: &[usize], reference: &mut dyn Reference) -> usize {
    let is_empty = |way: &usize| !set.is_held(*way as u32);
    let empty: Vec<usize> = candidates.iter().copied().filter(is_empty).collect();
    if empty.is_empty() { reference.victim(candidates) } else { reference.first_empty(&empty) }
}

fn agree(name: &str, ways: usize, seed: u64, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut set = OneSet::new(policy(name), ways as u32, seed);
    let mut reference = reference(name, ways, seed);
    for (i, step) in steps.iter().enumerate() {
        match *step {
            Step::Access { line, mask } => {
                if let Some(way) = set.find(line) {
                    set.hit(way);
                    reference.hit(way as usize);
                    continue;
                }
                let (mask, candidates) = ways_of(mask, ways);
                let expected = expected_way(&set, &candidates, reference.as_mut());
                let way = set.choose(mask);
                prop_assert_eq!(way as usize, expected, "{} of {} ways, step {}", name, ways, i);
                set.fill(way, line);
                reference.fill(expected);
            }
            Step::Search { mask } => {
                let (mask, candidates) = ways_of(mask, ways);
                let expected = expected_way(&set, &candidates, reference.as_mut());
                prop_assert_eq!(set.choose(mask) as usize, expected, "{}, step {}", name, i);
            }
            Step::Invalidate { way } => {
                let way = way % ways as u32;
                set.invalidate(way);
                reference.invalidate(way as usize);
            }
        }
    }
    Ok(())
}

/// Location, update and its time, in the combinations that exist.
const RULES: [&str; 12] = [
    "R0_U0",
    "R0_U1",
    "R1_U0",
    "R1_U1",
    "R1_U2",
    "R1_U3",
    "R2_U0",
    "R2_U1",
    "R0_U0_UMO",
    "R1_U0_UMO",
    "R1_U2_UMO",
    "R2_U0_UMO",
];
const INSERTIONS: [&str; 7] = ["M0", "M1", "M2", "M3", "MR20", "MR42", "MR161"];

fn qlru_name() -> impl Strategy<Value = String> {
    let (insertion, rules) = (prop::sample::select(&INSERTIONS), prop::sample::select(&RULES));
    (0..=2, 0..=1, insertion, rules).prop_map(|(three, two, insertion, rules)| {
        format!("QLRU_H{three}{two}_{insertion}_{rules}")
    })
}

const OTHER_NAMES: [&str; 11] = [
    "lru",
    "fifo",
    "tree-plru",
    "nru",
    "random",
    "srrip",
    "srrip1",
    "srrip3",
    "srrip4",
    "brrip",
    "brrip3",
];

/// Numbers of ways that real caches have, and any other.
fn ways() -> impl Strategy<Value = usize> {
    prop_oneof![prop::sample::select(&[4usize, 8, 11, 12, 15, 16, 20]), 1usize..=32]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(soak::amount(1_000, 20_000)))]
    #[test]
    fn every_policy_chooses_as_its_definition_says(
        name in prop::sample::select(&OTHER_NAMES),
        ways in ways(),
        seed: u64,
        steps in prop::collection::vec(step(), 1..400),
    ) {
        agree(name, ways, seed, &steps)?;
    }

    #[test]
    fn every_qlru_policy_chooses_as_its_definition_says(
        name in qlru_name(),
        ways in ways(),
        seed: u64,
        steps in prop::collection::vec(step(), 1..400),
    ) {
        agree(&name, ways, seed, &steps)?;
    }
}

#[test]
fn without_masks_every_qlru_set_always_has_a_victim_of_age_three_unless_r1_does_without() {
    // The reference asserts it; here its accesses may allocate everywhere, for the longest time.
    for rules in ["R0_U0", "R0_U1", "R2_U0", "R2_U1", "R0_U0_UMO", "R2_U0_UMO"] {
        for insertion in ["M0", "M1", "M2", "M3", "MR42"] {
            for hit in ["H00", "H01", "H10", "H11", "H20", "H21"] {
                let name = format!("QLRU_{hit}_{insertion}_{rules}");
                let mut draws = Draws::of_seed(1);
                let access = |_| Step::Access { line: draws.below(9), mask: u32::MAX };
                let steps: Vec<Step> = (0..2_000).map(access).collect();
                agree(&name, 6, 3, &steps).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
}
