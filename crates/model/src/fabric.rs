//! The memory system of a socket as timed calls: caches, root complex, DRAM.
//!
//! Models: a Skylake-class socket. Devices enter through
//! [`io_path`], cores through [`core_path`]; both meet in the LLC, whose victims leave through
//! [`Fabric::evict`]. Every call changes state at once and returns when it is done.
//! Source: those named in each part; the parameters come from a platform file.
//! Simplifies: one socket; the mesh has one mean latency (DEVIATIONS.md, 7).

mod core_path;
mod invariants;
mod io_path;

pub use core_path::{CorePathConfig, Served};
pub use io_path::DmaDone;

use crate::attribution::{AgentId, EvictionCounts};
use crate::core::prefetcher::Prefetcher;
use crate::core::private_cache::{PrivateCache, PrivateCacheConfig, State};
use crate::counters::{CoreCounters, Counters};
use crate::dram::{Dram, DramConfig};
use crate::llc::replacement::Replacement;
use crate::llc::{Directory, Evicted, Llc, LlcConfig, Sharers};
use crate::root_complex::ddio::Ddio;
use crate::root_complex::iio::{Iio, IioConfig};
use crate::root_complex::pcie_link::{PcieLink, PcieLinkConfig};
use crate::tracer::{Event, Found, NoTrace, Operation, PushedOut, Tracer};
use units::{LineAddr, Picos, SetIndex, WayMask};

/// Everything that a socket is built from.
#[derive(Clone, Debug)]
pub struct FabricConfig {
    /// Cores that take part.
    pub cores: u32,
    /// Devices that take part, each on its own link.
    pub links: Vec<PcieLinkConfig>,
    /// L1 data cache of each core.
    pub l1: PrivateCacheConfig,
    /// L2 of each core.
    pub l2: PrivateCacheConfig,
    /// Latencies and policies of cores' accesses.
    pub core_path: CorePathConfig,
    /// The shared cache.
    pub llc: LlcConfig,
    /// Directory-only ways.
    pub directory_ways: u32,
    /// Victim choice in the directory.
    pub directory_replacement: Replacement,
    /// Ways in which each core's lines may be allocated (CAT).
    pub core_way_masks: Vec<WayMask>,
    /// Where device writes go.
    pub ddio: Ddio,
    /// The integrated I/O block.
    pub iio: IioConfig,
    /// Memory.
    pub dram: DramConfig,
    /// Seed of everything random in the fabric.
    pub seed: u64,
}

/// The private caches of one core.
#[derive(Clone, Debug)]
struct PrivateCaches {
    l1: PrivateCache,
    l2: PrivateCache,
    prefetcher: Prefetcher,
    counters: CoreCounters,
}

/// A socket's memory system.
#[derive(Clone, Debug)]
pub struct Fabric<T: Tracer = NoTrace> {
    cores: Vec<PrivateCaches>,
    links: Vec<PcieLink>,
    llc: Llc,
    directory: Directory,
    core_path: CorePathConfig,
    core_way_masks: Vec<WayMask>,
    ddio: Ddio,
    iio: Iio,
    dram: Dram,
    counters: Counters,
    evictions: EvictionCounts,
    /// Receives what happens to watched lines.
    pub tracer: T,
}

impl<T: Tracer> Fabric<T> {
    /// Empty caches.
    ///
    /// # Panics
    /// If there are more than 64 agents, or not one way mask for each.
    #[must_use]
    pub fn new(config: &FabricConfig, tracer: T) -> Self {
        assert!(config.cores as usize + config.links.len() <= usize::from(AgentId::MOST));
        assert!(config.core_way_masks.len() == config.cores as usize);
        let agents = config.cores as usize + config.links.len();
        let seed = |part: u64| config.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(part);
        let private = |core| PrivateCaches {
            l1: PrivateCache::new(config.l1, seed(2 * u64::from(core) + 10)),
            l2: PrivateCache::new(config.l2, seed(2 * u64::from(core) + 11)),
            prefetcher: Prefetcher::new(config.core_path.prefetcher),
            counters: CoreCounters::default(),
        };
        Self {
            cores: (0..config.cores).map(private).collect(),
            links: config.links.iter().cloned().map(PcieLink::new).collect(),
            llc: Llc::new(&config.llc, agents, seed(1)),
            directory: Directory::new(
                config.llc.map.total_sets(),
                config.directory_ways,
                config.directory_replacement,
                seed(2),
            ),
            core_path: config.core_path.clone(),
            core_way_masks: config.core_way_masks.clone(),
            ddio: config.ddio,
            iio: Iio::new(config.iio.clone()),
            dram: Dram::new(config.dram.clone()),
            counters: Counters::default(),
            evictions: EvictionCounts::new(agents),
            tracer,
        }
    }

