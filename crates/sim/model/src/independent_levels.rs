//! The caches of one core without time: independent levels, each of which serves a whole batch.
//!
//! Models: L1D, L2 and LLC that are filled on their own misses, with LRU or FIFO sets and write-back: a
//! level sees only the misses and modified victims of the level above, in order.
//! Source: the rules of [`crate::fabric`] under [`crate::llc::Inclusion::Nine`],
//! which has a clock.
//! Simplifies: there is no time and no memory. Machines in which a level acts on another (inclusion,
//! directories, prefetchers, an L1I beside L1D) or whose policies draw random numbers need the fabric.
//!
//! Because no level acts on the one above, a batch of requests passes one level completely before the
//! next: the loop over a level is small, its sets stay in the host's caches, and its output is the
//! requests to the next level, in order. Different threads may therefore serve the levels. Counts are
//! differences of these streams: a request that reaches a level and not the next has hit. A batch keeps
//! references whole.

use crate::fabric::FabricConfig;
use crate::private_caches::{PrefetcherConfig, PrivateCacheConfig};
use crate::replacement::Replacement;
use address_map::{AddressMap, SetFunction};
use tag_array::{EvictionOrder, Places, RecencySets, WriteBackCounts};
use units::{LineAddr, WayMask};

pub use tag_array::Request;

/// Number of levels: L1D, L2, LLC.
pub const LEVELS: usize = 3;

/// Requests that reached a level from above; those of the last level reach memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelArrivals {
    /// Requested lines of references: loads, stores.
    pub lines: [u64; 2],
    /// References that request at least one line: loads, stores.
    pub references: [u64; 2],
    /// Number of lines that a level fetches because a write-back from above missed it.
    pub for_victims: u64,
    /// Number of modified lines written back.
    pub written_back: u64,
}

impl LevelArrivals {
    /// Lines to be fetched, for any reason.
    #[must_use]
    pub fn fetches(&self) -> u64 {
        self.lines[0] + self.lines[1] + self.for_victims
    }

    fn note(&mut self, asked: &LevelRequests) {
        let reads = asked.reads.len() as u64;
        self.lines[0] += reads;
        self.references[0] += reads;
        for request in &asked.requests {
            let store = usize::from(request.is_store());
            let of_reference = !request.writes_back() && !request.is_for_victim();
            self.lines[store] += u64::from(of_reference);
            self.references[store] += u64::from(request.is_head());
            self.for_victims += u64::from(request.is_for_victim());
            self.written_back += u64::from(request.writes_back());
        }
    }
}

/// The input of a level: reads, then requests. A level whose input has a request sends the next level
/// no more reads.
#[derive(Clone, Debug, Default)]
pub struct LevelRequests {
    /// Lines of read references with one line each. Numbers are below [`RecencySets::NO_LINE`].
    pub reads: Vec<u32>,
    /// Lines with their operations. All lines of a reference are in the same list.
    pub requests: Vec<Request>,
}

impl LevelRequests {
    /// Number of requested lines.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.reads.len() + self.requests.len()
    }

    /// Empties both lists but keeps their allocations.
    pub fn clear(&mut self) {
        self.reads.clear();
        self.requests.clear();
    }
}

/// One level, and the requests that reached it.
#[derive(Clone, Debug)]
pub struct Level {
    sets: RecencySets,
    /// The address map, where sets are not the low bits of the line.
    map: Option<AddressMap>,
    places: Vec<u32>,
    arrived: LevelArrivals,
    victims_missed: u64,
}

impl Level {
    fn private(config: PrivateCacheConfig) -> Option<Self> {
        assert!(config.sets.is_power_of_two());
        Self::new(config.sets, config.ways, config.replacement, None)
    }

    fn new(sets: u32, ways: u32, policy: Replacement, map: Option<AddressMap>) -> Option<Self> {
        let leaves = match policy {
            Replacement::Lru => EvictionOrder::LeastRecentlyUsed,
            Replacement::Fifo => EvictionOrder::FirstIn,
            _ => return None,
        };
        let sets = RecencySets::new(sets, ways, leaves);
        let arrived = LevelArrivals::default();
        Some(Self { sets, map, places: Vec::new(), arrived, victims_missed: 0 })
    }

