//! The run-to-completion loop of packet applications: receive a burst, handle each packet, send.
//!
//! Models: a core that polls its receive queue and takes bursts, prefetches lines of packets some ahead of
//! the one in work, passes each packet to its application, and then sends it or frees its buffer. A core
//! that serves several ports polls them in turn, one burst of each, and sends what a port has received out
//! of the same port.
//! Source: DPDK's sample applications; FastClick as on the measured testbed (blocking queue before the
//! send ring, sent from a number of packets on; a timer, which the thread looks at after a number of polls,
//! sends a rest).
//! Simplifies: buffers of packets that end here are freed together at the end of their burst.

use super::prefetch::SoftwarePrefetch;
use crate::driver::mempool::Mempool;
use crate::driver::rx::{Refill, RxDriver};
use crate::driver::tx::TxDriver;
use model::core::Core;
use model::device::nic::rings::{Packet, QueuePair};
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::software::{Account, Software, Turn};
use model::tracer::Tracer;
use std::cell::RefCell;
use std::fmt::Debug;
use std::rc::Rc;
use units::{Bytes, Cycles, Picos};

/// Outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet is sent, with this many bytes.
    Send(Bytes),
    /// The packet ends here and its buffer is freed.
    Consume,
}

impl Sending {
    /// Whether `waiting` packets are too few to be sent, and not none.
    fn leaves_rest(self, waiting: usize) -> bool {
        (1..self.at_packets).contains(&waiting)
    }
}

/// An application's work on a packet.
pub trait Handler: Debug {
    /// Processes a packet. What the loop prefetched of it has arrived.
    fn handle<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        packet: &Packet,
    ) -> Fate;
}

/// Parameters of the loop.
#[derive(Clone, Copy, Debug)]
pub struct PacketLoopConfig {
    /// Most packets of a receive burst.
    pub burst: usize,
    /// Cycles of one poll of an empty queue.
    pub poll_cycles: Cycles,
    /// Cycles of additional work per packet.
    pub extra_cycles: Cycles,
    /// Lines of each packet that are prefetched, and when.
    pub prefetch: SoftwarePrefetch,
    /// When packets that wait before the send ring are sent.
    pub sending: Sending,
}

/// When packets that wait before the send ring are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Number of waiting packets from which on all are sent.
    pub at_packets: usize,
    /// Number of polls after which the core sends fewer.
    pub rest_after_polls: u64,
}

/// The driver software of a core.
#[derive(Debug)]
pub struct Drivers {
    /// Pool from which packet buffers come, and to which they return.
    pub pool: Rc<RefCell<Mempool>>,
    /// Driver of the receive queue.
    pub rx: RxDriver,
    /// Driver of the send queue.
    pub tx: TxDriver,
    /// The queue pair of both.
    pub queue: QueueId,
    /// Whether the pool had no buffers left when the receive queue was refilled last.
    pub is_pool_dry: bool,
}

impl Drivers {
    /// Posts buffers to the receive queue; if the pool has none, those of sent packets are freed first.
    pub fn refill<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        pair: &mut QueuePair,
    ) -> Refill {
        let mut pool = self.pool.borrow_mut();
        let refill = self.rx.refill(core, fabric, &mut pair.rx, &mut pool);
        if refill == Refill::Done {
            return refill;
        }
        self.tx.free_sent(core, fabric, &mut pair.tx, &mut pool);
        self.rx.refill(core, fabric, &mut pair.rx, &mut pool)
    }

    /// Returns the buffers of packets that end here, given the first of each, to the pool.
    pub fn free<T: Tracer>(&self, core: &mut Core, fabric: &mut Fabric<T>, buffers: &[u32]) {
        if buffers.is_empty() {
            return;
        }
        let mut pool = self.pool.borrow_mut();
        let mut freed = Vec::with_capacity(buffers.len());
        for &first in buffers {
            pool.unchain(first, &mut freed);
        }
        for &id in &freed {
            for line in pool.freed_lines(id) {
                core.load_independent(fabric, line);
            }
        }
        pool.put(core, fabric, &freed);
    }
}

/// State of the core in its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoopPhase {
    Receive,
    Process(usize),
    Send,
}

/// An application on one core.
#[derive(Debug)]
pub struct PacketLoop<H> {
    config: PacketLoopConfig,
    handler: H,
    core: Core,
    /// Drivers of the core's queues, one for each port.
    ports: Vec<Drivers>,
    /// The queues of all ports.
    queues: Vec<QueueId>,
    /// The port whose turn it is.
    turn: usize,
    /// Ports in a row whose receive queue was found empty.
    found_empty: usize,
    phase: LoopPhase,
    /// The burst in progress, with the time when what was prefetched of each packet arrives in L1D.
    batch: Vec<(Packet, Option<Picos>)>,
    /// Buffers of packets of this burst that end here.
    ended: Vec<u32>,
    /// Polls since the core last looked whether a rest waits to be sent.
    polls: u64,
    /// When the core started to wait, and whether for the send ring.
    waiting: Option<(Picos, bool)>,
    idle: Picos,
    sender_blocked: Picos,
    handled: u64,
    consumed: u64,
}

