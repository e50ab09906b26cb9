//! Echo server of a ping-pong test on one core: poll, read, copy, answer.
//!
//! Models: a busy poll whose event line is in L1D until the card writes it, the headers read at once,
//! the message copied to the application's buffer line by line, the answer written into a send
//! buffer, receive buffers posted again between messages, interrupts of the operating system.
//! Source: sockperf in ping-pong mode over a kernel-bypass stack (Onload); jabperf blog (Skip the line
//! with Intel DDIO).
//! Simplifies: work between memory accesses is a number of cycles and instructions (platform file);
//! empty polls are counted, not simulated.

use crate::driver::mempool::Mempool;
use crate::driver::rx::{Refill, RxDriver};
use crate::driver::tx::TxDriver;
use crate::host_memory::Region;
use model::core::Core;
use model::device::nic::rings::{Packet, QueuePair};
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::software::{Account, Software, Turn};
use model::tracer::Tracer;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::cell::RefCell;
use std::rc::Rc;
use units::{Cycles, LINE_BYTES, LineAddr, Picos};

/// Work between memory accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PingPongWork {
    /// Cycles of the work, memory accesses apart.
    pub cycles: Cycles,
    /// Number of instructions of the work.
    pub instructions: u64,
}

/// Parameters of the server.
#[derive(Clone, Copy, Debug)]
pub struct PingPongConfig {
    /// One poll of an empty event queue.
    pub poll: PingPongWork,
    /// From the event to the application: headers, look-up of the socket.
    pub receive: PingPongWork,
    /// Bytes that the card writes before a packet.
    pub prefix_bytes: u64,
    /// Bytes of a packet's headers that are read first, including the application's own.
    pub header_bytes: u64,
    /// Copy of a line, without its load and store.
    pub copy: PingPongWork,
    /// From the copied message to the answer in the send queue.
    pub answer: PingPongWork,
    /// Interrupts of the server's core.
    pub interrupts: Interrupts,
    /// Seed of the times of interrupts.
    pub seed: u64,
}

/// Interrupts of the core: the operating system and its drivers.
#[derive(Clone, Copy, Debug)]
pub struct Interrupts {
    /// Mean time between two interrupts, which come at random.
    pub mean_distance: Picos,
    /// Work of one interrupt.
    pub work: PingPongWork,
    /// Number of lines that it reads and that were evicted since the last one.
    pub cold_lines: u64,
}

/// Distance between cold lines of interrupts: odd, so that all lines of the region are used in turn,
/// and too large for a prefetcher.
const COLD_STRIDE_LINES: u64 = 1021;

/// State of the server in its loop.
#[derive(Clone, Copy, Debug)]
enum PingPongPhase {
    Poll,
    Copy(Packet),
    /// The message is being copied into the application's buffer and is complete at the given time.
    Answer(Packet, Picos),
}

/// Memory of the server besides its buffer pool.
#[derive(Debug)]
pub struct PingPongMemory {
    /// First line of the application's buffer.
    pub message: LineAddr,
    /// Memory of the system's cold lines.
    pub system: Region,
    /// Number of lines of [`Self::system`], which interrupts read in turn.
    pub system_lines: u64,
}

/// The server on its core.
#[derive(Debug)]
pub struct PingPong {
    config: PingPongConfig,
    core: Core,
    pool: Rc<RefCell<Mempool>>,
    rx: RxDriver,
    tx: TxDriver,
    queue: QueueId,
    memory: PingPongMemory,
    phase: PingPongPhase,
    /// When it started to poll the empty queue.
    polling: Option<Picos>,
    idle: Picos,
    next_interrupt: Picos,
    rng: ChaCha8Rng,
    cold_line: u64,
    received: u64,
    answered: u64,
    /// Buffers taken from the pool for an answer.
    fresh: Vec<u32>,
}

impl PingPong {
    /// A server at time zero.
    #[must_use]
    pub fn new(
        config: PingPongConfig,
        core: Core,
        pool: Rc<RefCell<Mempool>>,
        (rx, tx): (RxDriver, TxDriver),
        queue: QueueId,
        memory: PingPongMemory,
    ) -> Self {
        let mut server = Self {
            next_interrupt: Picos::ZERO,
            rng: ChaCha8Rng::seed_from_u64(config.seed),
            config,
            core,
            pool,
            rx,
            tx,
            queue,
            memory,
            phase: PingPongPhase::Poll,
            polling: None,
            idle: Picos::ZERO,
            cold_line: 0,
            received: 0,
            answered: 0,
            fresh: Vec::with_capacity(1),
        };
        server.next_interrupt = server.time_to_interrupt();
        server
    }

    fn work(&mut self, work: PingPongWork) {
        self.core.compute(work.cycles);
        self.core.retire(work.instructions);
    }

    fn poll<T: Tracer>(&mut self, fabric: &mut Fabric<T>, pair: &mut QueuePair) -> Turn {
        let mut pool = self.pool.borrow_mut();
        self.tx.free_sent(&mut self.core, fabric, &mut pair.tx, &mut pool);
        if let Some(packet) = self.rx.receive(&mut self.core, fabric, &mut pair.rx, &mut pool) {
            drop(pool);
            self.received += 1;
            self.read_headers(fabric, packet);
            self.phase = PingPongPhase::Copy(packet);
            return Turn::Busy(self.core.now());
        }
        let refill = self.rx.refill(&mut self.core, fabric, &mut pair.rx, &mut pool);
        debug_assert!(refill == Refill::Done, "a scenario's pool is checked to be large enough");
        drop(pool);
        // The event line is in L1D from now until the card writes it.
        self.core.load(fabric, pair.rx.completions.line_of(self.received));
        let now = self.core.now();
        let seen = self.rx.next_visible(&pair.rx).min(TxDriver::next_completion(&pair.tx));
        self.polling = Some(now);
        Turn::Idle(seen.min(self.next_interrupt).max(now))
    }

