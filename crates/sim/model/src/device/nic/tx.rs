//! A send queue: from host memory towards the wire.
//!
//! Models: requests fetched ahead, several with one read, as far as the chip holds them; payload reads
//! limited by the queue's entries and the port's bytes; inlined data without a read; completions in a
//! ring, in the descriptors or as a head word.
//! Source: DPDK mlx5 driver; pcie-bench's model of the 82599 (descriptors are fetched in batches). The
//! number of entries is fitted to the rate that one queue of the measured testbed reaches (platform
//! file): the time per packet at 512, 1024 and 1500 B is as 2 : 3 : 4, that is, a slot of some 32 ns per
//! packet and per read request of 512 B, and it grows with the share of reads that miss the LLC, as the
//! latency of a read does. Each buffer of a chained packet is read by requests of its own.
//! Simplifies: an entry is taken in order and freed when its data has arrived; queues share the wire
//! packet by packet.

use super::NicConfig;
use super::dma_counts::DmaCounts;
use super::egress::Egress;
use super::formats::TxCompletionPlace;
use super::rings::{Buffer, Packet, TxRequest, TxRing};
use crate::fabric::{DmaDirection, Fabric};
use crate::occupancy::Slots;
use crate::root_complex::ddio::DmaKind;
use crate::tracer::Tracer;
use std::collections::VecDeque;
use units::{Bytes, LINE_BYTES, Picos, RootPortId};

/// A send queue of a NIC.
#[derive(Debug)]
pub struct TxQueue {
    root_port: RootPortId,
    /// Number of the queue among those of its port.
    number: u16,
    config: NicConfig,
    /// Packets of fetched requests.
    fetched: VecDeque<FetchedPacket>,
    /// Bytes of fetched requests with packets not yet read.
    bytes_ahead: u64,
    entries: Slots,
    /// The queue's packet rate allows no further packet until then.
    ready: Picos,
    /// When the wire lets the next packet be read, once the queue has requested it.
    granted: Option<Picos>,
    /// Packets since the last completion, their buffers, and when the last of them was read.
    uncompleted: u32,
    uncompleted_buffers: u32,
    last_read: Picos,
    completion_index: u64,
    /// DMA reads of payload by the queue.
    pub(super) payload: DmaCounts,
    /// Requests and completions that the queue moved by DMA.
    pub(super) control: DmaCounts,
}

/// A packet whose request is on the chip or under way.
#[derive(Clone, Debug)]
struct FetchedPacket {
    /// When the request arrives on the chip.
    readable: Picos,
    packet: Packet,
    /// Its buffers behind the first, if it is chained.
    chained: Vec<Buffer>,
    /// Whether its data came with the request.
    inlined: bool,
    /// Entry of its descriptor, where each packet has one.
    entry: u64,
    /// Bytes of requests that are freed when this packet has been read.
    frees_bytes: u64,
}

impl FetchedPacket {
    /// Bytes in its first buffer.
    fn in_first(&self, buffer_bytes: u64) -> u64 {
        let Bytes(bytes) = self.packet.bytes;
        if self.chained.is_empty() { bytes } else { bytes.min(buffer_bytes) }
    }
}

impl TxQueue {
    /// An idle queue of the port on `root_port`.
    #[must_use]
    pub fn new(root_port: RootPortId, number: u16, config: NicConfig) -> Self {
        Self {
            root_port,
            number,
            entries: Slots::new(config.tx_queue_entries),
            config,
            fetched: VecDeque::new(),
            bytes_ahead: 0,
            ready: Picos::ZERO,
            granted: None,
            uncompleted: 0,
            uncompleted_buffers: 0,
            last_read: Picos::ZERO,
            completion_index: 0,
            payload: DmaCounts::default(),
            control: DmaCounts::default(),
        }
    }

    /// Packets whose request is fetched and whose payload is not.
    #[must_use]
    pub fn packets_fetched(&self) -> usize {
        self.fetched.len()
    }

    /// When the queue acts next, given what the driver has posted.
    #[must_use]
    pub fn next_wake(&self, ring: &TxRing, now: Picos) -> Picos {
        let payload = match self.fetched.front() {
            Some(first) => {
                let granted = self.granted.unwrap_or(Picos::ZERO);
                self.entries.ready(first.readable.max(self.ready).max(granted))
            }
            None => Picos::NEVER,
        };
        let request = match ring.queued.front() {
            Some(request) if self.has_room() => request.visible,
            _ => Picos::NEVER,
        };
        payload.min(request).max(now)
    }

