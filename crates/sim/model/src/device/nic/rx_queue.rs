//! The NIC's state of a receive queue: descriptors on the chip and an open completion.
//!
//! Models: descriptor prefetch through doorbell record or tail register; reports of one packet or
//! several, compressed or as neighbouring entries.
//! Source: Linux and DPDK mlx5 drivers; pcie-bench's model of the 82599.
//! Simplifies: the card notices a tail register that is written while packets wait within 100 ns.

use super::NicConfig;
use super::dma_counts::DmaCounts;
use super::rings::{Buffer, DOORBELL_BYTES, Packet, RxCompletion, RxRing};
use crate::fabric::Fabric;
use crate::root_complex::ddio::DmaKind;
use crate::tracer::Tracer;
use std::collections::VecDeque;
use units::narrow::usize_from;
use units::{CoreId, LINE_BYTES, Picos, RootPortId};

/// Interval at which a port with waiting packets reads a tail register.
const LOOK_AGAIN: Picos = Picos(100_000);

/// State of a receive queue on the chip.
#[derive(Debug, Default)]
pub(super) struct RxQueue {
    /// Descriptors on the chip: when usable, and their buffer.
    fetched: VecDeque<(Picos, Buffer)>,
    /// Descriptors fetched since time zero.
    fetch_index: u64,
    /// Descriptors known to be posted, since time zero.
    known_until: u64,
    /// The same count once the latest doorbell read returns.
    shown_until: u64,
    /// When the doorbell read returns.
    doorbell_read: Picos,
    /// Packets of the open completion.
    gathered: Vec<Packet>,
    /// The buffers behind the first of each of them, in order.
    gathered_chained: Vec<Buffer>,
    /// Completion entries of those packets.
    gathered_entries: u64,
    gathered_visible: Picos,
    /// Until when the open completion waits for more packets.
    gather_ends: Picos,
    completion_index: u64,
    /// Time before which the queue takes no further packet.
    pub(super) ready: Picos,
    /// Descriptors, doorbell records and completions that the queue moved by DMA.
    pub(super) control: DmaCounts,
    /// The steering tag of its packets: the core that polls it.
    pub(super) reader: Option<CoreId>,
}

impl RxQueue {
    /// Descriptors on the chip or on their way to it.
    pub(super) fn on_chip(&self) -> usize {
        self.fetched.len()
    }

    /// Descriptors that packets can wait for: on the chip, on their way to it, or known to be posted.
    pub(super) fn coming(&self) -> u64 {
        self.fetched.len() as u64 + self.shown_until - self.fetch_index
    }

    /// Descriptors that packets have used since time zero.
    pub(super) fn used(&self) -> u64 {
        self.fetch_index - self.fetched.len() as u64
    }

    /// Packets whose completion is not written.
    pub(super) fn gathered(&self) -> usize {
        self.gathered.len()
    }

    /// Until when the open completion waits for more packets.
    pub(super) fn gather_ends(&self) -> Picos {
        if self.gathered.is_empty() { Picos::NEVER } else { self.gather_ends }
    }

    /// Makes all fetched descriptors usable at time zero.
    pub(super) fn forget_delays(&mut self) {
        self.doorbell_read = Picos::ZERO;
        for (usable, _) in &mut self.fetched {
            *usable = Picos::ZERO;
        }
    }

    /// The buffers of the next descriptors, if `buffers` are on the chip at `now`: the first one, and
    /// those behind it in `chained`.
    pub(super) fn take_ready(
        &mut self,
        buffers: u32,
        chained: &mut Vec<Buffer>,
        now: Picos,
    ) -> Option<Buffer> {
        // Descriptors arrive in order.
        let &(usable, _) = self.fetched.get(buffers as usize - 1)?;
        if usable > now {
            return None;
        }
        let (_, first) = self.fetched.pop_front()?;
        chained.clear();
        chained.extend(self.fetched.drain(..buffers as usize - 1).map(|(_, buffer)| buffer));
        Some(first)
    }

    /// The buffer of the next unused descriptor, if one has been requested.
    pub(super) fn next_buffer(&self) -> Option<Buffer> {
        self.fetched.front().map(|&(_, buffer)| buffer)
    }

    /// When a packet that found fewer than `buffers` descriptors at `now` should retry.
    pub(super) fn try_again(&self, buffers: u32, now: Picos) -> Picos {
        let last = self.fetched.get(buffers as usize - 1);
        let usable = last.map_or(Picos::NEVER, |&(usable, _)| usable);
        let look = if self.doorbell_read > now { self.doorbell_read } else { now + LOOK_AGAIN };
        usable.min(look)
    }

