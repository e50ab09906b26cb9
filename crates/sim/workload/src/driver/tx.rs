//! The driver's half of a send queue, and the software queue before it.
//!
//! Models: a bounded software queue, bursts as requests with small packets copied into them, buffers
//! freed when a completion reports them, or at once if the packet was copied.
//! Source: public scripts of ddio-bench (internal queue 1024, blocking); DPDK mlx5 driver (completions,
//! inlining).
//! Simplifies: a copy costs only its loads and stores; the buffer of a copied packet is freed without a
//! look at the second line of its mbuf.

use super::mempool::Mempool;
use model::core::Core;
use model::device::nic::rings::{Packet, TxRequest, TxRing};
use model::fabric::Fabric;
use model::root_complex::mmio::MmioPath;
use model::tracer::Tracer;
use std::collections::VecDeque;
use units::{LINE_BYTES, LineAddr, Picos};

/// Pointers per line of the software queue.
const POINTERS_PER_LINE: u64 = 8;

/// Driver state of a send queue.
#[derive(Debug)]
pub struct TxDriver {
    /// Largest number of packets in the ring.
    ring_packets: u32,
    burst: usize,
    doorbell: MmioPath,
    /// Packets waiting for the ring.
    waiting: VecDeque<Packet>,
    waiting_limit: usize,
    waiting_lines: LineAddr,
    enqueued: u64,
    /// Packets in the ring, oldest first, with their buffer unless it is already freed.
    in_ring: VecDeque<Option<u32>>,
    /// Buffers among them that are not freed.
    held: usize,
    next_entry: u64,
    freed: Vec<u32>,
    reported: u64,
}

/// Shape of a send queue.
#[derive(Clone, Copy, Debug)]
pub struct TxDriverConfig {
    /// Largest number of packets in the ring.
    pub ring_packets: u32,
    /// Largest number of packets that wait for the ring.
    pub internal_queue: u32,
    /// Most packets of a send request.
    pub burst: u32,
    /// How doorbells reach the NIC.
    pub doorbell: MmioPath,
}

impl TxDriver {
    /// An empty queue with its software queue at `waiting_lines`.
    #[must_use]
    pub fn new(config: TxDriverConfig, waiting_lines: LineAddr) -> Self {
        Self {
            ring_packets: config.ring_packets,
            burst: config.burst as usize,
            doorbell: config.doorbell,
            waiting: VecDeque::new(),
            waiting_limit: config.internal_queue as usize,
            waiting_lines,
            enqueued: 0,
            in_ring: VecDeque::new(),
            held: 0,
            next_entry: 0,
            freed: Vec::new(),
            reported: 0,
        }
    }

    /// Packets that wait for the ring.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Packets in the ring that no completion has reported and that still hold their buffer.
    #[must_use]
    pub fn in_ring(&self) -> usize {
        self.held
    }

    /// Packets that completions have reported since time zero, in the order in which they were enqueued.
    #[must_use]
    pub fn reported(&self) -> u64 {
        self.reported
    }

    /// Whether another packet may wait.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.waiting.len() < self.waiting_limit
    }

    /// Adds a packet to the software queue.
    pub fn enqueue<T: Tracer>(&mut self, core: &mut Core, fabric: &mut Fabric<T>, packet: Packet) {
        let line = self.enqueued % self.waiting_limit as u64 / POINTERS_PER_LINE;
        core.store(fabric, self.waiting_lines.step(line));
        self.enqueued += 1;
        self.waiting.push_back(packet);
    }

    /// When a waiting packet can enter the ring: now, when the next completion becomes visible, or
    /// never if no packet waits or no completion is under way.
    #[must_use]
    pub fn next_chance(&self, ring: &TxRing) -> Picos {
        if self.waiting.is_empty() {
            return Picos::NEVER;
        }
        if self.in_ring.len() < self.ring_packets as usize {
            return Picos::ZERO;
        }
        Self::next_completion(ring)
    }

    /// When the next completion becomes visible; never if none is under way.
    #[must_use]
    pub fn next_completion(ring: &TxRing) -> Picos {
        ring.completed.front().map_or(Picos::NEVER, |completion| completion.0)
    }

    /// Frees the buffers of sent packets, then posts one burst; returns its number of packets.
    pub fn send_burst<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        ring: &mut TxRing,
        pool: &mut Mempool,
    ) -> usize {
        self.free_sent(core, fabric, ring, pool);
        let room = self.ring_packets as usize - self.in_ring.len();
        let count = self.burst.min(self.waiting.len()).min(room);
        if count == 0 {
            return 0;
        }
        let packets: Vec<Packet> = self.waiting.drain(..count).collect();
        self.freed.clear();
        for packet in &packets {
            fabric.expect(core.id(), pool.mbuf_line(packet.buffer.id));
        }
        for packet in &packets {
            core.load_independent(fabric, pool.mbuf_line(packet.buffer.id));
            self.take(core, fabric, ring, packet);
        }
        let entries = ring.request_entries(&packets);
        for entry in 0..entries {
            core.store(fabric, ring.requests.line_of(self.next_entry + entry));
        }
        if ring.format.has_doorbell_record() {
            core.store(fabric, ring.doorbell);
        }
        if !self.freed.is_empty() {
            pool.put(core, fabric, &self.freed);
        }
        ring.queued.push_back(TxRequest {
            visible: core.post(&self.doorbell),
            first_entry: self.next_entry,
            packets,
        });
        self.next_entry += entries;
        count
    }

    /// Takes a packet into the ring: an inlined one is read now, and its buffer is freed.
    fn take<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        ring: &TxRing,
        packet: &Packet,
    ) {
        if ring.is_inlined(packet) {
            for line in 0..packet.bytes.0.div_ceil(LINE_BYTES) {
                core.load_independent(fabric, packet.buffer.data.step(line));
            }
            self.freed.push(packet.buffer.id);
            self.in_ring.push_back(None);
        } else {
            self.held += 1;
            self.in_ring.push_back(Some(packet.buffer.id));
        }
    }

    /// Returns the buffers of reported packets to the pool.
    pub fn free_sent<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        ring: &mut TxRing,
        pool: &mut Mempool,
    ) {
        while let Some(&(visible, line, packets)) = ring.completed.front() {
            if visible > core.now() {
                break;
            }
            ring.completed.pop_front();
            core.load(fabric, line);
            self.freed.clear();
            self.freed.extend(self.in_ring.drain(..packets as usize).flatten());
            self.held -= self.freed.len();
            self.reported += u64::from(packets);
            for line in self.freed.iter().flat_map(|&id| pool.freed_lines(id)) {
                fabric.expect(core.id(), line);
            }
            for line in self.freed.iter().flat_map(|&id| pool.freed_lines(id)) {
                core.load_independent(fabric, line);
            }
            if !self.freed.is_empty() {
                pool.put(core, fabric, &self.freed);
            }
        }
    }
}
