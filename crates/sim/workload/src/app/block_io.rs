//! Block I/O at a fixed depth, as fio does it.
//!
//! Models: one job with direct I/O into its own buffers; random or sequential blocks, reads and writes
//! mixed; completion by polling or by interrupt; the core accesses the data or not.
//! Source: fio with libaio (one buffer per I/O in flight, filled once, never read back); costs per
//! I/O from the device's file.
//! Simplifies: system calls and block layer are a number of cycles per I/O; small changes that fio
//! makes in write buffers (scramble_buffers) are left out unless every line is filled.

mod config;

pub use config::{BlockIoConfig, BlockIoCounters, BlockPattern, CompletionMode};

use crate::driver::nvme::NvmeDriver;
use crate::host_memory::Region;
use hdrhistogram::Histogram;
use model::core::Core;
use model::device::DeviceId;
use model::device::nvme::rings::{NvmeQueuePair, Opcode, PAGE_BYTES, PAGE_LINES};
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::latency_histogram::{self, latency_histogram};
use model::software::{Account, Software, Turn};
use model::tracer::Tracer;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::VecDeque;
use units::{LineAddr, Picos};

/// An I/O, from its first cycle on.
#[derive(Clone, Copy, Debug)]
struct Io {
    opcode: Opcode,
    buffer: u32,
    begun: Picos,
}

/// State of the core: accesses to data take one page per turn.
#[derive(Clone, Copy, Debug)]
enum BlockIoPhase {
    /// Checks for completions and free entries.
    Look,
    /// Fills a buffer before its write, from this page on.
    Fill(Io, usize),
    /// Reads a buffer after its read, from this page on.
    Consume(Io, usize),
}

/// The job on one core.
#[derive(Debug)]
pub struct BlockIo {
    config: BlockIoConfig,
    core: Core,
    driver: NvmeDriver,
    /// First lines of the pages of each buffer.
    buffers: Vec<Vec<LineAddr>>,
    free: VecDeque<u32>,
    /// I/Os by command identifier.
    in_flight: Vec<Option<Io>>,
    phase: BlockIoPhase,
    next_block: u64,
    rng: ChaCha8Rng,
    /// When the core started to wait.
    waiting: Option<Picos>,
    /// Whether the interrupt of the visible completions has been taken.
    handling: bool,
    /// The job's counters.
    pub counters: BlockIoCounters,
    latency_ns: Histogram<u64>,
    queue: QueueId,
}

impl BlockIo {
    /// A job at time zero whose buffers are contiguous in `memory`.
    ///
    /// # Panics
    /// If there are fewer buffers than I/Os in flight, or a block is not a multiple of 4 KiB. Scenarios
    /// are checked before they get here.
    #[must_use]
    pub fn new(config: BlockIoConfig, core: Core, driver: NvmeDriver, memory: &Region) -> Self {
        assert!(config.buffers >= config.io_depth && config.io_depth > 0);
        assert!(config.block_bytes > 0 && config.block_bytes.is_multiple_of(PAGE_BYTES));
        let pages = config.block_bytes / PAGE_BYTES;
        let page = |buffer: u64, page: u64| memory.line((buffer * pages + page) * PAGE_LINES);
        let buffer = |buffer| (0..pages).map(|i| page(buffer, i)).collect();
        Self {
            core,
            driver,
            buffers: (0..u64::from(config.buffers)).map(buffer).collect(),
            free: (0..config.buffers).collect(),
            in_flight: vec![None; config.io_depth as usize],
            phase: BlockIoPhase::Look,
            next_block: 0,
            rng: ChaCha8Rng::seed_from_u64(config.seed),
            waiting: None,
            handling: false,
            counters: BlockIoCounters::default(),
            latency_ns: latency_histogram(),
            queue: QueueId { device: DeviceId(0), queue: 0 },
            config,
        }
    }

