//! The SSDs of a target, as one of its cores uses them.
//!
//! Models: a queue pair on each SSD; reads of random or consecutive blocks; doorbells for all reads of a
//! round together; completions of all SSDs in a round.
//! Source: SPDK's NVMe driver: a queue pair for each thread and controller, polled.
//! Simplifies: reads use SSDs in turn, as evenly loaded namespaces would be.

use super::super::block_io::BlockPattern;
use crate::driver::nvme::NvmeDriver;
use model::core::Core;
use model::device::nvme::rings::{Opcode, PAGE_BYTES, PAGE_LINES};
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::tracer::Tracer;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::VecDeque;
use units::{LineAddr, Picos};

/// Parameters of the reads from a target's SSDs.
#[derive(Clone, Copy, Debug)]
pub struct StorageConfig {
    /// Bytes of a read, in whole pages.
    pub read_bytes: u64,
    /// Order of blocks on each SSD.
    pub pattern: BlockPattern,
    /// Bytes of each SSD that are read.
    pub span_bytes: u64,
    /// Seed of the random choice of blocks.
    pub seed: u64,
}

/// An SSD as a core uses it.
#[derive(Debug)]
struct Ssd {
    driver: NvmeDriver,
    queue: QueueId,
    /// The buffer that each command in flight fills, by the command's identifier.
    filled: Vec<u32>,
    next_block: u64,
}

/// All SSDs of a target, with one core's queue pair on each.
#[derive(Debug)]
pub struct Storage {
    config: StorageConfig,
    ssds: Vec<Ssd>,
    next: usize,
    random: ChaCha8Rng,
}

impl Storage {
    /// SSDs with these drivers and queue pairs.
    ///
    /// # Panics
    /// Without SSDs. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(config: StorageConfig, ssds: Vec<(NvmeDriver, QueueId)>) -> Self {
        assert!(!ssds.is_empty());
        let mut random = ChaCha8Rng::seed_from_u64(config.seed);
        let blocks = blocks(&config);
        let ssd = |(driver, queue): (NvmeDriver, QueueId)| Ssd {
            filled: vec![0; driver.most_in_flight()],
            next_block: random.next_u64() % blocks,
            driver,
            queue,
        };
        let ssds = ssds.into_iter().map(ssd).collect();
        Self { config, ssds, next: 0, random }
    }

    /// The queue pairs of the SSDs.
    pub fn queues(&self) -> impl Iterator<Item = QueueId> + '_ {
        self.ssds.iter().map(|ssd| ssd.queue)
    }

    /// Submits a read of the next SSD into `buffer`, whose first line is `first`.
    ///
    /// # Panics
    /// If the SSD has as many commands in flight as its driver takes, which is a bug of the caller.
    pub fn read<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        queues: &mut Queues,
        (buffer, first): (u32, LineAddr),
    ) {
        let (blocks, pages) = (blocks(&self.config), self.config.read_bytes / PAGE_BYTES);
        let number = self.next;
        self.next = (number + 1) % self.ssds.len();
        let ssd = &mut self.ssds[number];
        let block = match self.config.pattern {
            BlockPattern::Random => self.random.next_u64() % blocks,
            BlockPattern::Sequential => ssd.next_block,
        };
        ssd.next_block = (block + 1) % blocks;
        let lines = (0..pages).map(|page| first.step(page * PAGE_LINES)).collect();
        let pair = queues.nvme_pair(ssd.queue);
        let id = ssd.driver.submit(core, fabric, pair, Opcode::Read, block * pages, lines);
        let id = id.expect("an SSD takes all requests in flight");
        ssd.filled[usize::from(id)] = buffer;
    }

    /// Announces all reads since the last call.
    pub fn ring_doorbells(&mut self, core: &mut Core, queues: &mut Queues) {
        for ssd in &mut self.ssds {
            ssd.driver.ring_doorbell(core, queues.nvme_pair(ssd.queue));
        }
    }

    /// Takes completions, `most` of each SSD at most: their buffers are filled.
    pub fn reap<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        queues: &mut Queues,
        (most, filled): (usize, &mut VecDeque<u32>),
    ) {
        for ssd in &mut self.ssds {
            let pair = queues.nvme_pair(ssd.queue);
            for _ in 0..most {
                let Some(id) = ssd.driver.reap(core, fabric, pair) else { break };
                filled.push_back(ssd.filled[usize::from(id)]);
            }
            ssd.driver.acknowledge(core);
        }
    }

    /// When the next completion becomes visible; never if none is under way.
    pub fn next_completion(&self, queues: &mut Queues) -> Picos {
        let of_ssd = |ssd: &Ssd| NvmeDriver::next_visible(queues.nvme_pair(ssd.queue));
        self.ssds.iter().map(of_ssd).min().unwrap_or(Picos::NEVER)
    }
}

/// Blocks of an SSD.
fn blocks(config: &StorageConfig) -> u64 {
    (config.span_bytes / config.read_bytes).max(1)
}
