//! A sender: a core that builds packets and sends them as fast as the send ring takes them.
//!
//! Models: buffers from the pool, filled by the core (the whole packet, or its header only) and sent in
//! bursts; buffers are freed when their completion has been read.
//! Source: DPDK testpmd (txonly) and pktgen; ISPASS'20's transmit experiments.
//! Simplifies: packets of one size; each costs the same work.

use super::work::Work;
use crate::driver::mempool::Mempool;
use crate::driver::tx::TxDriver;
use model::core::Core;
use model::device::nic::rings::{Packet, QueuePair};
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::software::{Account, Software, Turn};
use model::tracer::Tracer;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Bytes, Cycles, LINE_BYTES, Picos};

/// Parameters of the sender.
#[derive(Clone, Copy, Debug)]
pub struct PacketGeneratorConfig {
    /// Number of packets of a send burst.
    pub burst: usize,
    /// Size of each packet without FCS.
    pub packet_bytes: u64,
    /// Whether the core writes the payload, or only the first line.
    pub writes_payload: bool,
    /// Work per packet.
    pub work: Work,
    /// Cycles of one poll of a full send ring.
    pub poll_cycles: Cycles,
}

/// The sender on one core.
#[derive(Debug)]
pub struct PacketGenerator {
    config: PacketGeneratorConfig,
    core: Core,
    pool: Rc<RefCell<Mempool>>,
    tx: TxDriver,
    queue: QueueId,
    /// Buffers of a burst that are not filled yet.
    fresh: Vec<u32>,
    /// When the core started to wait for the send ring.
    waiting: Option<Picos>,
    sender_blocked: Picos,
    built: u64,
}

impl PacketGenerator {
    /// A sender at time zero.
    #[must_use]
    pub fn new(
        config: PacketGeneratorConfig,
        core: Core,
        pool: Rc<RefCell<Mempool>>,
        tx: TxDriver,
        queue: QueueId,
    ) -> Self {
        Self {
            config,
            core,
            pool,
            tx,
            queue,
            fresh: Vec::with_capacity(config.burst),
            waiting: None,
            sender_blocked: Picos::ZERO,
            built: 0,
        }
    }

    /// Takes buffers for a burst; returns whether the pool had them.
    fn take_buffers<T: Tracer>(&mut self, fabric: &mut Fabric<T>) -> bool {
        self.fresh.clear();
        let mut pool = self.pool.borrow_mut();
        pool.get(&mut self.core, fabric, self.config.burst, &mut self.fresh)
    }

    /// Builds a packet in a buffer.
    fn build<T: Tracer>(&mut self, fabric: &mut Fabric<T>, id: u32) {
        let (buffer, mbuf) = {
            let pool = self.pool.borrow();
            (pool.buffer(id), pool.mbuf_line(id))
        };
        self.core.store(fabric, mbuf);
        let lines = match self.config.writes_payload {
            true => self.config.packet_bytes.div_ceil(LINE_BYTES),
            false => 1,
        };
        for line in 0..lines {
            self.core.store(fabric, buffer.data.step(line));
        }
        self.config.work.run_on(&mut self.core);
        let packet = Packet {
            buffer,
            buffers: 1,
            bytes: Bytes(self.config.packet_bytes),
            arrival: self.core.now(),
            // It never had a receive descriptor.
            sequence: u64::MAX,
            rss_hash: 0,
        };
        self.tx.enqueue(&mut self.core, fabric, packet);
        self.built += 1;
    }

    fn send<T: Tracer>(&mut self, fabric: &mut Fabric<T>, pair: &mut QueuePair) -> Turn {
        let sent = {
            let mut pool = self.pool.borrow_mut();
            self.tx.send_burst(&mut self.core, fabric, &mut pair.tx, &mut pool)
        };
        if sent > 0 {
            return Turn::Busy(self.core.now());
        }
        self.core.compute(self.config.poll_cycles);
        let until = match self.tx.waiting() {
            0 => TxDriver::next_completion(&pair.tx),
            _ => self.tx.next_chance(&pair.tx),
        };
        if until <= self.core.now() {
            return Turn::Busy(self.core.now());
        }
        self.waiting = Some(self.core.now());
        Turn::Idle(until)
    }

    fn blocked_until(&self, now: Picos) -> Picos {
        let wait = self.waiting.map_or(Picos::ZERO, |since| now.saturating_sub(since));
        self.sender_blocked + wait
    }
}

impl<T: Tracer> Software<T> for PacketGenerator {
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn {
        self.core.wait_until(now);
        self.sender_blocked = self.blocked_until(now);
        self.waiting = None;
        let begins_burst = self.fresh.is_empty() && self.tx.waiting() == 0;
        if begins_burst && !self.take_buffers(fabric) {
            // Only buffers of sent packets are left.
            return self.send(fabric, queues.nic_pair(self.queue));
        }
        match self.fresh.pop() {
            Some(id) => {
                self.build(fabric, id);
                Turn::Busy(self.core.now())
            }
            None => self.send(fabric, queues.nic_pair(self.queue)),
        }
    }

    fn queues(&self) -> &[QueueId] {
        std::slice::from_ref(&self.queue)
    }

    fn account(&self, now: Picos) -> Account {
        Account {
            sender_blocked: self.blocked_until(now),
            work: self.built,
            packets_in_work: self.fresh.len() + self.tx.waiting(),
            packets_in_ring: self.tx.in_ring(),
            buffers_free: self.pool.borrow().free(),
            ..Account::default()
        }
    }
}