impl<H: Handler> PacketLoop<H> {
    /// A core at time zero, which serves one port.
    #[must_use]
    pub fn new(config: PacketLoopConfig, handler: H, core: Core, drivers: Drivers) -> Self {
        Self::with_ports(config, handler, core, vec![drivers])
    }

    /// A core at time zero, which serves several ports from one pool.
    ///
    /// # Panics
    /// If there is no port.
    #[must_use]
    pub fn with_ports(
        config: PacketLoopConfig,
        handler: H,
        core: Core,
        ports: Vec<Drivers>,
    ) -> Self {
        assert!(!ports.is_empty(), "a core that serves no port has nothing to poll");
        Self {
            config,
            handler,
            core,
            queues: ports.iter().map(|drivers| drivers.queue).collect(),
            ports,
            turn: 0,
            found_empty: 0,
            phase: LoopPhase::Receive,
            batch: Vec::with_capacity(config.burst),
            ended: Vec::with_capacity(config.burst),
            polls: 0,
            waiting: None,
            idle: Picos::ZERO,
            sender_blocked: Picos::ZERO,
            handled: 0,
            consumed: 0,
        }
    }

    /// Packets that have been taken from the receive queue and are neither in the send queue nor freed.
    fn packets_in_work(&self) -> usize {
        let unprocessed = match self.phase {
            LoopPhase::Process(next) => self.batch.len() - next,
            LoopPhase::Receive | LoopPhase::Send => self.batch.len(),
        };
        let of_ports = self.ports.iter().map(|port| port.rx.pending() + port.tx.waiting());
        unprocessed + self.ended.len() + of_ports.sum::<usize>()
    }

