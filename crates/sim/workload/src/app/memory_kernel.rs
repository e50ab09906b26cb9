//! Software that only accesses memory.
//!
//! Models: loads and stores over a working set, at random or in order, as X-Mem does; independent
//! accesses overlap up to the line fill buffers, or to fewer if the program's own work fills the
//! reorder or store buffer first; a pointer chase waits for each access. With a table of pointers each
//! access first loads its line's address, as a program does that walks a shuffled array of pointers.
//! Source: X-Mem (Gottscho et al., ISPASS'16); the co-runner of ATC'20 is cache-hungry in this way.
//! Simplifies: compute work between accesses is a number of cycles; an address that has come is used
//! when the core comes to its next access.

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
    /// Most accesses to the working set in flight: the oldest must complete before the next begins.
    /// `None`: only the fill buffers limit them.
    pub in_flight: Option<usize>,
    /// Seed of the random order.
    pub seed: u64,
}

/// Memory of a kernel.
#[derive(Debug)]
pub struct KernelMemory {
    /// Its working set.
    pub working_set: Region,
    /// The addresses of the working set's lines in their order, [`POINTERS_PER_LINE`] to a line, if the
    /// kernel reads them.
    pub pointers: Option<Region>,
}

/// Most addresses that are loaded ahead of their accesses: a reorder buffer of 192 to 224 entries holds the
/// instructions of some eight accesses of a loop that is compiled without optimisation.
const ADDRESSES_AHEAD: usize = 8;
/// Pointers of eight bytes in a line.
pub const POINTERS_PER_LINE: u64 = 8;

/// Accesses per turn: few compared with a batch.
const ACCESSES_PER_TURN: u32 = 16;

/// The kernel on its core.
#[derive(Debug)]
pub struct MemoryKernel {
    config: MemoryKernelConfig,
    core: Core,
    memory: KernelMemory,
    next: u64,
    /// Accesses whose addresses are on their way, the oldest first.
    addressed: VecDeque<Addressed>,
    /// When the accesses in flight complete, the oldest first; empty without a limit.
    under_way: VecDeque<Picos>,
    rng: ChaCha8Rng,
    accesses: u64,
}

/// An access and when its address arrives.
#[derive(Clone, Copy, Debug)]
struct Addressed {
    from: Picos,
    line: LineAddr,
    is_store: bool,
}

impl MemoryKernel {
    /// A kernel on `core`, over the start of `memory`.
    #[must_use]
    pub fn new(config: MemoryKernelConfig, core: Core, memory: KernelMemory) -> Self {
        let rng = ChaCha8Rng::seed_from_u64(config.seed);
        let (addressed, under_way) = (VecDeque::new(), VecDeque::new());
        Self { config, core, memory, next: 0, addressed, under_way, rng, accesses: 0 }
    }

    /// The last `most` lines of its working set, in order.
    pub fn last_lines(&self, most: u64) -> impl Iterator<Item = LineAddr> + '_ {
        let lines = self.config.lines;
        (lines.saturating_sub(most)..lines).map(|offset| self.memory.working_set.line(offset))
    }

    fn next_offset(&mut self) -> u64 {
        match self.config.pattern {
            KernelPattern::Sequential => {
                self.next = (self.next + 1) % self.config.lines;
                self.next
            }
            KernelPattern::Random | KernelPattern::PointerChase => self.below(self.config.lines),
        }
    }

    fn begin<T: Tracer>(&mut self, fabric: &mut Fabric<T>, offset: u64, is_store: bool) {
        let line = self.memory.working_set.line(offset);
        let Some(pointers) = &self.memory.pointers else {
            return self.access(fabric, line, is_store);
        };
        let entry = pointers.line(offset / POINTERS_PER_LINE);
        let from = self.core.load_independent(fabric, entry);
        self.addressed.push_back(Addressed { from, line, is_store });
        self.use_addresses(fabric);
    }

    /// Does accesses in order: those whose addresses have come, and for which there is room, and others
    /// where too many addresses are ahead.
    fn use_addresses<T: Tracer>(&mut self, fabric: &mut Fabric<T>) {
        while let Some(&Addressed { from, line, is_store }) = self.addressed.front() {
            let at = from.max(self.oldest_in_the_way().unwrap_or(from));
            if at > self.core.now() && self.addressed.len() <= ADDRESSES_AHEAD {
                return;
            }
            self.addressed.pop_front();
            self.core.wait_until(at);
            self.access(fabric, line, is_store);
        }
    }

    /// When the oldest access completes, if the next has to wait for it.
    fn oldest_in_the_way(&self) -> Option<Picos> {
        let is_full = self.config.in_flight.is_some_and(|most| self.under_way.len() >= most);
        self.under_way.front().copied().filter(|_| is_full)
    }

    /// Does an access once fewer than the limit are in flight.
    fn access<T: Tracer>(&mut self, fabric: &mut Fabric<T>, line: LineAddr, is_store: bool) {
        if let Some(oldest) = self.oldest_in_the_way() {
            self.under_way.pop_front();
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
            let offset = self.next_offset();
            self.core.compute(self.config.cycles_per_access);
            let is_store = self.below(100) < u64::from(self.config.store_percent);
            self.begin(fabric, offset, is_store);
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
