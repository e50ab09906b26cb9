//! The receive side of a port: from the wire into host memory.
//!
//! Models: steering over queues, an internal buffer before the link, packet-rate limits of port and
//! queues, a lower one while packets are dropped, payload writes, a DDIO bypass for queues with a long backlog, PAUSE.
//! Source: Linux and DPDK mlx5 drivers; IEEE 802.3, annex 31B.
//! Simplifies: with flow control on, the order on the wire is the order on the link: a packet without a
//! descriptor blocks all later packets, of whatever queue. With flow control off it blocks only the
//! later packets of its queue.

mod arrival;

use super::NicConfig;
use super::dma_counts::DmaCounts;
use super::egress::Egress;
use super::internal_buffer::InternalBuffer;
use super::pause::Pause;
use super::rings::{Buffer, Packet, QueuePair, RxRing};
pub use super::rx_counters::RxCounters;
use super::rx_queue::RxQueue;
use super::steering::Steering;
use crate::fabric::{DmaDirection, Fabric};
use crate::root_complex::ddio::DmaKind;
use crate::tracer::Tracer;
use crate::traffic::{Arrival, PacketSource};
use units::{Bytes, CoreId, LINE_BYTES, Picos, RootPortId};

/// The receive side of a port.
#[derive(Debug)]
pub struct RxPort<S> {
    root_port: RootPortId,
    config: NicConfig,
    source: S,
    next: Option<Arrival>,
    steering: Steering,
    queues: Vec<RxQueue>,
    buffer: InternalBuffer,
    pause: Option<Pause>,
    /// When the first open completion has waited long enough.
    gather_due: Picos,
    /// The link takes no further payload until then.
    link_free: Picos,
    /// The port takes no further packet until then.
    ready: Picos,
    /// Packets that had been dropped when the last one was written.
    dropped: u64,
    last_arrival: Picos,
    /// Time between the last two arrivals that is not counted as time of a full ring.
    since_last: Picos,
    /// Buffers behind the first of the packet that is delivered.
    chained: Vec<Buffer>,
    /// The port's counters.
    pub counters: RxCounters,
    /// DMA writes of payload by the port.
    pub(super) payload: DmaCounts,
}

impl<S: PacketSource> RxPort<S> {
    /// A port on `link` that spreads `source` over `queues` queues.
    pub fn new(root_port: RootPortId, config: NicConfig, mut source: S, queues: usize) -> Self {
        let next = source.next_arrival();
        let pause = config.flow_control.map(|pause| Pause::new(pause, config.line_rate));
        let lines = if pause.is_some() { 1 } else { queues };
        Self {
            root_port,
            steering: Steering::rss(config.rss_indirection_entries, queues),
            config,
            source,
            next,
            queues: (0..queues).map(|_| RxQueue::default()).collect(),
            buffer: InternalBuffer::new(lines),
            pause,
            gather_due: Picos::NEVER,
            link_free: Picos::ZERO,
            ready: Picos::ZERO,
            dropped: 0,
            last_arrival: Picos::ZERO,
            since_last: Picos::ZERO,
            chained: Vec::new(),
            counters: RxCounters::default(),
            payload: DmaCounts::default(),
        }
    }

    /// The steering of packets to queues.
    pub fn steering_mut(&mut self) -> &mut Steering {
        &mut self.steering
    }

    /// Fetches the first descriptors of every queue, as a NIC does long before traffic starts.
    pub fn prepare<T: Tracer>(&mut self, fabric: &mut Fabric<T>, pairs: &mut [QueuePair]) {
        for (queue, pair) in self.queues.iter_mut().zip(pairs) {
            queue.top_up(fabric, self.root_port, &self.config, (&mut pair.rx, 1), Picos::ZERO);
            queue.forget_delays();
        }
    }

    /// The root port that it is on.
    #[must_use]
    pub fn root_port(&self) -> RootPortId {
        self.root_port
    }

    /// Gives each queue the steering tag of the core that polls it.
    pub fn steer(&mut self, pollers: &[Option<CoreId>]) {
        for (queue, poller) in self.queues.iter_mut().zip(pollers) {
            queue.reader = *poller;
        }
    }

    /// The packet source, for access to its measurements.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Source of the packets that arrive at the port.
    #[must_use]
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Descriptors, doorbell records and completions that the queues of the port moved by DMA.
    pub(super) fn control(&self) -> DmaCounts {
        self.queues.iter().fold(DmaCounts::default(), |sum, queue| sum.plus(queue.control))
    }

    /// Descriptors that are fetched and not used.
    #[must_use]
    pub fn descriptors_on_chip(&self) -> usize {
        self.queues.iter().map(RxQueue::on_chip).sum()
    }

    /// Descriptors that packets have used since time zero.
    #[must_use]
    pub fn descriptors_used(&self) -> u64 {
        self.queues.iter().map(RxQueue::used).sum()
    }

