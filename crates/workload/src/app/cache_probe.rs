//! A process that watches what I/O does to sets of the LLC: prime and probe.
//!
//! Models: eviction sets of as many lines as a set has ways; priming until a pass is fast throughout,
//! a wait, and a second pass in the opposite order whose loads are timed with the core's own clock. A
//! load nearer to a memory access than to an LLC hit counts as a detection.
//! Source: NetCAT (Kurth et al., S&P 2020); prime and probe as in Liu et al. (S&P 2015).
//! Simplifies: the lines of a set are found by the machine's own address map, not by timing, and the
//! clock has no noise. Under an inclusive LLC only: elsewhere a core's fills do not reach it.

use crate::host_memory::Region;
use model::core::Core;
use model::counters::ProbeCounts;
use model::device::queues::Queues;
use model::fabric::Fabric;
use model::software::{Account, Software, Turn};
use model::tracer::Tracer;
use std::collections::BTreeMap;
use units::{LineAddr, Picos, SetIndex, SocketId};

/// Passes after which a set counts as primed although a load was slow.
const MOST_PRIME_PASSES: u32 = 100;

/// What the probe does.
#[derive(Clone, Debug)]
pub struct CacheProbeConfig {
    /// Its socket, whose LLC it watches.
    pub socket: SocketId,
    /// Ways of that LLC.
    pub ways: usize,
    /// Sets watched at a time.
    pub watched_sets: usize,
    /// Time between priming and probing.
    pub wait: Picos,
}

/// A watched set.
#[derive(Clone, Debug)]
struct Watched {
    set: SetIndex,
    lines: Vec<LineAddr>,
    /// Devices' lines that were there when it had been primed.
    device_lines: Vec<LineAddr>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Find out how long loads from memory (pass 0) and from the caches take.
    Learn {
        set: usize,
        pass: u32,
    },
    Prime {
        set: usize,
        pass: u32,
    },
    Probe {
        set: usize,
    },
}

/// The probe on its core.
#[derive(Debug)]
pub struct CacheProbe {
    config: CacheProbeConfig,
    core: Core,
    watched: Vec<Watched>,
    phase: Phase,
    /// Latencies learnt: from memory, from the caches.
    learnt: [Vec<Picos>; 2],
    /// Loads that take longer count as evicted lines.
    threshold: Picos,
    counts: ProbeCounts,
}

impl CacheProbe {
    /// On `core`, with eviction sets out of `memory`, spread over the LLC.
    ///
    /// # Panics
    /// If `memory` has not enough lines for a single set: the scenario is checked before.
    #[must_use]
    pub fn new<T: Tracer>(
        config: CacheProbeConfig,
        core: Core,
        memory: &Region,
        lines: u64,
        fabric: &Fabric<T>,
    ) -> Self {
        let watched = eviction_sets(&config, memory, lines, fabric);
        assert!(!watched.is_empty(), "the memory of a probe is larger than its LLC");
        Self {
            config,
            core,
            watched,
            phase: Phase::Learn { set: 0, pass: 0 },
            learnt: [Vec::new(), Vec::new()],
            threshold: Picos::NEVER,
            counts: ProbeCounts::default(),
        }
    }