    /// Fetches descriptors until enough are on the chip, also for a packet that needs `wanted`, or no
    /// more are known to be posted.
    pub(super) fn top_up<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        root_port: RootPortId,
        config: &NicConfig,
        (ring, wanted): (&mut RxRing, u32),
        now: Picos,
    ) {
        let per_fetch = config.rx_descriptors_per_fetch as usize;
        let most = (config.rx_descriptors_prefetched as usize).saturating_sub(per_fetch);
        self.look_for_more(fabric, root_port, config, (ring, wanted), now);
        while self.fetched.len() <= most || self.fetched.len() < wanted as usize {
            let (known, start) = match self.known_until - self.fetch_index {
                0 => (self.shown_until - self.fetch_index, self.doorbell_read),
                known => (known, now),
            };
            if known == 0 {
                return;
            }
            let to_boundary = per_fetch - usize_from(self.fetch_index) % per_fetch;
            let count = to_boundary.min(usize_from(known));
            let line = ring.descriptors.line_of(self.fetch_index);
            let bytes = count as u64 * ring.descriptors.entry_bytes;
            self.control.read(bytes);
            let usable = fabric.dma_read(root_port, line, bytes, start) + config.read_pipeline;
            for (_, buffer) in ring.posted.drain(..count) {
                self.fetched.push_back((usable, buffer));
            }
            self.fetch_index += count as u64;
            self.known_until = self.known_until.max(self.fetch_index);
            self.look_for_more(fabric, root_port, config, (ring, wanted), now);
        }
    }

    /// Reads how far the driver has posted, unless a read of its record is under way or enough
    /// descriptors are known.
    fn look_for_more<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        root_port: RootPortId,
        config: &NicConfig,
        (ring, wanted): (&RxRing, u32),
        now: Picos,
    ) {
        if self.doorbell_read > now {
            return;
        }
        self.known_until = self.shown_until;
        // A driver posts in time order.
        let posted_by = |time: Picos| ring.posted.partition_point(|it| it.0 <= time);
        if !ring.format.has_doorbell_record() {
            let posted = posted_by(config.doorbell.seen_by(now));
            self.shown_until = self.fetch_index + posted as u64;
            self.known_until = self.shown_until;
            return;
        }
        let known = self.known_until - self.fetch_index;
        let at_hand = self.fetched.len() as u64 + known;
        let is_due = match config.doorbell_read_ring_part {
            _ if at_hand < u64::from(wanted) => true,
            Some(part) => at_hand <= u64::from(ring.descriptors.entries / part),
            None => known == 0,
        };
        if is_due {
            self.control.read(DOORBELL_BYTES);
            self.doorbell_read = fabric.dma_read(root_port, ring.doorbell, DOORBELL_BYTES, now)
                + config.read_pipeline;
            self.shown_until = self.fetch_index + posted_by(now) as u64;
        }
    }

    /// Adds a packet that is delivered at `now` to the open completion; returns whether it is full.
    pub(super) fn gather(
        &mut self,
        (packet, chained): (Packet, &[Buffer]),
        visible: Picos,
        ring: &RxRing,
        (config, now): (&NicConfig, Picos),
    ) -> bool {
        if self.gathered.is_empty() {
            self.gather_ends = now + config.completion_gather;
        }
        self.gathered_visible = self.gathered_visible.max(visible);
        self.gathered.push(packet);
        self.gathered_chained.extend_from_slice(chained);
        self.gathered_entries += ring.format.completion_entries(packet.buffers);
        let fits = ring.format.entries_to_line_end(self.completion_index);
        self.gathered_entries >= u64::from(config.packets_per_completion).min(fits)
    }

    /// Writes the open completion; returns when it becomes visible to the driver.
    pub(super) fn complete<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        root_port: RootPortId,
        ring: &mut RxRing,
        start: Picos,
    ) -> Picos {
        let line = ring.completions.line_of(self.completion_index);
        let (packets, entries) = (self.gathered.len(), std::mem::take(&mut self.gathered_entries));
        let bytes = ring.format.report_bytes(entries);
        let (written, more_lines) = if entries > packets as u64 {
            self.report_chained(fabric, root_port, ring, bytes, start)
        } else {
            self.control.write(bytes);
            let done = fabric.dma_write(root_port, line, bytes, DmaKind::Descriptor, start);
            (done.visible, 0)
        };
        // A compressed completion takes the ring entries of all its packets.
        self.completion_index += entries;
        // Writes of one device become visible in order: the payload first.
        let visible = written.max(self.gathered_visible);
        ring.completed.push_back(RxCompletion { visible, line, more_lines, packets });
        ring.packets.extend(self.gathered.drain(..));
        ring.chained.extend(self.gathered_chained.drain(..));
        visible
    }

    /// Writes the entries of a report with a chained packet, which may cross lines and the ring's end.
    /// Returns when they are visible, and how many lines they have besides the first.
    fn report_chained<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        root_port: RootPortId,
        ring: &RxRing,
        bytes: u64,
        start: Picos,
    ) -> (Picos, u64) {
        let (mut visible, mut lines) = (start, 0);
        for (line, bytes) in ring.completions.parts(self.completion_index, bytes) {
            if bytes > 0 {
                self.control.write(bytes);
                let done = fabric.dma_write(root_port, line, bytes, DmaKind::Descriptor, start);
                visible = visible.max(done.visible);
                lines += bytes.div_ceil(LINE_BYTES);
            }
        }
        (visible, lines - 1)
    }
}