    /// Receive rings with a used entry, and those in which every entry has been used.
    #[must_use]
    pub fn rings_used(&self, pairs: &[QueuePair]) -> (usize, usize) {
        let used = self.queues.iter().zip(pairs).filter(|(queue, _)| queue.used() > 0);
        let whole = |(queue, pair): &(&RxQueue, &QueuePair)| {
            queue.used() >= u64::from(pair.rx.descriptors.entries)
        };
        (used.clone().count(), used.filter(whole).count())
    }

    /// Packets written into host memory whose completion is not.
    #[must_use]
    pub fn packets_gathered(&self) -> usize {
        self.queues.iter().map(RxQueue::gathered).sum()
    }

    /// Packets that wait in the internal buffer for a descriptor.
    #[must_use]
    pub fn packets_waiting(&self) -> usize {
        self.buffer.waiting()
    }

    /// Whether every packet that waits will get descriptors that are posted. With flow control packets
    /// wait without.
    #[must_use]
    pub fn has_a_descriptor_for_each_waiting(&self) -> bool {
        let mut queues = self.queues.iter().enumerate();
        let is_enough =
            |(line, queue): (usize, &RxQueue)| self.buffer.wanted_in(line) <= queue.coming();
        self.pause.is_some() || queues.all(is_enough)
    }

    /// When the port acts next.
    #[must_use]
    pub fn next_wake(&self) -> Picos {
        let mut wake = self.next_arrival_time().min(self.gather_due).min(self.buffer.next_retry());
        if let Some(pause) = self.pause.as_ref().filter(|pause| pause.is_on()) {
            let leaves = self.buffer.leaving.front().map_or(Picos::NEVER, |leaving| leaving.0);
            wake = wake.min(leaves).min(pause.next_repeat());
        }
        wake
    }

    fn next_arrival_time(&self) -> Picos {
        match (&self.next, &self.pause) {
            (None, _) => Picos::NEVER,
            (Some(arrival), None) => arrival.time,
            (Some(arrival), Some(pause)) => pause.time_of(arrival),
        }
    }

    /// Informs a closed-loop source of frames that left; returns whether there were any. The port
    /// then asks the source anew for the next arrival, which the answer may change.
    pub fn answer(&mut self, egress: &mut Egress) -> bool {
        if egress.departures.is_empty() {
            return false;
        }
        for departure in egress.departures.drain(..) {
            self.source.answered(departure);
        }
        self.next = self.source.next_arrival();
        true
    }