    /// The sets that it watches.
    pub fn watched_sets(&self) -> impl Iterator<Item = SetIndex> + '_ {
        self.watched.iter().map(|watched| watched.set)
    }

    /// Loads the lines of a set, the last first if `backwards`; returns how long each load took.
    fn pass<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        set: usize,
        backwards: bool,
    ) -> Vec<Picos> {
        let Self { core, watched, .. } = self;
        let lines = &watched[set].lines;
        let mut timed = |&line: &LineAddr| {
            let before = core.now();
            core.load(fabric, line);
            core.now() - before
        };
        if backwards {
            lines.iter().rev().map(&mut timed).collect()
        } else {
            lines.iter().map(&mut timed).collect()
        }
    }

    fn is_slow(&self, latencies: &[Picos]) -> bool {
        latencies.iter().any(|&latency| latency > self.threshold)
    }

    fn learn<T: Tracer>(&mut self, fabric: &mut Fabric<T>, set: usize, pass: u32) -> Phase {
        let latencies = self.pass(fabric, set, pass % 2 == 1);
        self.learnt[usize::from(pass > 0)].extend(latencies);
        if pass == 0 {
            return Phase::Learn { set, pass: 1 };
        }
        if set + 1 < self.watched.len() {
            return Phase::Learn { set: set + 1, pass: 0 };
        }
        let [memory, cache] = &mut self.learnt;
        self.threshold = Picos(median(memory).0.midpoint(median(cache).0));
        Phase::Prime { set: 0, pass: 0 }
    }

    /// Whether a set has been primed decides what comes next, and when.
    fn prime<T: Tracer>(&mut self, fabric: &mut Fabric<T>, set: usize, pass: u32) -> Phase {
        let latencies = self.pass(fabric, set, false);
        if self.is_slow(&latencies) && pass + 1 < MOST_PRIME_PASSES {
            return Phase::Prime { set, pass: pass + 1 };
        }
        self.watched[set].device_lines = self.device_lines(fabric, set);
        if set + 1 < self.watched.len() {
            return Phase::Prime { set: set + 1, pass: 0 };
        }
        self.core.wait_until(self.core.now() + self.config.wait);
        Phase::Probe { set: 0 }
    }

    fn probe<T: Tracer>(&mut self, fabric: &mut Fabric<T>, set: usize) -> Phase {
        let now = self.device_lines(fabric, set);
        let before = &self.watched[set].device_lines;
        let has_io = now.iter().any(|line| !before.contains(line));
        let latencies = self.pass(fabric, set, true);
        let detected = self.is_slow(&latencies);
        self.counts.count(has_io, detected);
        if set + 1 < self.watched.len() {
            Phase::Probe { set: set + 1 }
        } else {
            Phase::Prime { set: 0, pass: 0 }
        }
    }

    fn device_lines<T: Tracer>(&self, fabric: &Fabric<T>, set: usize) -> Vec<LineAddr> {
        fabric.device_lines_in(self.config.socket, self.watched[set].set).collect()
    }
}

/// As many lines as ways for each set to watch, spread evenly over the sets that have them.
fn eviction_sets<T: Tracer>(
    config: &CacheProbeConfig,
    memory: &Region,
    lines: u64,
    fabric: &Fabric<T>,
) -> Vec<Watched> {
    let mut by_set: BTreeMap<u32, Vec<LineAddr>> = BTreeMap::new();
    for line in (0..lines).map(|line| memory.line(line)) {
        let found = by_set.entry(fabric.llc(config.socket).set_of(line).0).or_default();
        if found.len() < config.ways {
            found.push(line);
        }
    }
    let full = by_set.into_iter().filter(|(_, lines)| lines.len() == config.ways);
    let full: Vec<_> = full.collect();
    let count = config.watched_sets.min(full.len());
    let chosen = (0..count).map(|number| full[number * full.len() / count].clone());
    chosen
        .map(|(set, lines)| Watched { set: SetIndex(set), lines, device_lines: Vec::new() })
        .collect()
}

fn median(latencies: &mut [Picos]) -> Picos {
    latencies.sort_unstable();
    latencies[latencies.len() / 2]
}

impl<T: Tracer> Software<T> for CacheProbe {
    fn step(&mut self, fabric: &mut Fabric<T>, _: &mut Queues, now: Picos) -> Turn {
        self.core.wait_until(now);
        self.phase = match self.phase {
            Phase::Learn { set, pass } => self.learn(fabric, set, pass),
            Phase::Prime { set, pass } => self.prime(fabric, set, pass),
            Phase::Probe { set } => self.probe(fabric, set),
        };
        Turn::Busy(self.core.now())
    }

    fn account(&self, _: Picos) -> Account {
        let work = self.counts.probes();
        Account { work, probes: self.counts, ..Account::default() }
    }

    fn is_background(&self) -> bool {
        true
    }
}