    fn receive<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) -> Turn {
        if self.rest_is_due() {
            self.phase = LoopPhase::Send;
            return Turn::Busy(self.core.now());
        }
        self.polls += 1;
        let port = &mut self.ports[self.turn];
        let pair = queues.nic_pair(port.queue);
        let refill = port.refill(&mut self.core, fabric, pair);
        port.is_pool_dry = refill == Refill::PoolDry;
        let Drivers { pool, rx, .. } = port;
        let mut pool = pool.borrow_mut();
        self.batch.clear();
        while self.batch.len() < self.config.burst
            && let Some(packet) = rx.receive(&mut self.core, fabric, &mut pair.rx, &mut pool)
        {
            let prefetch = self.config.prefetch;
            // Looked at one by one as they come, and from then on one for each packet in work.
            let ready = (self.batch.len() < prefetch.packets_ahead)
                .then(|| prefetch.fetch(&mut self.core, fabric, &packet, &pool));
            self.batch.push((packet, ready));
        }
        drop(pool);
        if !self.batch.is_empty() {
            self.found_empty = 0;
            self.phase = LoopPhase::Process(0);
            return Turn::Busy(self.core.now());
        }
        self.core.compute(self.config.poll_cycles);
        if self.next_sendable(self.turn, queues) <= self.core.now() {
            self.phase = LoopPhase::Send;
            return Turn::Busy(self.core.now());
        }
        self.found_empty += 1;
        self.turn_to_next_port();
        if self.found_empty < self.ports.len() {
            return Turn::Busy(self.core.now());
        }
        self.found_empty = 0;
        let until = (0..self.ports.len()).map(|port| self.next_event(port, queues)).min();
        self.wait(until.unwrap_or(Picos::NEVER), false)
    }

    /// When the core may send what waits at a port, after some polls if that is only a rest.
    fn next_sendable(&self, port: usize, queues: &mut Queues) -> Picos {
        let Drivers { tx, queue, .. } = &self.ports[port];
        let sendable = tx.next_chance(&queues.nic_pair(*queue).tx);
        if !self.config.sending.leaves_rest(tx.waiting()) {
            return sendable;
        }
        let polls = self.config.sending.rest_after_polls.saturating_sub(self.polls);
        let poll = poll_time(&self.core, self.config);
        sendable.max(self.core.now() + Picos(poll.0 * polls))
    }

    /// When the core has something to do for a port: to send, to free buffers for a dry pool, or to receive.
    fn next_event(&self, port: usize, queues: &mut Queues) -> Picos {
        let sendable = self.next_sendable(port, queues);
        let Drivers { rx, queue, is_pool_dry, .. } = &self.ports[port];
        let pair = queues.nic_pair(*queue);
        let freed = if *is_pool_dry { TxDriver::next_completion(&pair.tx) } else { Picos::NEVER };
        sendable.min(freed).min(rx.next_visible(&pair.rx))
    }

    fn turn_to_next_port(&mut self) {
        self.turn += 1;
        if self.turn == self.ports.len() {
            self.turn = 0;
        }
    }

    fn process<T: Tracer>(&mut self, fabric: &mut Fabric<T>, index: usize) -> Turn {
        if !self.ports[self.turn].tx.has_room() {
            // The queue is blocking: the core sends until it has a free entry.
            self.phase = LoopPhase::Send;
            self.batch.drain(..index);
            return Turn::Busy(self.core.now());
        }
        self.prefetch_ahead_of(fabric, index);
        let (packet, ready) = self.batch[index];
        if let Some(ready) = ready {
            self.core.wait_until(ready);
        }
        let fate = self.handler.handle(&mut self.core, fabric, &packet);
        self.core.compute(self.config.extra_cycles);
        match fate {
            Fate::Send(bytes) => {
                let packet = Packet { bytes, ..packet };
                self.ports[self.turn].tx.enqueue(&mut self.core, fabric, packet);
            }
            Fate::Consume => self.ended.push(packet.buffer.id),
        }
        self.handled += 1;
        if index + 1 < self.batch.len() {
            self.phase = LoopPhase::Process(index + 1);
        } else {
            self.batch.clear();
            self.free_ended(fabric);
            let waiting = self.ports[self.turn].tx.waiting();
            self.phase = match waiting < self.config.sending.at_packets {
                true => LoopPhase::Receive,
                false => LoopPhase::Send,
            };
            if self.phase == LoopPhase::Receive {
                self.turn_to_next_port();
            }
        }
        Turn::Busy(self.core.now())
    }

    /// Prefetches the packet that is as far ahead of the one in work as the software looks, if it did not
    /// when the burst came.
    fn prefetch_ahead_of<T: Tracer>(&mut self, fabric: &mut Fabric<T>, index: usize) {
        let prefetch = self.config.prefetch;
        if prefetch.packets_ahead == 0 {
            return;
        }
        if let Some((packet, ready @ None)) = self.batch.get_mut(index + prefetch.packets_ahead) {
            let pool = self.ports[self.turn].pool.borrow();
            *ready = Some(prefetch.fetch(&mut self.core, fabric, packet, &pool));
        }
    }

    /// Frees the buffers of packets that ended here.
    fn free_ended<T: Tracer>(&mut self, fabric: &mut Fabric<T>) {
        self.ports[self.turn].free(&mut self.core, fabric, &self.ended);
        self.consumed += self.ended.len() as u64;
        self.ended.clear();
    }

    fn send<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) -> Turn {
        let Drivers { pool, tx, queue, .. } = &mut self.ports[self.turn];
        let pair = queues.nic_pair(*queue);
        let sent = tx.send_burst(&mut self.core, fabric, &mut pair.tx, &mut pool.borrow_mut());
        if sent > 0 && tx.waiting() > 0 {
            return Turn::Busy(self.core.now());
        }
        if self.batch.is_empty() {
            self.phase = LoopPhase::Receive;
            self.turn_to_next_port();
        } else if tx.has_room() {
            self.phase = LoopPhase::Process(0);
        } else {
            self.core.compute(self.config.poll_cycles);
            let until = tx.next_chance(&pair.tx);
            return self.wait(until, true);
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

    /// Whether the core has polled often enough to send a rest, and one waits.
    fn rest_is_due(&mut self) -> bool {
        if self.polls < self.config.sending.rest_after_polls {
            return false;
        }
        self.polls = 0;
        self.config.sending.leaves_rest(self.ports[self.turn].tx.waiting())
    }

    fn end_wait(&mut self, now: Picos) {
        if let Some((since, false)) = self.waiting {
            let poll = poll_time(&self.core, self.config);
            self.polls += now.saturating_sub(since).0 / poll.0;
        }
        self.core.wait_until(now);
        (self.idle, self.sender_blocked) = self.waits_until(now);
        self.waiting = None;
    }

    /// Time of empty polls and of waiting for the send ring, including a wait in progress.
    fn waits_until(&self, now: Picos) -> (Picos, Picos) {
        match self.waiting {
            Some((since, true)) => (self.idle, self.sender_blocked + now.saturating_sub(since)),
            Some((since, false)) => (self.idle + now.saturating_sub(since), self.sender_blocked),
            None => (self.idle, self.sender_blocked),
        }
    }
}

/// Time of one poll of an empty queue.
fn poll_time(core: &Core, config: PacketLoopConfig) -> Picos {
    core.span_of(config.poll_cycles).max(Picos(1))
}

impl<T: Tracer, H: Handler> Software<T> for PacketLoop<H> {
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn {
        self.end_wait(now);
        match self.phase {
            LoopPhase::Receive => self.receive(fabric, queues),
            LoopPhase::Process(index) => self.process(fabric, index),
            LoopPhase::Send => self.send(fabric, queues),
        }
    }

    fn queues(&self) -> &[QueueId] {
        &self.queues
    }

    fn account(&self, now: Picos) -> Account {
        let (idle, sender_blocked) = self.waits_until(now);
        Account {
            idle,
            sender_blocked,
            work: self.handled,
            packets_in_work: self.packets_in_work(),
            packets_in_ring: self.ports.iter().map(|port| port.tx.in_ring()).sum(),
            packets_consumed: self.consumed,
            buffers_free: self.ports[0].pool.borrow().free(),
            ..Account::default()
        }
    }
}
