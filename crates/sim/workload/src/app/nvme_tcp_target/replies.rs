//! Answers on their way to the card.
//!
//! Models: the work of the network stack for each answer; its segments, each with a packet buffer of its own
//! for headers, whose payload the card reads from the buffer of the SSD; that buffer is free when the card
//! has reported the last segment.
//! Source: Linux, `MSG_ZEROCOPY`; SPDK's posix sockets.
//! Simplifies: the notification of a zero-copy send is part of the work for an answer.

use super::super::packet_loop::Drivers;
use super::answer::TargetAnswer;
use super::buffers::TargetBuffers;
use model::core::Core;
use model::device::nic::rings::{Buffer, Packet};
use model::fabric::Fabric;
use model::tracer::Tracer;
use std::collections::VecDeque;
use units::{Cycles, LineAddr, Picos};

/// Segments that a core hands to the send queue in a turn.
const SEGMENTS_PER_TURN: u64 = 16;

/// Cycles of a core for completions of SSDs and their answers.
#[derive(Clone, Copy, Debug)]
pub struct ReplyCosts {
    /// Cycles of a completion of an SSD and its answer, without `unit` and `page`.
    pub answer: Cycles,
    /// Cycles for each unit of segmentation offload.
    pub unit: Cycles,
    /// Cycles for each page that the card reads.
    pub page: Cycles,
}

/// An answer whose data are there.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// Number of the buffer that holds the data.
    pub buffer: u32,
    /// First line of the data.
    pub data: LineAddr,
    /// Time at which the request arrived.
    pub arrival: Picos,
}

/// The answers of a core.
#[derive(Debug)]
pub struct Replies {
    answer: TargetAnswer,
    costs: ReplyCosts,
    /// Answers to send, the first of them from this segment on.
    ready: VecDeque<Reply>,
    next_segment: u64,
    /// Segments handed to the send queue since time zero.
    segments: u64,
    /// Buffers of answers, each with the number of segments up to its last.
    sent: VecDeque<(u64, u32)>,
    answered: u64,
}

impl Replies {
    /// Creates the answers of a core; none is ready yet.
    #[must_use]
    pub fn new(answer: TargetAnswer, costs: ReplyCosts) -> Self {
        let (ready, sent) = (VecDeque::new(), VecDeque::new());
        Self { answer, costs, ready, next_segment: 0, segments: 0, sent, answered: 0 }
    }

    /// Adds an answer behind the others.
    pub fn add(&mut self, reply: Reply) {
        self.ready.push_back(reply);
    }

    /// Answers whose last segment has been handed to the send queue.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// Hands segments of an answer to the send queue, while it has room and there are packet buffers. Returns
    /// whether there were any.
    pub fn hand_over<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        drivers: &mut Drivers,
    ) -> bool {
        let Some(&Reply { buffer, data, arrival }) = self.ready.front() else { return false };
        let first = self.next_segment;
        let (all, mut fresh) = (self.answer.segments(), Vec::new());
        let mut pool = drivers.pool.borrow_mut();
        while self.next_segment < all.min(first + SEGMENTS_PER_TURN)
            && drivers.tx.has_room()
            && pool.get(core, fabric, 1, &mut fresh)
            && let Some(id) = fresh.pop()
        {
            if self.next_segment == 0 {
                self.begin(core);
            }
            let (bytes, line) = self.answer.segment(self.next_segment);
            core.store(fabric, pool.mbuf_line(id));
            let buffer = Buffer { id, data: data.step(line) };
            // It never had a receive descriptor.
            let (sequence, rss_hash) = (u64::MAX, 0);
            let packet = Packet { buffer, buffers: 1, bytes, arrival, sequence, rss_hash };
            drivers.tx.enqueue(core, fabric, packet);
            self.next_segment += 1;
        }
        self.segments += self.next_segment - first;
        let has_handed = self.next_segment > first;
        if self.next_segment == all {
            self.ready.pop_front();
            self.next_segment = 0;
            self.sent.push_back((self.segments, buffer));
            self.answered += 1;
        }
        has_handed
    }

    /// The work for an answer, before its first segment.
    fn begin(&self, core: &mut Core) {
        core.compute(self.costs.answer);
        core.compute(Cycles(self.costs.unit.0 * self.answer.units() as f64));
        core.compute(Cycles(self.costs.page.0 * self.answer.pages() as f64));
    }

    /// Frees the buffers of answers whose segments the card has all reported, when it has reported so many in
    /// all.
    pub fn release(&mut self, reported: u64, buffers: &mut TargetBuffers) {
        while let Some(&(last, buffer)) = self.sent.front()
            && last <= reported
        {
            self.sent.pop_front();
            buffers.free(buffer);
        }
    }
}
