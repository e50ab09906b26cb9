//! Run-to-completion L2 forwarder: receive a burst, swap MAC addresses, queue, send.
//!
//! Models: the forwarder of the measured testbed (burst 32, header line read and written,
//! annotations in the private area, blocking software queue before the send ring), with optional
//! extra work per packet.
//! Source: public scripts of ddio-bench (github aliireza/ddio-bench@55d0542).
//! Simplifies: work between memory accesses is a number of cycles per packet (scenario key).

use crate::driver::mempool::Mempool;
use crate::driver::rx::{Refill, RxDriver};
use crate::driver::tx::TxDriver;
use model::core::Core;
use model::device::nic::rings::{Packet, QueuePair};
use model::fabric::Fabric;
use model::machine::{Account, QueueId, Queues, Software, Turn};
use model::tracer::Tracer;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Cycles, Picos};

/// Parameters of the forwarder.
#[derive(Clone, Copy, Debug)]
pub struct L2ForwardConfig {
    /// Packets per receive burst.
    pub burst: usize,
    /// Work per packet outside memory stalls.
    pub cycles_per_packet: Cycles,
    /// Extra work per packet.
    pub extra_cycles: Cycles,
    /// Work of one look at an empty queue.
    pub poll_cycles: Cycles,
    /// Lines of the private area written per packet.
    pub annotation_lines: u64,
}

/// Where the forwarder is in its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Receive,
    Process(usize),
    Send,
}

/// The forwarder on one core.
#[derive(Debug)]
pub struct L2Forward {
    config: L2ForwardConfig,
    core: Core,
    pool: Rc<RefCell<Mempool>>,
    rx: RxDriver,
    tx: TxDriver,
    phase: Phase,
    /// The burst in work, with the time when each header is in L1D.
    batch: Vec<(Packet, Picos)>,
    /// Since when the core waits, and whether for the send ring.
    waiting: Option<(Picos, bool)>,
    idle: Picos,
    sender_blocked: Picos,
    forwarded: u64,
    queue: QueueId,
}

impl L2Forward {
    /// A forwarder at time zero.
    #[must_use]
    pub fn new(
        config: L2ForwardConfig,
        core: Core,
        pool: Rc<RefCell<Mempool>>,
        rx: RxDriver,
        tx: TxDriver,
        queue: QueueId,
    ) -> Self {
        Self {
            config,
            core,
            pool,
            rx,
            tx,
            phase: Phase::Receive,
            batch: Vec::with_capacity(config.burst),
            waiting: None,
            idle: Picos::ZERO,
            sender_blocked: Picos::ZERO,
            forwarded: 0,
            queue,
        }
    }

    /// Packets that have been taken from the receive queue and not handed to the send queue.
    fn packets_in_work(&self) -> usize {
        let unprocessed = match self.phase {
            Phase::Process(next) => self.batch.len() - next,
            Phase::Receive | Phase::Send => self.batch.len(),
        };
        unprocessed + self.rx.pending() + self.tx.waiting()
    }

    fn receive<T: Tracer>(&mut self, fabric: &mut Fabric<T>, pair: &mut QueuePair) -> Turn {
        let mut pool = self.pool.borrow_mut();
        let mut refill = self.rx.refill(&mut self.core, fabric, &mut pair.rx, &mut pool);
        if refill == Refill::PoolDry {
            // Buffers of sent packets may be all that is left.
            self.tx.free_sent(&mut self.core, fabric, &mut pair.tx, &mut pool);
            refill = self.rx.refill(&mut self.core, fabric, &mut pair.rx, &mut pool);
        }
        self.batch.clear();
        while self.batch.len() < self.config.burst
            && let Some(packet) = self.rx.receive(&mut self.core, fabric, &mut pair.rx, &pool)
        {
            let ready = self.core.prefetch(fabric, packet.buffer.data);
            self.batch.push((packet, ready));
        }
        drop(pool);
        if !self.batch.is_empty() {
            self.phase = Phase::Process(0);
            return Turn::Busy(self.core.now());
        }
        self.core.compute(self.config.poll_cycles);
        let sendable = self.tx.next_chance(&pair.tx);
        if sendable <= self.core.now() {
            self.phase = Phase::Send;
            return Turn::Busy(self.core.now());
        }
        let freed = match refill {
            Refill::PoolDry => TxDriver::next_completion(&pair.tx),
            Refill::Done => Picos::NEVER,
        };
        self.wait(sendable.min(freed).min(self.rx.next_visible(&pair.rx)), false)
    }

