//! What runs on a core, as the machine sees it.
//!
//! Models: nothing of its own; software asks the memory system for lines, posts to queues of devices
//! and says when it goes on.
//! Source: run-to-completion loops of DPDK and SPDK.
//! Simplifies: nothing.

use crate::counters::ProbeCounts;
use crate::device::queues::{QueueId, Queues};
use crate::fabric::Fabric;
use crate::reading;
use crate::tracer::Tracer;
use hdrhistogram::Histogram;
use std::fmt::Debug;
use units::Picos;

/// How software wants to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It works until this time and goes on then.
    Busy(Picos),
    /// It polls in vain: nothing is to be seen in its queues before this time, or before a device
    /// writes something new. [`Picos::NEVER`] if nothing is under way at all.
    Idle(Picos),
}

/// What a core's software has done and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Time of polling in vain.
    pub idle: Picos,
    /// Time of waiting for room in a send ring.
    pub sender_blocked: Picos,
    /// Units of its work done: packets, requests or accesses.
    pub work: u64,
    /// Instructions retired; `None` where some of its work is known in cycles only.
    pub instructions: Option<u64>,
    /// Packets taken from a receive queue and not handed to a send queue.
    pub packets_in_work: usize,
    /// Packets handed to a send queue whose buffers have not been freed.
    pub packets_in_ring: usize,
    /// Packets that ended here: their buffers went back to the pool without being sent.
    pub packets_consumed: u64,
    /// Buffers that nobody has taken from the pool that all cores of its tenant share.
    pub buffers_free: usize,
    /// What it has observed, if it watches a cache.
    pub probes: ProbeCounts,
}

reading!(
    Account { idle, sender_blocked, work, instructions, packets_consumed, probes },
    levels { packets_in_work, packets_in_ring, buffers_free }
);

/// What runs on a core: it sees the memory system and the queues of devices.
pub trait Software<T: Tracer>: Debug {
    /// Does the next small piece of work at `now`.
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn;

    /// The queues that it polls and posts to: nobody else does.
    fn queues(&self) -> &[QueueId] {
        &[]
    }

    /// What it has done until `now`, a wait that still goes on included.
    fn account(&self, now: Picos) -> Account;

    /// Whether it never ends by itself: a run ends when nobody else will act again.
    fn is_background(&self) -> bool {
        false
    }

    /// The latencies of its requests in ns since the last call, if it measures them itself.
    fn take_latencies(&mut self) -> Option<Histogram<u64>> {
        None
    }
}
