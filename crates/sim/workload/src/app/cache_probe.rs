//! A process that detects I/O in sets of the LLC: prime and probe.
//!
//! Models: eviction sets with as many lines as a set has ways; priming until a pass has no slow load, a
//! wait, and a second pass in the opposite order whose loads are timed with the core's own clock. A
//! load whose time is nearer to a memory access than to an LLC hit counts as a detection.
//! Source: NetCAT (Kurth et al., S&P 2020); prime and probe as in Liu et al. (S&P 2015).
//! Simplifies: the machine's own address map gives the lines of a set, not timing, and the clock has no
//! noise. It needs an inclusive LLC: other LLCs do not receive a core's fills.

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

/// Parameters of the probe.
#[derive(Clone, Debug)]
pub struct CacheProbeConfig {
    /// Socket whose LLC the probe watches, and on which it runs.
    pub socket: SocketId,
    /// Number of ways of that LLC.
    pub ways: usize,
    /// Sets watched at a time.
    pub watched_sets: usize,
    /// Time between priming and probing.
    pub wait: Picos,
}

/// A watched set.
#[derive(Clone, Debug)]
struct WatchedSet {
    set: SetIndex,
    lines: Vec<LineAddr>,
    /// Devices' lines that were in the set after priming.
    device_lines: Vec<LineAddr>,
}

/// The next step of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbePhase {
    /// Measures how long loads from memory (pass 0) and from the caches take.
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
    watched: Vec<WatchedSet>,
    phase: ProbePhase,
    /// Measured latencies: from memory, from the caches.
    learnt: [Vec<Picos>; 2],
    /// Latency above which a load counts as an evicted line.
    threshold: Picos,
    counts: ProbeCounts,
}

impl CacheProbe {
    /// A probe on `core`, with eviction sets from `memory`, spread over the LLC.
    ///
    /// # Panics
    /// If `memory` has not enough lines for a single set. Scenarios are checked before they get here.
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
            phase: ProbePhase::Learn { set: 0, pass: 0 },
            learnt: [Vec::new(), Vec::new()],
            threshold: Picos::NEVER,
            counts: ProbeCounts::default(),
        }
    }

    /// The watched sets.
    pub fn watched_sets(&self) -> impl Iterator<Item = SetIndex> + '_ {
        self.watched.iter().map(|watched| watched.set)
    }

    /// Loads the lines of a set, in reverse order if `backwards`; returns the latency of each load.
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

    fn learn<T: Tracer>(&mut self, fabric: &mut Fabric<T>, set: usize, pass: u32) -> ProbePhase {
        let latencies = self.pass(fabric, set, pass % 2 == 1);
        self.learnt[usize::from(pass > 0)].extend(latencies);
        if pass == 0 {
            return ProbePhase::Learn { set, pass: 1 };
        }
        if set + 1 < self.watched.len() {
            return ProbePhase::Learn { set: set + 1, pass: 0 };
        }
        let [memory, cache] = &mut self.learnt;
        self.threshold = Picos(median(memory).0.midpoint(median(cache).0));
        ProbePhase::Prime { set: 0, pass: 0 }
    }

    /// Primes a set; whether it is now primed determines the next step.
    fn prime<T: Tracer>(&mut self, fabric: &mut Fabric<T>, set: usize, pass: u32) -> ProbePhase {
        let latencies = self.pass(fabric, set, false);
        if self.is_slow(&latencies) && pass + 1 < MOST_PRIME_PASSES {
            return ProbePhase::Prime { set, pass: pass + 1 };
        }
        self.watched[set].device_lines = self.device_lines(fabric, set);
        if set + 1 < self.watched.len() {
            return ProbePhase::Prime { set: set + 1, pass: 0 };
        }
        self.core.wait_until(self.core.now() + self.config.wait);
        ProbePhase::Probe { set: 0 }
    }

    fn probe<T: Tracer>(&mut self, fabric: &mut Fabric<T>, set: usize) -> ProbePhase {
        let now = self.device_lines(fabric, set);
        let before = &self.watched[set].device_lines;
        let has_io = now.iter().any(|line| !before.contains(line));
        let latencies = self.pass(fabric, set, true);
        let detected = self.is_slow(&latencies);
        self.counts.count(has_io, detected);
        if set + 1 < self.watched.len() {
            ProbePhase::Probe { set: set + 1 }
        } else {
            ProbePhase::Prime { set: 0, pass: 0 }
        }
    }

    fn device_lines<T: Tracer>(&self, fabric: &Fabric<T>, set: usize) -> Vec<LineAddr> {
        fabric.device_lines_in(self.config.socket, self.watched[set].set).collect()
    }
}

/// One eviction set of `ways` lines for each watched set, spread evenly over the sets that have enough.
fn eviction_sets<T: Tracer>(
    config: &CacheProbeConfig,
    memory: &Region,
    lines: u64,
    fabric: &Fabric<T>,
) -> Vec<WatchedSet> {
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
        .map(|(set, lines)| WatchedSet { set: SetIndex(set), lines, device_lines: Vec::new() })
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
            ProbePhase::Learn { set, pass } => self.learn(fabric, set, pass),
            ProbePhase::Prime { set, pass } => self.prime(fabric, set, pass),
            ProbePhase::Probe { set } => self.probe(fabric, set),
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