    /// Reads the headers that stack and application need before the copy.
    fn read_headers<T: Tracer>(&mut self, fabric: &mut Fabric<T>, packet: Packet) {
        let bytes = self.config.prefix_bytes + self.config.header_bytes;
        for line in 0..bytes.div_ceil(LINE_BYTES) {
            self.core.load(fabric, packet.buffer.data.step(line));
        }
        self.work(self.config.receive);
    }

    /// Copies the message out of the receive buffer, and frees the buffer. The core continues while
    /// lines are under way.
    fn copy<T: Tracer>(&mut self, fabric: &mut Fabric<T>, packet: Packet) {
        let mut copied = self.core.now();
        for line in 0..self.lines_of(packet) {
            let read = self.core.load_independent(fabric, packet.buffer.data.step(line));
            self.core.store(fabric, self.memory.message.step(line));
            self.work(self.config.copy);
            copied = copied.max(read);
        }
        self.pool.borrow_mut().put(&mut self.core, fabric, &[packet.buffer.id]);
        self.phase = PingPongPhase::Answer(packet, copied);
    }

    /// Builds the answer in a send buffer and passes it to the card.
    fn answer<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        pair: &mut QueuePair,
        request: Packet,
        copied: Picos,
    ) {
        self.work(self.config.answer);
        self.core.wait_until(copied);
        let mut pool = self.pool.borrow_mut();
        let taken = pool.get(&mut self.core, fabric, 1, &mut self.fresh);
        debug_assert!(taken, "a scenario's pool is checked to be large enough");
        let Some(id) = self.fresh.pop() else { return };
        let answer = Packet { buffer: pool.buffer(id), ..request };
        for line in 0..self.lines_of(request) {
            self.core.load_independent(fabric, self.memory.message.step(line));
            self.core.store(fabric, answer.buffer.data.step(line));
        }
        self.tx.enqueue(&mut self.core, fabric, answer);
        self.tx.send_burst(&mut self.core, fabric, &mut pair.tx, &mut pool);
        self.answered += 1;
        self.phase = PingPongPhase::Poll;
    }

    /// Lines of a packet in its buffer, including the card's prefix.
    fn lines_of(&self, packet: Packet) -> u64 {
        (self.config.prefix_bytes + packet.bytes.0).div_ceil(LINE_BYTES)
    }

    /// The operating system interrupts the core.
    fn interrupt<T: Tracer>(&mut self, fabric: &mut Fabric<T>) {
        let interrupts = self.config.interrupts;
        for _ in 0..interrupts.cold_lines {
            self.cold_line = (self.cold_line + COLD_STRIDE_LINES) % self.memory.system_lines;
            self.core.load(fabric, self.memory.system.line(self.cold_line));
        }
        self.work(interrupts.work);
        self.next_interrupt = self.core.now() + self.time_to_interrupt();
    }

    /// An exponentially distributed time.
    fn time_to_interrupt(&mut self) -> Picos {
        let uniform = (f64::from(self.rng.next_u32()) + 1.0) / (f64::from(u32::MAX) + 1.0);
        Picos::from_ns(-uniform.ln() * self.config.interrupts.mean_distance.as_ns())
    }

    /// Ends a wait: the polls until now were empty, and the last of them began before `now`.
    fn end_wait(&mut self, now: Picos) {
        let Some(since) = self.polling.take() else { return };
        let polls = self.polls_until(since, now);
        let poll_time = self.core.span_of(self.config.poll.cycles);
        self.core.retire(polls * self.config.poll.instructions);
        self.core.wait_until(since + Picos(polls * poll_time.0));
        self.idle += self.core.now().saturating_sub(since);
    }

    /// Polls that begin between `since` and `now`.
    fn polls_until(&self, since: Picos, now: Picos) -> u64 {
        let poll_time = self.core.span_of(self.config.poll.cycles).max(Picos(1));
        now.saturating_sub(since).0.div_ceil(poll_time.0)
    }
}

impl<T: Tracer> Software<T> for PingPong {
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn {
        let pair = queues.nic_pair(self.queue);
        self.end_wait(now);
        self.core.wait_until(now);
        if self.next_interrupt <= self.core.now() {
            self.interrupt(fabric);
            return Turn::Busy(self.core.now());
        }
        match self.phase {
            PingPongPhase::Poll => return self.poll(fabric, pair),
            PingPongPhase::Copy(packet) => self.copy(fabric, packet),
            PingPongPhase::Answer(packet, copied) => self.answer(fabric, pair, packet, copied),
        }
        Turn::Busy(self.core.now())
    }

    fn queues(&self) -> &[QueueId] {
        std::slice::from_ref(&self.queue)
    }

    fn account(&self, now: Picos) -> Account {
        let waiting =
            self.polling.map(|since| (now.saturating_sub(since), self.polls_until(since, now)));
        let (waited, polls) = waiting.unwrap_or_default();
        Account {
            idle: self.idle + waited,
            work: self.answered,
            instructions: Some(self.core.instructions() + polls * self.config.poll.instructions),
            packets_in_work: usize::from(matches!(self.phase, PingPongPhase::Copy(_)))
                + self.rx.pending()
                + self.tx.waiting(),
            packets_in_ring: self.tx.in_ring(),
            packets_consumed: self.received
                - u64::from(matches!(self.phase, PingPongPhase::Copy(_))),
            buffers_free: self.pool.borrow().free(),
            ..Account::default()
        }
    }
}