    fn process<T: Tracer>(&mut self, fabric: &mut Fabric<T>, index: usize) -> Turn {
        if !self.tx.has_room() {
            // The queue is blocking: the core sends until there is room.
            self.phase = Phase::Send;
            self.batch.drain(..index);
            return Turn::Busy(self.core.now());
        }
        let (packet, ready) = self.batch[index];
        self.core.wait_until(ready);
        self.core.load(fabric, packet.buffer.data);
        self.core.store(fabric, packet.buffer.data);
        let private = self.pool.borrow().private_line(packet.buffer.id);
        for line in 0..self.config.annotation_lines {
            self.core.store(fabric, private.step(line));
        }
        self.core.compute(self.config.cycles_per_packet);
        self.core.compute(self.config.extra_cycles);
        self.tx.enqueue(&mut self.core, fabric, packet);
        self.forwarded += 1;
        self.phase = if index + 1 < self.batch.len() {
            Phase::Process(index + 1)
        } else {
            self.batch.clear();
            Phase::Send
        };
        Turn::Busy(self.core.now())
    }

    fn send<T: Tracer>(&mut self, fabric: &mut Fabric<T>, pair: &mut QueuePair) -> Turn {
        let mut pool = self.pool.borrow_mut();
        let sent = self.tx.send_burst(&mut self.core, fabric, &mut pair.tx, &mut pool);
        drop(pool);
        let more = sent > 0 && self.tx.waiting() > 0;
        if more {
            return Turn::Busy(self.core.now());
        }
        if self.batch.is_empty() {
            self.phase = Phase::Receive;
        } else if self.tx.has_room() {
            self.phase = Phase::Process(0);
        } else {
            self.core.compute(self.config.poll_cycles);
            return self.wait(self.tx.next_chance(&pair.tx), true);
        }
        Turn::Busy(self.core.now())
    }

    fn wait(&mut self, until: Picos, for_sender: bool) -> Turn {
        let now = self.core.now();
        if until <= now {
            return Turn::Busy(now);
        }
        self.waiting = Some((now, for_sender));
        Turn::Idle(until)
    }

    fn end_wait(&mut self, now: Picos) {
        self.core.wait_until(now);
        (self.idle, self.sender_blocked) = self.waits_until(now);
        self.waiting = None;
    }

    /// Time spent polling in vain and waiting for the send ring, a wait that still goes on included.
    fn waits_until(&self, now: Picos) -> (Picos, Picos) {
        match self.waiting {
            Some((since, true)) => (self.idle, self.sender_blocked + now.saturating_sub(since)),
            Some((since, false)) => (self.idle + now.saturating_sub(since), self.sender_blocked),
            None => (self.idle, self.sender_blocked),
        }
    }
}

impl<T: Tracer> Software<T> for L2Forward {
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn {
        let queues = queues.nic_pair(self.queue);
        self.end_wait(now);
        match self.phase {
            Phase::Receive => self.receive(fabric, queues),
            Phase::Process(index) => self.process(fabric, index),
            Phase::Send => self.send(fabric, queues),
        }
    }

    fn queues(&self) -> &[QueueId] {
        std::slice::from_ref(&self.queue)
    }

    fn account(&self, now: Picos) -> Account {
        let (idle, sender_blocked) = self.waits_until(now);
        Account {
            probes: model::counters::ProbeCounts::default(),
            idle,
            sender_blocked,
            work: self.forwarded,
            instructions: self.core.instructions(),
            packets_in_work: self.packets_in_work(),
            packets_in_ring: self.tx.in_ring(),
            packets_consumed: 0,
            buffers_free: self.pool.borrow().free(),
        }
    }
}
