//! A send queue: from host memory towards the wire.
//!
//! Models: request fetch, payload reads limited by the queue's entries, completions.
//! Source: DPDK mlx5 driver; the number of entries is fitted to the rate that one queue of the
//! measured testbed reaches (platform file).
//! Simplifies: an entry is taken in order and freed when its data has arrived.

use super::NicConfig;
use super::egress::Egress;
use super::rings::{COMPLETION_BYTES, Packet, TxRequest, TxRing};
use crate::fabric::Fabric;
use crate::occupancy::Slots;
use crate::root_complex::ddio::DmaKind;
use crate::tracer::Tracer;
use std::collections::VecDeque;
use units::{LINE_BYTES, Picos};

/// Requests whose descriptors are fetched ahead of the payload.
const REQUESTS_AHEAD: usize = 2;

/// A send queue of a NIC.
#[derive(Debug)]
pub struct TxQueue {
    link: usize,
    config: NicConfig,
    /// Packets of fetched requests: since when they can be read.
    fetched: VecDeque<(Picos, Packet)>,
    /// Packets still in `fetched` of each fetched request.
    requests: VecDeque<usize>,
    entries: Slots,
    /// Packets since the last completion, and when the last of them was read.
    uncompleted: u32,
    last_read: Picos,
    completion_index: u64,
}

impl TxQueue {
    /// An idle queue on `link`.
    #[must_use]
    pub fn new(link: usize, config: NicConfig) -> Self {
        Self {
            link,
            entries: Slots::new(config.tx_queue_entries),
            config,
            fetched: VecDeque::new(),
            requests: VecDeque::new(),
            uncompleted: 0,
            last_read: Picos::ZERO,
            completion_index: 0,
        }
    }

    /// Packets whose request has been fetched and whose payload has not.
    #[must_use]
    pub fn packets_fetched(&self) -> usize {
        self.fetched.len()
    }

    /// When the queue has something to do next, given what the driver has posted.
    #[must_use]
    pub fn next_wake(&self, ring: &TxRing, now: Picos) -> Picos {
        let payload = match self.fetched.front() {
            Some(&(readable, _)) => self.entries.ready(readable),
            None => Picos::NEVER,
        };
        let request = match ring.queued.front() {
            Some(request) if self.requests.len() < REQUESTS_AHEAD => request.visible,
            _ => Picos::NEVER,
        };
        payload.min(request).max(now)
    }

    /// Fetches a request, or reads one packet. Returns when a completion becomes visible, if one
    /// was written.
    pub fn step<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        ring: &mut TxRing,
        egress: &mut Egress,
        now: Picos,
    ) -> Option<Picos> {
        if self.requests.len() < REQUESTS_AHEAD
            && ring.queued.front().is_some_and(|request| request.visible <= now)
            && let Some(request) = ring.queued.pop_front()
        {
            self.fetch_request(fabric, ring, request, now);
            return None;
        }
        let (_, packet) = self.fetched.pop_front()?;
        if let Some(left) = self.requests.front_mut() {
            *left -= 1;
            if *left == 0 {
                self.requests.pop_front();
            }
        }
        let read = self.read_payload(fabric, packet, now);
        fabric.tracer.packet_leaves(packet.sequence);
        egress.send(packet, read + self.config.tx_pipeline);
        self.last_read = self.last_read.max(read);
        self.uncompleted += 1;
        (self.uncompleted == self.config.tx_packets_per_completion)
            .then(|| self.complete(fabric, ring))
    }

    fn fetch_request<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        ring: &TxRing,
        request: TxRequest,
        now: Picos,
    ) {
        let bytes = TxRequest::bytes_for(request.packets.len() as u64);
        let mut readable = now;
        for (line, bytes) in ring.requests.parts(request.first_entry, bytes) {
            if bytes > 0 {
                readable = readable.max(fabric.dma_read(self.link, line, bytes, now));
            }
        }
        readable += self.config.read_pipeline;
        self.requests.push_back(request.packets.len());
        self.fetched.extend(request.packets.into_iter().map(|packet| (readable, packet)));
    }

    /// Reads a packet's data, request by request; returns when all of it is there. The packet holds
    /// an entry of its own until then.
    fn read_payload<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        packet: Packet,
        now: Picos,
    ) -> Picos {
        let per_request = fabric.link(self.link).config().max_read_request_bytes;
        let mut last = now;
        let mut offset = 0;
        while offset < packet.bytes.0 {
            let bytes = per_request.min(packet.bytes.0 - offset);
            let line = packet.buffer.data.step(offset / LINE_BYTES);
            let done = fabric.dma_read(self.link, line, bytes, self.entries.ready(now))
                + self.config.read_pipeline;
            self.entries.occupy(done);
            last = last.max(done);
            offset += bytes;
        }
        self.entries.occupy(last);
        last
    }

    fn complete<T: Tracer>(&mut self, fabric: &mut Fabric<T>, ring: &mut TxRing) -> Picos {
        let line = ring.completions.line_of(self.completion_index);
        self.completion_index += 1;
        let kind = DmaKind::Descriptor;
        let done = fabric.dma_write(self.link, line, COMPLETION_BYTES, kind, self.last_read);
        ring.completed.push_back((done.visible, line, self.uncompleted));
        self.uncompleted = 0;
        done.visible
    }
}