    /// Runs this port's own steps from `now` until `end`, the next agent's turn, or until a driver may
    /// have a completion to see. Returns the queue and time that [`Self::step`] returns, and the time
    /// of the last step.
    pub fn run<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        pairs: &mut [QueuePair],
        mut now: Picos,
        end: Picos,
    ) -> (Option<(usize, Picos)>, Picos) {
        loop {
            let seen = self.step(fabric, pairs, now);
            if seen.is_some() {
                return (seen, now);
            }
            now = self.arrive_in_vain(pairs, end).unwrap_or(now);
            let wake = self.next_wake();
            if wake >= end {
                return (None, now);
            }
            now = wake;
        }
    }

    /// Takes one arrival or waiting packet, or closes a completion that has waited long enough. Returns
    /// the queue whose driver may have a completion to see, and when.
    pub fn step<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        pairs: &mut [QueuePair],
        now: Picos,
    ) -> Option<(usize, Picos)> {
        let due = |queue: &RxQueue| queue.gather_ends() <= now;
        if self.gather_due <= now
            && let Some(index) = self.queues.iter().position(due)
        {
            return Some((index, self.complete(fabric, pairs, index, now)));
        }
        self.buffer.drain(now);
        if let Some((line, first)) = self.buffer.retrying(now) {
            if let Some(seen) = self.deliver(fabric, pairs, first, now) {
                self.buffer.forget_first(line);
                self.watch_level(now);
                return seen;
            }
            let index = self.steering.queue(&first);
            let buffers = pairs[index].rx.buffers_for(first.bytes);
            self.buffer.retry_at(line, self.queues[index].try_again(buffers, now));
        }
        self.watch_level(now);
        if self.next_arrival_time() > now {
            return None;
        }
        let meant = self.next.take()?;
        self.next = self.source.next_arrival();
        if let Some(pause) = &mut self.pause {
            pause.arrived(meant.time, now);
        }
        let seen = self.arrive(fabric, pairs, Arrival { time: now, ..meant });
        self.watch_level(now);
        seen
    }

    fn watch_level(&mut self, now: Picos) {
        if let Some(pause) = &mut self.pause {
            pause.watch(self.buffer.bytes, now);
            (self.counters.pause_frames, self.counters.paused) = (pause.frames, pause.silent);
        }
    }

    /// Writes a packet to host memory if its queue has a descriptor. Returns whether it has one, and
    /// then the result of [`Self::step`].
    fn deliver<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        pairs: &mut [QueuePair],
        arrival: Arrival,
        now: Picos,
    ) -> Option<Option<(usize, Picos)>> {
        let index = self.steering.queue(&arrival);
        let (queue, ring) = (&mut self.queues[index], &mut pairs[index].rx);
        let buffers = ring.buffers_for(arrival.bytes);
        queue.top_up(fabric, self.root_port, &self.config, (ring, buffers), now);
        let buffer = queue.take_ready(buffers, &mut self.chained, now)?;
        let kind = self.payload_kind(index, ring);
        let capacity = if buffers == 1 { u64::MAX } else { ring.buffer_bytes };
        let visible = self.write_payload(fabric, (index, kind), (buffer, capacity), arrival, now);
        let sequence = self.counters.packets;
        self.counters.packets += 1;
        self.counters.buffers += u64::from(buffers);
        self.counters.bytes += arrival.bytes.0;
        let Arrival { time, bytes, rss_hash, .. } = arrival;
        let packet = Packet { buffer, buffers, bytes, arrival: time, sequence, rss_hash };
        let (at, received) = ((&self.config, now), (packet, &self.chained[..]));
        let full = self.queues[index].gather(received, visible, &pairs[index].rx, at);
        if !full {
            self.gather_due = self.gather_due.min(self.queues[index].gather_ends());
            return Some(None);
        }
        Some(Some((index, self.complete(fabric, pairs, index, now))))
    }

    /// How the next packet of a queue is written. Its backlog is the number of descriptors that the
    /// card has used and the driver has not posted anew.
    fn payload_kind(&self, index: usize, ring: &RxRing) -> DmaKind {
        let at_hand = ring.posted.len() + self.queues[index].on_chip() + 1;
        let backlog = (ring.descriptors.entries as usize).saturating_sub(at_hand);
        match self.config.bypass_backlog {
            Some(most) if backlog > most as usize => DmaKind::PayloadForMemory,
            _ => DmaKind::Payload,
        }
    }

    /// Writes the payload, each buffer's share of at most `capacity` bytes behind the one before; returns
    /// when all of it becomes visible.
    fn write_payload<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        (index, kind): (usize, DmaKind),
        (buffer, capacity): (Buffer, u64),
        arrival: Arrival,
        now: Picos,
    ) -> Picos {
        let bytes = arrival.bytes.0;
        let lines = bytes.min(capacity).div_ceil(LINE_BYTES);
        fabric.tracer.packet_arrives(buffer.data, lines);
        let gap = self.packet_gap(arrival.bytes);
        let queue = &mut self.queues[index];
        let arrived = now.max(arrival.time + self.config.rx_pipeline);
        let start = arrived.max(self.link_free).max(self.ready).max(queue.ready);
        queue.ready = start + self.config.queue_packet_gap;
        self.ready = start + gap;
        let padded = bytes.next_multiple_of(LINE_BYTES);
        let written = if self.config.pads_tail { padded } else { bytes };
        let (root_port, reader, first) = (self.root_port, queue.reader, buffer.data);
        let in_first = written.min(capacity);
        self.payload.write(in_first);
        let done = fabric.dma_write_for(root_port, reader, first, in_first, kind, start);
        let (mut accepted, mut visible) = (done.accepted, done.visible);
        let mut left = written - in_first;
        for next in &self.chained {
            let bytes = left.min(capacity);
            left -= bytes;
            let lines = bytes.div_ceil(LINE_BYTES);
            fabric.tracer.packet_continues(next.data, lines);
            self.payload.write(bytes);
            let done = fabric.dma_write_for(root_port, reader, next.data, bytes, kind, accepted);
            accepted = done.accepted;
            visible = visible.max(done.visible);
        }
        fabric.tracer.packet_received(root_port, first, arrival.time, visible);
        if let Some(next) = queue.next_buffer() {
            fabric.expect_dma(root_port, DmaDirection::Write, next.data, in_first);
        }
        self.link_free = accepted;
        self.buffer.leaving.push_back((visible, bytes));
        self.buffer.bytes += bytes;
        visible
    }

    /// Time from this packet to the next: longer while the port drops packets between them.
    fn packet_gap(&mut self, bytes: Bytes) -> Picos {
        let before = std::mem::replace(&mut self.dropped, self.counters.dropped());
        let gap = self.config.port_pace.time_for(bytes);
        if self.dropped > before { gap.max(self.config.dropping_gap) } else { gap }
    }

    /// Writes the open completion of a queue; returns when it becomes visible to the driver.
    fn complete<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        pairs: &mut [QueuePair],
        index: usize,
        now: Picos,
    ) -> Picos {
        let start = now.max(self.link_free);
        let ended = self.queues[index].gather_ends();
        let visible =
            self.queues[index].complete(fabric, self.root_port, &mut pairs[index].rx, start);
        if ended == self.gather_due {
            let ends = self.queues.iter().map(|queue| queue.gather_ends());
            self.gather_due = ends.fold(Picos::NEVER, Picos::min);
        }
        visible
    }
}
