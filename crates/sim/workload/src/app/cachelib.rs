//! A cache of items in memory, in the manner of CacheLib: gets copy items out, sets copy them in.
//!
//! Models: a thread on each core; items drawn by popularity; a line of the hash table and one of the item's
//! header for each request; copies of the items' sizes, the large ones by copy engines ([`Copier`]).
//! Source: ASPLOS'24, appendix B: CacheBench with DTO in place of memcpy.
//! Simplifies: a set replaces an item by one of its size, so that nothing is allocated or evicted; threads
//! do not wait for each other's locks; a thread has a request at any time.

pub mod items;

use crate::driver::copier::{Copier, CopyStep};
use crate::driver::offloader::OnCore;
use hdrhistogram::Histogram;
use items::{Item, ItemChoice, Items};
use model::core::Core;
use model::device::dsa::descriptor::{Descriptor, Destination, Operation};
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::latency_histogram::{self, latency_histogram};
use model::software::{Account, DESCRIPTOR_PHASES, Software, StoreCounts, Turn};
use model::tracer::Tracer;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::rc::Rc;
use units::narrow::usize_from;
use units::{Cycles, LineAddr, Picos};

/// Mix of a cache's requests, and the cycles that they cost.
#[derive(Clone, Copy, Debug)]
pub struct CachelibConfig {
    /// Share of gets, in percent.
    pub get_percent: u32,
    /// Cycles of a get, without its copy.
    pub get: Cycles,
    /// Cycles of a set, without its copy.
    pub set: Cycles,
    /// Seed of a thread's choices.
    pub seed: u64,
}

/// A thread on its core.
#[derive(Debug)]
pub struct Cachelib {
    config: CachelibConfig,
    core: Core,
    items: Rc<Items>,
    choice: ItemChoice,
    copier: Copier,
    /// Buffers of the thread's clients, each as large as the largest item, used in turn.
    buffers: Vec<LineAddr>,
    random: ChaCha8Rng,
    /// The request under way: whether it is a get, and when it began.
    request: Option<(bool, Picos)>,
    counts: StoreCounts,
    latency_ns: Histogram<u64>,
}

impl Cachelib {
    /// A thread at time zero.
    ///
    /// # Panics
    /// Without buffers. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(
        config: CachelibConfig,
        core: Core,
        (items, choice): (Rc<Items>, ItemChoice),
        copier: Copier,
        buffers: Vec<LineAddr>,
    ) -> Self {
        assert!(!buffers.is_empty());
        Self {
            random: ChaCha8Rng::seed_from_u64(config.seed),
            config,
            core,
            items,
            choice,
            copier,
            buffers,
            request: None,
            counts: StoreCounts::default(),
            latency_ns: latency_histogram(),
        }
    }

    /// Begins a request: its work, the look-up of its item, and the call of the copy.
    fn begin<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) -> CopyStep {
        let begun = self.core.now();
        let is_get = self.random.next_u64() % 100 < u64::from(self.config.get_percent);
        let number = self.choice.draw(&mut self.random);
        let Item { header, data, bytes } = self.items.item(number);
        self.core.load(fabric, self.items.bucket(number));
        let requests = self.counts.gets + self.counts.sets;
        let buffer = self.buffers[usize_from(requests % self.buffers.len() as u64)];
        let (source, second) = if is_get {
            self.core.compute(self.config.get);
            self.core.load(fabric, header);
            (data, buffer)
        } else {
            self.core.compute(self.config.set);
            self.core.store(fabric, header);
            (buffer, data)
        };
        self.request = Some((is_get, begun));
        let copy = Descriptor {
            id: 0,
            operation: Operation::Move,
            bytes,
            source,
            second,
            third: second,
            record: second,
            destination: Destination::Cache,
            fence: false,
            block_on_fault: true,
            wants_record: true,
        };
        self.copier.begin(&mut OnCore { core: &mut self.core, fabric, queues }, &copy)
    }

    fn end(&mut self) {
        let Some((is_get, begun)) = self.request.take() else { return };
        self.counts.gets += u64::from(is_get);
        self.counts.sets += u64::from(!is_get);
        self.latency_ns.saturating_record((self.core.now() - begun).0 / 1_000);
    }
}

impl<T: Tracer> Software<T> for Cachelib {
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn {
        self.core.wait_until(now);
        let copying = match self.request {
            None => self.begin(fabric, queues),
            Some(_) => self.copier.go_on(&mut OnCore { core: &mut self.core, fabric, queues }),
        };
        match copying {
            CopyStep::Goes(turn) => turn,
            CopyStep::Done => {
                self.end();
                Turn::Busy(self.core.now())
            }
        }
    }

    fn queues(&self) -> &[QueueId] {
        self.copier.queues()
    }

    fn account(&self, now: Picos) -> Account {
        Account {
            work: self.counts.gets + self.counts.sets,
            offload: self.copier.times(now),
            copies: self.copier.counts(),
            store: self.counts,
            ..Account::default()
        }
    }

    fn take_latencies(&mut self) -> Option<Histogram<u64>> {
        Some(latency_histogram::take(&mut self.latency_ns))
    }
    fn take_descriptor_phases(&mut self) -> Option<[Histogram<u64>; DESCRIPTOR_PHASES]> {
        self.copier.take_phases()
    }
}
