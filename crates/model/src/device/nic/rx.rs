//! The receive side of a port: from the wire into host memory.
//!
//! Models: RSS over queues, an internal buffer in front of the link, descriptor prefetch through
//! doorbell record and ring, payload writes, compressed completions.
//! Source: Linux and DPDK mlx5 drivers; DPDK mlx5 guide for the drop counters.
//! Simplifies: the order of the wire is the order of the link.

use super::NicConfig;
use super::egress::Egress;
use super::rings::{
    Buffer, COMPLETION_BYTES, DOORBELL_BYTES, Packet, QueuePair, RX_DESCRIPTOR_BYTES, RxCompletion,
    RxRing, refill_threshold,
};
use crate::fabric::Fabric;
use crate::root_complex::ddio::DmaKind;
use crate::tracer::Tracer;
use crate::traffic::{Arrival, PacketSource};
use std::collections::VecDeque;
use units::{Bytes, LINE_BYTES, Picos};

/// Entries of the RSS indirection table.
const INDIRECTION_ENTRIES: u32 = 512;

/// What the receive side has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxCounters {
    /// Packets that arrived on the wire.
    pub offered_packets: u64,
    /// Bytes of them.
    pub offered_bytes: u64,
    /// Packets written into host memory.
    pub packets: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Dropped because their queue had no descriptor (rx_out_of_buffer).
    pub dropped_no_descriptor: u64,
    /// Dropped because the internal buffer was full (rx_discards_phy).
    pub dropped_buffer_full: u64,
    /// Time during which a queue whose packet came next had no more free descriptors than the
    /// driver refills at once: the ring is full of packets that wait for the core.
    pub ring_full: Picos,
}

impl RxCounters {
    /// Takes an earlier reading off, so that what is left happened since.
    pub fn subtract(&mut self, earlier: &Self) {
        self.offered_packets -= earlier.offered_packets;
        self.offered_bytes -= earlier.offered_bytes;
        self.packets -= earlier.packets;
        self.bytes -= earlier.bytes;
        self.dropped_no_descriptor -= earlier.dropped_no_descriptor;
        self.dropped_buffer_full -= earlier.dropped_buffer_full;
        self.ring_full = self.ring_full - earlier.ring_full;
    }
}

/// The receive side of a port.
#[derive(Debug)]
pub struct RxPort<S> {
    link: usize,
    config: NicConfig,
    source: S,
    next: Option<Arrival>,
    queues: Vec<RxQueue>,
    /// Packets in the internal buffer: until when, how many bytes.
    buffered: VecDeque<(Picos, u64)>,
    buffered_bytes: u64,
    /// The link takes no further payload before this.
    link_free: Picos,
    last_arrival: Picos,
    /// What has been counted.
    pub counters: RxCounters,
}

/// What the NIC keeps for a receive queue.
#[derive(Debug, Default)]
struct RxQueue {
    /// Descriptors on the chip: when usable, which buffer.
    fetched: VecDeque<(Picos, Buffer)>,
    /// Descriptors fetched since the beginning.
    fetch_index: u64,
    /// Posted descriptors that the last look at the doorbell record has shown.
    known: usize,
    /// When the last look at the doorbell record is back.
    doorbell_read: Picos,
    /// Completion in the making.
    gathered: Vec<Packet>,
    gathered_visible: Picos,
    gathered_since: Picos,
    completion_index: u64,
}

impl<S: PacketSource> RxPort<S> {
    /// A port on `link` that spreads `source` over `queues` queues.
    pub fn new(link: usize, config: NicConfig, mut source: S, queues: usize) -> Self {
        let next = source.next_arrival();
        Self {
            link,
            config,
            source,
            next,
            queues: (0..queues).map(|_| RxQueue::default()).collect(),
            buffered: VecDeque::new(),
            buffered_bytes: 0,
            link_free: Picos::ZERO,
            last_arrival: Picos::ZERO,
            counters: RxCounters::default(),
        }
    }

    /// Fetches the first descriptors of every queue, as a NIC has done long before traffic comes.
    pub fn prepare<T: Tracer>(&mut self, fabric: &mut Fabric<T>, pairs: &mut [QueuePair]) {
        for (queue, pair) in self.queues.iter_mut().zip(pairs) {
            queue.top_up(fabric, self.link, &self.config, &mut pair.rx, Picos::ZERO);
            queue.doorbell_read = Picos::ZERO;
            for (usable, _) in &mut queue.fetched {
                *usable = Picos::ZERO;
            }
        }
    }

    /// The link that it is on.
    #[must_use]
    pub fn link(&self) -> usize {
        self.link
    }

    /// What feeds the port.
    #[must_use]
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Descriptors that have been fetched and not used.
    #[must_use]
    pub fn descriptors_on_chip(&self) -> usize {
        self.queues.iter().map(|queue| queue.fetched.len()).sum()
    }

    /// Packets written into host memory whose completion has not been.
    #[must_use]
    pub fn packets_gathered(&self) -> usize {
        self.queues.iter().map(|queue| queue.gathered.len()).sum()
    }

    /// When the port has something to do next.
    #[must_use]
    pub fn next_wake(&self) -> Picos {
        let arrival = self.next.map_or(Picos::NEVER, |arrival| arrival.time);
        let gather = |queue: &RxQueue| match queue.gathered.is_empty() {
            true => Picos::NEVER,
            false => queue.gathered_since + self.config.completion_gather,
        };
        self.queues.iter().map(gather).fold(arrival, Picos::min)
    }

    /// Tells a source in closed loop what has left; says whether it had something to be told.
    pub fn answer(&mut self, egress: &mut Egress) -> bool {
        if egress.departures.is_empty() {
            return false;
        }
        for departure in egress.departures.drain(..) {
            self.source.answered(departure);
        }
        if self.next.is_none() {
            self.next = self.source.next_arrival();
        }
        true
    }

