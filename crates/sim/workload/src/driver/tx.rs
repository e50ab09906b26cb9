//! The driver's half of a send queue, and the software queue before it.
//!
//! Models: a bounded software queue, bursts as requests with small packets copied into them, buffers
//! freed when a completion reports them, or at once if the packet was copied.
//! A chained packet has a request of its own.
//! Source: public scripts of ddio-bench (internal queue 1024, blocking); DPDK mlx5 driver (completions,
//! inlining).
//! Simplifies: a copy costs only its loads and stores; the buffer of a copied packet is freed without a
//! look at the second line of its mbuf.

use super::mempool::Mempool;
use model::core::Core;
use model::device::nic::rings::{Buffer, Packet, TxRequest, TxRing};
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
    /// Largest number of packets in the ring, of which a chained one counts once for each buffer.
    ring_packets: u32,
    burst: usize,
    doorbell: MmioPath,
    /// Packets waiting for the ring.
    waiting: VecDeque<Packet>,
    waiting_limit: usize,
    waiting_lines: LineAddr,
    enqueued: u64,
    /// Packets in the ring, oldest first: the first buffer unless it is already freed, and how many.
    in_ring: VecDeque<(Option<u32>, u32)>,
    /// Buffers of those packets, each of which takes a place.
    places: u32,
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
            places: 0,
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
        let Some(next) = self.waiting.front() else { return Picos::NEVER };
        if self.places + next.buffers <= self.ring_packets {
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
        let count = self.next_burst();
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
        let mut requests = Vec::with_capacity(1);
        let alone = |one: &Packet, next: &Packet| one.buffers == 1 && next.buffers == 1;
        for packets in packets.chunk_by(alone) {
            let chained = read_chain(core, fabric, pool, &packets[0]);
            let entries = ring.request_entries(packets);
            for entry in 0..entries {
                core.store(fabric, ring.requests.line_of(self.next_entry + entry));
            }
            requests.push((self.next_entry, packets.to_vec(), chained));
            self.next_entry += entries;
        }
        if ring.format.has_doorbell_record() {
            core.store(fabric, ring.doorbell);
        }
        if !self.freed.is_empty() {
            pool.put(core, fabric, &self.freed);
        }
        let visible = core.post(&self.doorbell);
        ring.queued.extend(requests.into_iter().map(|(first_entry, packets, chained)| TxRequest {
            visible,
            first_entry,
            packets,
            chained,
        }));
        count
    }

    /// Packets that wait and find a place in the ring, no more than a burst.
    fn next_burst(&self) -> usize {
        let mut room = self.ring_packets - self.places;
        let fits = |packet: &&Packet| match room.checked_sub(packet.buffers) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        };
        self.waiting.iter().take(self.burst).take_while(fits).count()
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
            self.in_ring.push_back((None, 1));
        } else {
            self.held += 1;
            self.in_ring.push_back((Some(packet.buffer.id), packet.buffers));
        }
        self.places += packet.buffers;
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
            for (first, buffers) in self.in_ring.drain(..packets as usize) {
                self.places -= buffers;
                if let Some(first) = first {
                    self.held -= 1;
                    pool.unchain(first, &mut self.freed);
                }
            }
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

/// Reads the mbufs of a chained packet behind the first; returns their buffers.
fn read_chain<T: Tracer>(
    core: &mut Core,
    fabric: &mut Fabric<T>,
    pool: &Mempool,
    packet: &Packet,
) -> Vec<Buffer> {
    if packet.buffers == 1 {
        return Vec::new();
    }
    let mut last = packet.buffer.id;
    let read = |id: u32| {
        core.load_independent(fabric, pool.next_line(last));
        core.load_independent(fabric, pool.mbuf_line(id));
        last = id;
        pool.buffer(id)
    };
    pool.chained(packet.buffer.id).map(read).collect()
}
