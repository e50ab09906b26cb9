//! The driver's half of a receive queue.
//!
//! Models: completion polling, refill in batches from the pool, the doorbell record; packets that came in
//! several buffers are chained.
//! Source: DPDK mlx5 vector receive (refill threshold min(64, n/4)); others at the device's facts.
//! Simplifies: one completion line reports up to eight packets, all of one kind.

use super::mempool::Mempool;
use model::core::Core;
use model::device::nic::rings::{Buffer, Packet, RxRing};
use model::fabric::Fabric;
use model::tracer::Tracer;
use units::{LINE_BYTES, Picos};

/// Result of a refill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// Nothing is left to post.
    Done,
    /// The pool did not have enough buffers.
    PoolDry,
}

/// Driver state of a receive queue.
#[derive(Debug)]
pub struct RxDriver {
    /// Descriptors without a buffer.
    empty: u32,
    /// Descriptors posted since time zero.
    posted: u64,
    /// Packets of the current completion that have not been taken.
    pending: usize,
    fresh: Vec<u32>,
}

impl RxDriver {
    /// A queue of `descriptors` descriptors, all empty.
    #[must_use]
    pub fn new(descriptors: u32) -> Self {
        Self { empty: descriptors, posted: 0, pending: 0, fresh: Vec::new() }
    }

    /// Posts buffers for all empty descriptors if enough are empty. Returns whether the pool had too
    /// few buffers, which leaves the descriptors empty.
    pub fn refill<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        ring: &mut RxRing,
        pool: &mut Mempool,
    ) -> Refill {
        if self.empty < ring.refill_at {
            return Refill::Done;
        }
        self.fresh.clear();
        if !pool.get(core, fabric, self.empty as usize, &mut self.fresh) {
            return Refill::PoolDry;
        }
        for &id in &self.fresh {
            fabric.expect(core.id(), pool.mbuf_line(id));
        }
        let per_line = LINE_BYTES / ring.descriptors.entry_bytes;
        for (i, &id) in self.fresh.iter().enumerate() {
            if i == 0 || (self.posted + i as u64).is_multiple_of(per_line) {
                core.store(fabric, ring.descriptors.line_of(self.posted + i as u64));
            }
            // The driver reads the buffer's address from its mbuf.
            core.load_independent(fabric, pool.mbuf_line(id));
        }
        if ring.format.has_doorbell_record() {
            core.store(fabric, ring.doorbell);
        }
        let visible = core.now();
        ring.posted.extend(self.fresh.iter().map(|&id| (visible, pool.receive_buffer(core, id))));
        self.posted += self.fresh.len() as u64;
        self.empty = 0;
        Refill::Done
    }

    /// When the next completion becomes visible, if one is under way.
    #[must_use]
    pub fn next_visible(&self, ring: &RxRing) -> Picos {
        if self.pending == 0 {
            ring.completed.front().map_or(Picos::NEVER, |completion| completion.visible)
        } else {
            Picos::ZERO
        }
    }

    /// Packets of the current completion that have not been taken.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// Reads completions until there is a packet; returns it with its mbuf filled in.
    pub fn receive<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        ring: &mut RxRing,
        pool: &mut Mempool,
    ) -> Option<Packet> {
        if self.pending == 0 {
            if ring.completed.front()?.visible > core.now() {
                return None;
            }
            let completion = ring.completed.pop_front()?;
            core.load(fabric, completion.line);
            for behind in 1..=completion.more_lines {
                core.load(fabric, ring.completions.line_behind(completion.line, behind));
            }
            // Looks one completion ahead, so that the host has time to load the lines that follow.
            let next = ring.completed.front().map_or(0, |next| next.packets);
            self.pending = completion.packets;
            for packet in ring.packets.range(self.pending..self.pending + next) {
                fabric.expect(core.id(), pool.mbuf_line(packet.buffer.id));
                fabric.expect(core.id(), pool.private_line(packet.buffer.id));
                fabric.expect(core.id(), packet.buffer.data);
            }
        }
        let packet = ring.packets.pop_front()?;
        self.pending -= 1;
        core.store(fabric, pool.mbuf_line(packet.buffer.id));
        // Of each further buffer the mbuf is filled in, and the one before names it.
        let mut last = packet.buffer.id;
        for Buffer { id, .. } in ring.chained.drain(..packet.buffers as usize - 1) {
            core.store(fabric, pool.next_line(last));
            core.store(fabric, pool.mbuf_line(id));
            pool.chain(last, id);
            last = id;
        }
        self.empty += packet.buffers;
        Some(packet)
    }
}