    /// Takes one arrival, or closes the completions that have waited long enough. Returns the
    /// queues whose driver may have something to see, as (queue, when).
    pub fn step<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        pairs: &mut [QueuePair],
        now: Picos,
    ) -> Option<(usize, Picos)> {
        let due = |queue: &RxQueue| {
            !queue.gathered.is_empty()
                && queue.gathered_since + self.config.completion_gather <= now
        };
        if let Some(index) = self.queues.iter().position(due) {
            return Some((index, self.complete(fabric, &mut pairs[index].rx, index, now)));
        }
        let arrival = self.next.take()?;
        self.next = self.source.next_arrival();
        self.counters.offered_packets += 1;
        self.counters.offered_bytes += arrival.bytes.0;
        let waited = now.saturating_sub(self.last_arrival);
        self.last_arrival = now;
        if !self.buffer_has_room(arrival.bytes.0, now) {
            self.counters.dropped_buffer_full += 1;
            return None;
        }
        let entry = arrival.rss_hash % INDIRECTION_ENTRIES;
        let index = entry as usize % self.queues.len();
        let pair = &mut pairs[index];
        let free = pair.rx.posted.len() + self.queues[index].fetched.len();
        if free <= refill_threshold(pair.rx.descriptors.entries) as usize {
            self.counters.ring_full += waited;
        }
        self.queues[index].top_up(fabric, self.link, &self.config, &mut pair.rx, now);
        let Some(buffer) = self.queues[index].take_ready(now) else {
            self.counters.dropped_no_descriptor += 1;
            return None;
        };
        self.receive(fabric, index, buffer, arrival);
        let full = self.queues[index].gathered.len() >= self.config.packets_per_completion as usize;
        full.then(|| (index, self.complete(fabric, &mut pair.rx, index, now)))
    }

    fn receive<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        index: usize,
        buffer: Buffer,
        arrival: Arrival,
    ) {
        let Bytes(bytes) = arrival.bytes;
        let sequence = self.counters.packets;
        fabric.tracer.packet_arrives(sequence, buffer.data, bytes.div_ceil(LINE_BYTES));
        let start = (arrival.time + self.config.rx_pipeline).max(self.link_free);
        let done = fabric.dma_write(self.link, buffer.data, bytes, DmaKind::Payload, start);
        self.link_free = done.accepted;
        self.buffered.push_back((done.visible, bytes));
        self.buffered_bytes += bytes;
        self.counters.packets += 1;
        self.counters.bytes += bytes;
        let queue = &mut self.queues[index];
        if queue.gathered.is_empty() {
            queue.gathered_since = arrival.time;
        }
        queue.gathered_visible = queue.gathered_visible.max(done.visible);
        queue.gathered.push(Packet {
            buffer,
            bytes: arrival.bytes,
            arrival: arrival.time,
            sequence,
        });
    }

    /// Writes the completion in the making; returns when the driver can see it.
    fn complete<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        ring: &mut RxRing,
        index: usize,
        now: Picos,
    ) -> Picos {
        let queue = &mut self.queues[index];
        let line = ring.completions.line_of(queue.completion_index);
        // A compressed completion takes the ring entries of all packets it reports.
        queue.completion_index += queue.gathered.len() as u64;
        let start = now.max(self.link_free);
        let done = fabric.dma_write(self.link, line, COMPLETION_BYTES, DmaKind::Descriptor, start);
        // Writes of one device are seen in their order: the payload first.
        let visible = done.visible.max(queue.gathered_visible);
        ring.completed.push_back(RxCompletion {
            visible,
            line,
            packets: std::mem::take(&mut queue.gathered),
        });
        visible
    }

    fn buffer_has_room(&mut self, bytes: u64, now: Picos) -> bool {
        while let Some(&(until, leaving)) = self.buffered.front() {
            if until > now {
                break;
            }
            self.buffered.pop_front();
            self.buffered_bytes -= leaving;
        }
        self.buffered_bytes + bytes <= self.config.rx_buffer_bytes
    }
}

impl RxQueue {
    /// The buffer of the next descriptor, if one is on the chip at `now`.
    fn take_ready(&mut self, now: Picos) -> Option<Buffer> {
        let &(usable, buffer) = self.fetched.front()?;
        if usable > now {
            return None;
        }
        self.fetched.pop_front();
        Some(buffer)
    }

    /// Fetches descriptors until enough are on the chip or no more are known to be posted.
    fn top_up<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        link: usize,
        config: &NicConfig,
        ring: &mut RxRing,
        now: Picos,
    ) {
        let per_fetch = config.rx_descriptors_per_fetch as usize;
        while self.fetched.len() + per_fetch <= config.rx_descriptors_prefetched as usize {
            if self.known == 0 {
                if self.doorbell_read > now {
                    return;
                }
                self.doorbell_read = fabric.dma_read(link, ring.doorbell, DOORBELL_BYTES, now)
                    + config.read_pipeline;
                self.known = ring.posted.iter().take_while(|posted| posted.0 <= now).count();
                if self.known == 0 {
                    return;
                }
            }
            let to_boundary = per_fetch - self.fetch_index as usize % per_fetch;
            let count = to_boundary.min(self.known);
            let line = ring.descriptors.line_of(self.fetch_index);
            let bytes = count as u64 * RX_DESCRIPTOR_BYTES;
            let usable = fabric.dma_read(link, line, bytes, now.max(self.doorbell_read))
                + config.read_pipeline;
            for (_, buffer) in ring.posted.drain(..count) {
                self.fetched.push_back((usable, buffer));
            }
            self.fetch_index += count as u64;
            self.known -= count;
        }
    }
}