    /// Ends the initialisation: cache content stays, all that was counted and reserved is forgotten.
    pub fn start_clock(&mut self) {
        self.counters = Counters::default();
        self.evictions.clear();
        for private in &mut self.cores {
            private.counters = CoreCounters::default();
        }
        self.dram.forget();
        self.iio = Iio::new(self.iio.config.clone());
        for link in &mut self.links {
            *link = PcieLink::new(link.config().clone());
        }
    }

    /// The agent that device `link` is: devices come after the cores.
    #[must_use]
    pub fn device_agent(&self, link: usize) -> AgentId {
        AgentId((self.cores.len() + link) as u8)
    }

    /// Whether an agent is a device: the lines that it owns were written by DMA and not rewritten
    /// by a core since.
    fn is_device(&self, agent: AgentId) -> bool {
        usize::from(agent.0) >= self.cores.len()
    }

    /// Software will soon touch `line`: loads what the simulator needs for it into the host's cache.
    /// Nothing in the simulated machine changes.
    #[inline]
    pub fn expect(&self, line: LineAddr) {
        let set = self.llc.set_of(line);
        self.llc.prefetch(set);
        self.directory.prefetch(set);
    }

    /// What has been counted so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What has been counted for `core` so far.
    #[must_use]
    pub fn core_counters(&self, core: u8) -> &CoreCounters {
        &self.cores[usize::from(core)].counters
    }

    /// Who pushed out whom so far.
    #[must_use]
    pub fn evictions(&self) -> &EvictionCounts {
        &self.evictions
    }

    /// The link of a device.
    #[must_use]
    pub fn link(&self, link: usize) -> &PcieLink {
        &self.links[link]
    }

    /// The integrated I/O block.
    #[must_use]
    pub fn iio(&self) -> &Iio {
        &self.iio
    }

    /// The memory.
    #[must_use]
    pub fn dram(&self) -> &Dram {
        &self.dram
    }

    /// The shared cache.
    #[must_use]
    pub fn llc(&self) -> &Llc {
        &self.llc
    }

    /// Deals with a line that had to leave the LLC for `evictor`: counts it, writes it back, and
    /// keeps the cores that still hold it in the directory.
    fn evict(&mut self, evictor: AgentId, set: SetIndex, evicted: Evicted, now: Picos) {
        let Evicted { line, info, sharers } = evicted;
        self.evictions.add(evictor, info.owner, info.consumed);
        if info.dirty {
            self.dram.write(now);
        }
        if !sharers.is_empty() {
            self.record_sharers(set, line, sharers, now);
        }
        if T::WATCHING {
            let found = if info.dirty { Found::Dram } else { Found::Nowhere };
            self.trace(now, evictor, Operation::LlcEviction, line, found, None);
        }
    }

    /// Updates the directory; an entry that it pushes out takes the core copies with it.
    fn record_sharers(&mut self, set: SetIndex, line: LineAddr, sharers: Sharers, now: Picos) {
        if let Some((victim, holders)) = self.directory.record(set, line, sharers) {
            self.counters.directory_evictions += 1;
            if self.invalidate_cores(victim, holders) {
                self.dram.write(now);
            }
        }
    }

    /// Removes `line` from the private caches of `cores`; says whether one of them had it modified.
    fn invalidate_cores(&mut self, line: LineAddr, cores: Sharers) -> bool {
        cores.cores().fold(false, |modified, core| {
            let private = &mut self.cores[usize::from(core)];
            let l1 = private.l1.invalidate(line);
            let l2 = private.l2.invalidate(line);
            modified || l1 == Some(State::Modified) || l2 == Some(State::Modified)
        })
    }

    /// The core among `cores` that has `line` modified, if any.
    #[inline]
    fn modified_by(&self, line: LineAddr, cores: Sharers) -> Option<u8> {
        cores.cores().find(|&core| {
            let private = &self.cores[usize::from(core)];
            private.l1.state(line) == Some(State::Modified)
                || private.l2.state(line) == Some(State::Modified)
        })
    }

    #[inline]
    fn trace(
        &mut self,
        time: Picos,
        agent: AgentId,
        operation: Operation,
        line: LineAddr,
        found: Found,
        evicted: Option<&Evicted>,
    ) {
        if T::WATCHING {
            let pushed_out = evicted.map(|e| PushedOut {
                line: e.line,
                owner: e.info.owner,
                dirty: e.info.dirty,
                consumed: e.info.consumed,
            });
            self.tracer.record(Event { time, agent, line, operation, found, pushed_out });
        }
    }
}
