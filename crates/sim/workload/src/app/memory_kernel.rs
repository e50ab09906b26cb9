//! Software that only accesses memory.
//!
//! Models: loads and stores over a working set, at random or in order, as X-Mem does; independent
//! accesses overlap up to the line fill buffers, or to fewer if the program's own work fills the
//! reorder or store buffer first; a pointer chase waits for each access.
//! Source: X-Mem (Gottscho et al., ISPASS'16); the co-runner of ATC'20 is cache-hungry in this way.
//! Simplifies: compute work between accesses is a number of cycles.

use crate::host_memory::Region;
use model::core::Core;
use model::device::queues::Queues;
use model::fabric::Fabric;
use model::software::{Account, Software, Turn};
use model::tracer::Tracer;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::VecDeque;
use units::{Cycles, LineAddr, Picos};

/// Order of accesses to the working set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelPattern {
    /// Any line, independent of the last.
    Random,
    /// One line after another.
    Sequential,
    /// Any line, whose address depends on the last one's data.
    PointerChase,
}

/// Parameters of a memory kernel: working set, order, stores and work.
#[derive(Clone, Debug)]
pub struct MemoryKernelConfig {
    /// Number of lines of the working set.
    pub lines: u64,
    /// Order in which the kernel accesses lines.
    pub pattern: KernelPattern,
    /// Share of accesses that are stores, in percent.
    pub store_percent: u32,
    /// Cycles of work between two accesses.
    pub cycles_per_access: Cycles,
    /// Most accesses in flight: the oldest must complete before the next begins. `None`: only the
    /// fill buffers limit them.
    pub in_flight: Option<usize>,
    /// Seed of the random order.
    pub seed: u64,
}

/// Accesses per turn: few compared with a batch.
const ACCESSES_PER_TURN: u32 = 16;

/// The kernel on its core.
#[derive(Debug)]
pub struct MemoryKernel {
    config: MemoryKernelConfig,
    core: Core,
    memory: Region,
    next: u64,
    /// When the accesses in flight complete, the oldest first; empty without a limit.
    under_way: VecDeque<Picos>,
    rng: ChaCha8Rng,
    accesses: u64,
}

impl MemoryKernel {
    /// A kernel on `core`, over the start of `memory`.
    #[must_use]
    pub fn new(config: MemoryKernelConfig, core: Core, memory: Region) -> Self {
        let rng = ChaCha8Rng::seed_from_u64(config.seed);
        Self { config, core, memory, next: 0, under_way: VecDeque::new(), rng, accesses: 0 }
    }

    /// The last `most` lines of its working set, in order.
    pub fn last_lines(&self, most: u64) -> impl Iterator<Item = LineAddr> + '_ {
        let lines = self.config.lines;
        (lines.saturating_sub(most)..lines).map(|offset| self.memory.line(offset))
    }

    fn next_line(&mut self) -> LineAddr {
        let offset = match self.config.pattern {
            KernelPattern::Sequential => {
                self.next = (self.next + 1) % self.config.lines;
                self.next
            }
            KernelPattern::Random | KernelPattern::PointerChase => self.below(self.config.lines),
        };
        self.memory.line(offset)
    }

    /// Does an access once fewer than the limit are in flight.
    fn access<T: Tracer>(&mut self, fabric: &mut Fabric<T>, line: LineAddr, is_store: bool) {
        if let Some(most) = self.config.in_flight
            && self.under_way.len() >= most
            && let Some(oldest) = self.under_way.pop_front()
        {
            self.core.wait_until(oldest);
        }
        let done = if is_store {
            self.core.store(fabric, line)
        } else if self.config.pattern == KernelPattern::PointerChase {
            self.core.load(fabric, line);
            self.core.now()
        } else {
            self.core.load_independent(fabric, line)
        };
        if self.config.in_flight.is_some() {
            self.under_way.push_back(done);
        }
    }

    /// A uniform number below `bound`, which must be small compared with 2^32.
    fn below(&mut self, bound: u64) -> u64 {
        (u64::from(self.rng.next_u32()) * bound) >> 32
    }
}

impl<T: Tracer> Software<T> for MemoryKernel {
    fn step(&mut self, fabric: &mut Fabric<T>, _: &mut Queues, now: Picos) -> Turn {
        self.core.wait_until(now);
        for _ in 0..ACCESSES_PER_TURN {
            let line = self.next_line();
            self.core.compute(self.config.cycles_per_access);
            let is_store = self.below(100) < u64::from(self.config.store_percent);
            self.access(fabric, line, is_store);
        }
        self.accesses += u64::from(ACCESSES_PER_TURN);
        Turn::Busy(self.core.now())
    }

    fn account(&self, _: Picos) -> Account {
        Account { work: self.accesses, ..Account::default() }
    }

    fn is_background(&self) -> bool {
        true
    }
}
