//! Software on a core, as the machine sees it.
//!
//! Models: the interface of software: it accesses lines, posts to queues of devices and returns the
//! time of its next step.
//! Source: run-to-completion loops of DPDK and SPDK.

use crate::counters::ProbeCounts;
use crate::device::queues::{QueueId, Queues};
use crate::fabric::Fabric;
use crate::reading;
use crate::tracer::Tracer;
use hdrhistogram::Histogram;
use std::fmt::Debug;
use units::Picos;

/// Result of a step of software: when it continues, and whether it works or polls until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The software works until this time and continues then.
    Busy(Picos),
    /// The software polls empty queues: no entry becomes visible before this time, or before a device
    /// writes a new one. [`Picos::NEVER`] if no entry is under way.
    Idle(Picos),
}

/// Time and events of a core's data operations, offloaded or done by the core itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffloadTimes {
    /// Time of allocating memory for descriptors.
    pub allocate: Picos,
    /// Time of touching data pages, and of the page faults that the core answers itself.
    pub touch: Picos,
    /// Time of filling in descriptors.
    pub prepare: Picos,
    /// Time of waiting for the lock of a queue, and of taking it.
    pub lock: Picos,
    /// Time of writing descriptors to a portal, with the wait for an answer.
    pub submit: Picos,
    /// Time of waiting for completions, and of learning of them.
    pub wait: Picos,
    /// The part of `wait` in which the core is asleep: in UMWAIT, or until an interrupt.
    pub asleep: Picos,
    /// Time of operations that the core does itself.
    pub work: Picos,
    /// Number of submissions that were refused.
    pub retries: u64,
    /// Number of descriptors that ended without success.
    pub failed: u64,
    /// Number of page faults of the core on data of operations.
    pub page_faults: u64,
    /// Bytes of all operations done: the sum of their transfer sizes.
    pub bytes: u64,
}

reading!(OffloadTimes {
    allocate,
    touch,
    prepare,
    lock,
    submit,
    wait,
    asleep,
    work,
    retries,
    failed,
    page_faults,
    bytes,
});

/// Phases of a descriptor, for which software measures latencies.
pub const DESCRIPTOR_PHASES: usize = 6;

/// Copies that an application consists of, by the core itself or by an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyCounts {
    /// Number of copies done.
    pub copies: u64,
    /// Bytes of these copies.
    pub bytes: u64,
    /// Number of copies that an engine did.
    pub offloaded: u64,
    /// Bytes of the copies that an engine did.
    pub offloaded_bytes: u64,
}

reading!(CopyCounts { copies, bytes, offloaded, offloaded_bytes });

/// Time and events of a virtual switch, and of the guest behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounts {
    /// Time of the switch's core apart from polling and waiting.
    pub working: Picos,
    /// The part of `working` in which the core copies packets.
    pub copying: Picos,
    /// Number of packets dropped because the guest had offered no buffer.
    pub dropped: u64,
    /// Number of bursts whose copies ended before those of an earlier burst, which they had to wait
    /// for.
    pub overtaking: u64,
    /// Number of packets that a guest received after a later one of the same queue.
    pub disordered: u64,
}

reading!(SwitchCounts { working, copying, dropped, overtaking, disordered });

/// Requests to a store by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Number of items read.
    pub gets: u64,
    /// Number of items written.
    pub sets: u64,
}

reading!(StoreCounts { gets, sets });

/// Requests of a storage target, and the time of its core by what it does, idle time apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TargetCounts {
    /// Number of requests that the target has taken from the card.
    pub requests: u64,
    /// Bytes of data in the answers that the target has handed to the card.
    pub answered_bytes: u64,
    /// Time of taking requests, handling them and submitting reads, with the looks at all queues.
    pub requesting: Picos,
    /// Time of taking completions of SSDs.
    pub completing: Picos,
    /// Time of digests, or of submitting them and learning of their completions.
    pub digesting: Picos,
    /// Time of sending answers.
    pub sending: Picos,
}

reading!(TargetCounts { requests, answered_bytes, requesting, completing, digesting, sending });

/// A core's share of one phase of the log that it replays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayedPhase {
    /// Number of descriptors done; a batch counts as its members.
    pub descriptors: u64,
    /// Transfer sizes of these descriptors, in bytes.
    pub bytes: u64,
    /// Time in which at least one of the descriptors was under way, at an engine or on the core.
    pub under_way: Picos,
    /// Time of the core for preparing and submitting descriptors and reading their records.
    pub offloading: Picos,
}

reading!(ReplayedPhase { descriptors, bytes, under_way, offloading });

/// Counters and levels of a core's software.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Time of polling empty queues.
    pub idle: Picos,
    /// Time of waiting for a free entry in a send ring.
    pub sender_blocked: Picos,
    /// Units of work done: packets, requests or accesses.
    pub work: u64,
    /// Instructions retired; `None` where some of its work is known in cycles only.
    pub instructions: Option<u64>,
    /// Number of packets taken from a receive queue and not handed to a send queue.
    pub packets_in_work: usize,
    /// Number of packets handed to a send queue whose buffers have not been freed.
    pub packets_in_ring: usize,
    /// Number of packets that ended here: their buffers returned to the pool without being sent.
    pub packets_consumed: u64,
    /// Free buffers in the pool that all cores of its tenant share.
    pub buffers_free: usize,
    /// Observations of the software, if it watches a cache.
    pub probes: ProbeCounts,
    /// Data operations, offloaded or done by the core.
    pub offload: OffloadTimes,
    /// Copies of the software's data, with their bytes.
    pub copies: CopyCounts,
    /// Times and events of a virtual switch.
    pub switch: SwitchCounts,
    /// Counts of requests to a store, by kind.
    pub store: StoreCounts,
    /// Requests to a storage target, and the time of its core.
    pub target: TargetCounts,
    /// Data of received messages, in bytes.
    pub message_bytes: u64,
    /// Time at which the software learnt of its last completion, if it replays a log.
    pub last_completion: Picos,
}

reading!(
    Account {
        idle,
        sender_blocked,
        work,
        instructions,
        packets_consumed,
        probes,
        offload,
        copies,
        switch,
        store,
        target,
        message_bytes,
    },
    levels { packets_in_work, packets_in_ring, buffers_free, last_completion }
);

/// Software on a core: it accesses the memory system and the queues of devices.
pub trait Software<T: Tracer>: Debug {
    /// Does the next small amount of work at `now`.
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn;

    /// The queues that it polls and posts to; no other core uses them.
    fn queues(&self) -> &[QueueId] {
        &[]
    }

    /// Counters of the software at `now`, including a wait that still continues.
    fn account(&self, now: Picos) -> Account;

    /// Units of work done until `now`; the machine asks for them after each step.
    fn work(&self, now: Picos) -> u64 {
        self.account(now).work
    }

    /// Whether it never ends by itself: a run ends when no other agent will act again.
    fn is_background(&self) -> bool {
        false
    }

    /// The latencies of its requests in ns since the last call, if it measures them itself.
    fn take_latencies(&mut self) -> Option<Histogram<u64>> {
        None
    }

    /// The times of its descriptors in ns since the last call, phase by phase, if it offloads operations:
    /// from the first cycle of preparation until the device sees the descriptor, in its queue, until its
    /// translations are there, until its data is visible, until its record is, until the core has read it.
    fn take_descriptor_phases(&mut self) -> Option<[Histogram<u64>; DESCRIPTOR_PHASES]> {
        None
    }

    /// The phases of the log that it replays, so far; none if it replays no log.
    fn replayed(&self) -> &[ReplayedPhase] {
        &[]
    }
}