    /// Fetches requests, or reads one packet. Returns when a completion becomes visible, if it wrote
    /// one.
    pub fn step<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        ring: &mut TxRing,
        egress: &mut Egress,
        now: Picos,
    ) -> Option<Picos> {
        if self.has_room() && ring.queued.front().is_some_and(|request| request.visible <= now) {
            self.fetch_requests(fabric, ring, now);
            return None;
        }
        let next = self.fetched.front()?;
        let granted = *self.granted.get_or_insert_with(|| egress.grant(&next.packet, now));
        let turn = if granted > now || next.inlined {
            granted
        } else {
            egress.reads.turn(self.number, next.packet.bytes.0, now)
        };
        if turn > now {
            self.granted = Some(turn);
            return None;
        }
        self.granted = None;
        let first = self.fetched.pop_front()?;
        self.bytes_ahead -= first.frees_bytes;
        self.ready = now + self.config.queue_packet_gap;
        let read = match first.inlined {
            true => now,
            false => self.read_payload(fabric, (&first, ring.buffer_bytes), egress, now),
        };
        if let Some(next) = self.fetched.front() {
            let first = next.in_first(ring.buffer_bytes);
            let data = next.packet.buffer.data;
            fabric.expect_dma(self.root_port, DmaDirection::Read, data, first);
        }
        let sent = read + self.config.tx_pipeline;
        fabric.tracer.packet_sent(self.root_port, first.packet.buffer.data, now, sent);
        fabric.tracer.packet_leaves(first.packet.buffer.data);
        egress.send(first.packet, sent);
        self.last_read = self.last_read.max(read);
        self.uncompleted += 1;
        self.uncompleted_buffers += first.packet.buffers;
        (self.uncompleted_buffers >= self.config.tx_packets_per_completion)
            .then(|| self.complete(fabric, ring, first.entry))
    }

    /// Whether the chip has space for another request.
    fn has_room(&self) -> bool {
        self.bytes_ahead < self.config.tx_request_bytes_ahead
    }

    /// Fetches the next request, with those behind it that fit the same read request of the link.
    fn fetch_requests<T: Tracer>(&mut self, fabric: &mut Fabric<T>, ring: &mut TxRing, now: Picos) {
        let most = fabric.root_port(self.root_port).attachment().max_read_request_bytes();
        let entry_bytes = ring.format.entry_bytes();
        let Some(first_entry) = ring.queued.front().map(|request| request.first_entry) else {
            return;
        };
        let first_packet = self.fetched.len();
        let mut last_byte = 0;
        while let Some(request) = ring.queued.front() {
            let bytes = ring.request_bytes(&request.packets);
            let start = (request.first_entry - first_entry) * entry_bytes;
            let fits = start == 0 || (start + bytes <= most && self.has_room());
            if request.visible > now || !fits {
                break;
            }
            last_byte = start + bytes;
            if let Some(request) = ring.queued.pop_front() {
                self.take(ring, request, bytes.next_multiple_of(entry_bytes));
            }
        }
        let mut readable = now;
        for (line, bytes) in ring.requests.parts(first_entry, last_byte) {
            if bytes > 0 {
                self.control.read(bytes);
                readable = readable.max(fabric.dma_read(self.root_port, line, bytes, now));
            }
        }
        readable += self.config.read_pipeline;
        for fetched in self.fetched.iter_mut().skip(first_packet) {
            fetched.readable = readable;
        }
    }

    /// Puts a request's packets on the chip, readable when its fetch returns.
    fn take(&mut self, ring: &TxRing, request: TxRequest, bytes: u64) {
        self.bytes_ahead += bytes;
        let last = request.packets.len() - 1;
        let TxRequest { first_entry, packets, mut chained, .. } = request;
        // A chained packet is the only one of its request; its last descriptor is reported.
        let first_entry = first_entry + chained.len() as u64;
        let packets = packets.into_iter().enumerate();
        self.fetched.extend(packets.map(|(number, packet)| FetchedPacket {
            readable: Picos::NEVER,
            packet,
            chained: std::mem::take(&mut chained),
            inlined: ring.is_inlined(&packet),
            entry: first_entry + number as u64,
            frees_bytes: if number == last { bytes } else { 0 },
        }));
    }

    /// Reads a packet's data, one read request after another; returns when all of it has arrived. The
    /// packet holds an entry of its own until then.
    fn read_payload<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        (fetched, buffer_bytes): (&FetchedPacket, u64),
        egress: &mut Egress,
        now: Picos,
    ) -> Picos {
        let per_request = fabric.root_port(self.root_port).attachment().max_read_request_bytes();
        let Packet { buffer, bytes, .. } = fetched.packet;
        let (mut last, mut left) = (now, bytes.0);
        let mut of_buffer = fetched.in_first(buffer_bytes);
        for buffer in std::iter::once(&buffer).chain(&fetched.chained) {
            let mut offset = 0;
            while offset < of_buffer {
                let bytes = per_request.min(of_buffer - offset);
                let line = buffer.data.step(offset / LINE_BYTES);
                self.payload.read(bytes);
                let done = fabric.dma_read(self.root_port, line, bytes, self.entries.ready(now))
                    + self.config.read_pipeline;
                self.entries.occupy(done);
                egress.reads.take(bytes, done);
                last = last.max(done);
                offset += bytes;
            }
            left -= of_buffer;
            of_buffer = left.min(buffer_bytes);
        }
        self.entries.occupy(last);
        last
    }

    /// Reports the packets up to the one whose descriptor is `entry`.
    fn complete<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        ring: &mut TxRing,
        entry: u64,
    ) -> Picos {
        let line = match ring.completion {
            TxCompletionPlace::DescriptorRing => ring.requests.line_of(entry),
            TxCompletionPlace::Queue | TxCompletionPlace::Head => {
                ring.completions.line_of(self.completion_index)
            }
        };
        self.completion_index += 1;
        let bytes = ring.completion.bytes(ring.format);
        self.control.write(bytes);
        let done =
            fabric.dma_write(self.root_port, line, bytes, DmaKind::Descriptor, self.last_read);
        ring.completed.push_back((done.visible, line, self.uncompleted));
        (self.uncompleted, self.uncompleted_buffers) = (0, 0);
        done.visible
    }
}