    /// The same job with another queue than the first of the first SSD.
    #[must_use]
    pub fn on_queue(self, queue: QueueId) -> Self {
        Self { queue, ..self }
    }

    /// The lines of its buffers, all of which the job has stored to before time zero.
    pub fn buffer_lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        let pages = self.buffers.iter().flatten();
        pages.flat_map(|page| (0..PAGE_LINES).map(|line| page.step(line)))
    }

    /// I/Os started and not completed.
    #[must_use]
    pub fn ios_in_work(&self) -> usize {
        let in_core = usize::from(!matches!(self.phase, BlockIoPhase::Look));
        in_core + self.in_flight.iter().flatten().count()
    }

    /// The core's account until `now`, including a wait in progress; its work is counted in I/Os.
    #[must_use]
    pub fn account(&self, now: Picos) -> Account {
        let waiting = self.waiting.map_or(Picos::ZERO, |since| now.saturating_sub(since));
        Account {
            idle: self.counters.idle + waiting,
            work: self.counters.completed,
            ..Account::default()
        }
    }

    /// Latencies of I/Os in ns, since the last call: from the first cycle of the submission to the
    /// last of the completion.
    pub fn take_latencies(&mut self) -> Histogram<u64> {
        latency_histogram::take(&mut self.latency_ns)
    }

    /// Does the next small amount of work at `now`.
    pub fn step<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        pair: &mut NvmeQueuePair,
        now: Picos,
    ) -> Turn {
        self.core.wait_until(now);
        if let Some(since) = self.waiting.take() {
            self.counters.idle += now.saturating_sub(since);
        }
        match self.phase {
            BlockIoPhase::Look => self.look(fabric, pair),
            BlockIoPhase::Fill(io, page) => self.fill(fabric, pair, io, page),
            BlockIoPhase::Consume(io, page) => self.consume(fabric, io, page),
        }
    }

    /// Handles a completion, or else submits an I/O if the queue has a free entry; otherwise waits.
    fn look<T: Tracer>(&mut self, fabric: &mut Fabric<T>, pair: &mut NvmeQueuePair) -> Turn {
        let known = self.known_from(pair);
        if known <= self.core.now() {
            self.take_interrupt();
            if let Some(id) = self.driver.reap(&mut self.core, fabric, pair) {
                self.complete(id);
                return Turn::Busy(self.core.now());
            }
        }
        self.handling = false;
        self.driver.acknowledge(&mut self.core);
        if self.driver.in_flight() < self.config.io_depth as usize
            && let Some(buffer) = self.free.pop_front()
        {
            self.begin(fabric, pair, buffer);
            return Turn::Busy(self.core.now());
        }
        if let CompletionMode::Polling { cycles } = self.config.completion {
            self.core.compute(cycles);
        }
        let until = self.known_from(pair);
        if until <= self.core.now() {
            return Turn::Busy(self.core.now());
        }
        self.waiting = Some(self.core.now());
        Turn::Idle(until)
    }

    /// When the software learns of the next completion.
    fn known_from(&self, pair: &NvmeQueuePair) -> Picos {
        let visible = NvmeDriver::next_visible(pair);
        match self.config.completion {
            CompletionMode::Interrupt { delivery, .. } if !self.handling => {
                visible.saturating_add(delivery)
            }
            _ => visible,
        }
    }

    fn take_interrupt(&mut self) {
        if let CompletionMode::Interrupt { cycles, .. } = self.config.completion
            && !std::mem::replace(&mut self.handling, true)
        {
            self.core.compute(cycles);
        }
    }

    fn begin<T: Tracer>(&mut self, fabric: &mut Fabric<T>, pair: &mut NvmeQueuePair, buffer: u32) {
        self.core.compute(self.config.work_cycles);
        let read = self.below(100) < u64::from(self.config.read_percent);
        let opcode = if read { Opcode::Read } else { Opcode::Write };
        let io = Io { opcode, buffer, begun: self.core.now() };
        self.counters.submitted += 1;
        if !read && self.config.fills_data {
            self.phase = BlockIoPhase::Fill(io, 0);
        } else {
            self.submit(fabric, pair, io);
        }
    }

    fn fill<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        pair: &mut NvmeQueuePair,
        io: Io,
        page: usize,
    ) -> Turn {
        let pages = &self.buffers[io.buffer as usize];
        for line in 0..PAGE_LINES {
            self.core.store(fabric, pages[page].step(line));
        }
        if page + 1 < pages.len() {
            self.phase = BlockIoPhase::Fill(io, page + 1);
        } else {
            self.phase = BlockIoPhase::Look;
            // The latency of an I/O begins with its submission.
            self.submit(fabric, pair, Io { begun: self.core.now(), ..io });
        }
        Turn::Busy(self.core.now())
    }

    fn submit<T: Tracer>(&mut self, fabric: &mut Fabric<T>, pair: &mut NvmeQueuePair, io: Io) {
        self.core.compute(self.config.submit_cycles);
        let pages = self.buffers[io.buffer as usize].clone();
        let first_page = self.block() * pages.len() as u64;
        let id = self.driver.submit(&mut self.core, fabric, pair, io.opcode, first_page, pages);
        self.driver.ring_doorbell(&mut self.core, pair);
        let id = id.expect("an identifier is free below the depth");
        self.in_flight[usize::from(id)] = Some(io);
    }

    /// A completion has been read: the I/O ends here, unless the core reads the data.
    fn complete(&mut self, id: u16) {
        self.core.compute(self.config.complete_cycles);
        let io = self.in_flight[usize::from(id)].take();
        let io = io.expect("a completion names a command in flight");
        let latency = self.core.now() - io.begun;
        self.latency_ns.saturating_record(latency.0 / 1_000);
        if self.config.reads_data && io.opcode == Opcode::Read {
            self.phase = BlockIoPhase::Consume(io, 0);
        } else {
            self.finish(io);
        }
    }

    fn consume<T: Tracer>(&mut self, fabric: &mut Fabric<T>, io: Io, page: usize) -> Turn {
        let pages = &self.buffers[io.buffer as usize];
        for line in 0..PAGE_LINES {
            self.core.load_independent(fabric, pages[page].step(line));
        }
        if page + 1 < pages.len() {
            self.phase = BlockIoPhase::Consume(io, page + 1);
        } else {
            self.phase = BlockIoPhase::Look;
            self.finish(io);
        }
        Turn::Busy(self.core.now())
    }

    fn finish(&mut self, io: Io) {
        self.counters.completed += 1;
        match io.opcode {
            Opcode::Read => self.counters.read_bytes += self.config.block_bytes,
            Opcode::Write => self.counters.written_bytes += self.config.block_bytes,
        }
        self.free.push_back(io.buffer);
    }

    /// The next block, in blocks from the device's start.
    fn block(&mut self) -> u64 {
        let blocks = (self.config.span_bytes / self.config.block_bytes).max(1);
        match self.config.pattern {
            BlockPattern::Random => self.below(blocks),
            BlockPattern::Sequential => {
                let block = self.next_block;
                self.next_block = (block + 1) % blocks;
                block
            }
        }
    }

    /// A uniform number below `bound`, which must be small compared with 2^32.
    fn below(&mut self, bound: u64) -> u64 {
        (u64::from(self.rng.next_u32()) * bound) >> 32
    }
}

impl<T: Tracer> Software<T> for BlockIo {
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn {
        Self::step(self, fabric, queues.nvme_pair(self.queue), now)
    }

    fn queues(&self) -> &[QueueId] {
        std::slice::from_ref(&self.queue)
    }

    fn account(&self, now: Picos) -> Account {
        Self::account(self, now)
    }

    fn take_latencies(&mut self) -> Option<Histogram<u64>> {
        Some(Self::take_latencies(self))
    }
}