    /// Serves the requests of `asked`, and appends the resulting requests to the next level to `below`.
    pub fn serve(&mut self, asked: &LevelRequests, below: &mut LevelRequests) {
        self.arrived.note(asked);
        if !asked.reads.is_empty() {
            self.reads(&asked.reads, below);
        }
        if !asked.requests.is_empty() {
            self.requests(&asked.requests, &mut below.requests);
        }
    }

    fn reads(&mut self, lines: &[u32], below: &mut LevelRequests) {
        if self.sets.tells_victims() {
            let request = |&line: &u32| Request::reference(line, true, false, false);
            let requests: Vec<Request> = lines.iter().map(request).collect();
            return self.requests(&requests, &mut below.requests);
        }
        let places = places(&mut self.places, self.map.as_ref(), lines.iter().copied());
        self.sets.read(lines, places, &mut below.reads);
    }

    fn requests(&mut self, requests: &[Request], below: &mut Vec<Request>) {
        let lines = requests.iter().map(|request| request.line());
        let places = places(&mut self.places, self.map.as_ref(), lines);
        let WriteBackCounts { victims_missed, .. } = self.sets.serve(requests, places, below);
        self.victims_missed += victims_missed;
    }
}

fn places<'a>(
    listed: &'a mut Vec<u32>,
    map: Option<&AddressMap>,
    lines: impl Iterator<Item = u32>,
) -> Places<'a> {
    let Some(map) = map else { return Places::LowBits };
    listed.clear();
    listed.extend(lines.map(|line| map.set_of(LineAddr(u64::from(line))).0));
    Places::Listed(listed)
}

/// L2 and LLC, and memory behind them.
#[derive(Clone, Debug)]
pub struct BeyondL1 {
    levels: [Level; LEVELS - 1],
    memory: LevelArrivals,
    between: [LevelRequests; LEVELS - 1],
}

impl BeyondL1 {
    /// Serves the requests of L1.
    pub fn serve(&mut self, asked: &LevelRequests) {
        let [l2, llc] = &mut self.levels;
        let [of_llc, of_memory] = &mut self.between;
        l2.serve(asked, of_llc);
        llc.serve(of_llc, of_memory);
        self.memory.note(of_memory);
        of_llc.clear();
        of_memory.clear();
    }
}

/// The levels of one core. The server of L1 passes its requests to [`BeyondL1`], in order.
#[derive(Clone, Debug)]
pub struct IndependentLevels {
    /// The first level.
    pub l1: Level,
    /// All other levels.
    pub beyond_l1: BeyondL1,
}

impl IndependentLevels {
    /// The caches of a machine, if this file models them.
    #[must_use]
    pub fn from_config(config: &FabricConfig) -> Option<Self> {
        let llc = &config.socket.llc;
        let acts_on_others = !llc.inclusion.levels_are_independent()
            || config.socket.directory.is_some()
            || config.private.prefetcher != PrefetcherConfig::default()
            || config.private.l1i.is_some();
        let others_act = config.cores != [1] || !config.ports.is_empty();
        let masked = config.core_way_masks != [WayMask::bottom(llc.ways)];
        if acts_on_others || others_act || masked {
            return None;
        }
        let sets = llc.map.total_sets();
        let map = (!is_low_bits(&llc.map)).then(|| llc.map.clone());
        let levels =
            [Level::private(config.private.l2)?, Level::new(sets, llc.ways, llc.replacement, map)?];
        let (memory, between) = (LevelArrivals::default(), Default::default());
        let l1 = Level::private(config.private.l1)?;
        Some(Self { l1, beyond_l1: BeyondL1 { levels, memory, between } })
    }

    /// Requests that reached a level, from 0 for L1D to [`LEVELS`] for memory.
    ///
    /// # Panics
    /// If there is no such level.
    #[must_use]
    pub fn arrived(&self, level: usize) -> &LevelArrivals {
        if level == LEVELS { &self.beyond_l1.memory } else { &self.level(level).arrived }
    }

    /// Write-backs to a level that missed it.
    ///
    /// # Panics
    /// If there is no such level.
    #[must_use]
    pub fn victims_missed(&self, level: usize) -> u64 {
        self.level(level).victims_missed
    }

    fn level(&self, level: usize) -> &Level {
        if level == 0 { &self.l1 } else { &self.beyond_l1.levels[level - 1] }
    }
}

/// Whether a set is the low bits of the line, as in a plain cache of one slice.
fn is_low_bits(map: &AddressMap) -> bool {
    map.slices() == 1 && map.set_function() == SetFunction::Plain
}
