//! Replay of a log of descriptors: what a program offloaded once, offloaded again.
//!
//! Models: cores that submit logged descriptors and batches at the times of the log or as soon as there is
//! room, each core those of its portals in their order, and read their completion records; or that do the
//! same operations themselves ([`core_replay`]).
//! Source: docs/reference/descriptor-log.md.
//! Simplifies: the program's own work lies in the times between submissions; a core that is behind the log
//! does not catch up by doing less of it.

pub mod core_replay;

use crate::driver::offloader::{Offloader, OnCore};
use hdrhistogram::Histogram;
use model::core::Core;
use model::device::dsa::descriptor::Descriptor;
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::latency_histogram::{self, latency_histogram};
use model::software::{Account, DESCRIPTOR_PHASES, OffloadTimes, ReplayedPhase, Software, Turn};
use model::tracer::Tracer;
use std::collections::{BTreeMap, VecDeque};
use units::Picos;

/// An offload of the log, with the addresses of its operands in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedOffload {
    /// Earliest time of the offload.
    pub time: Picos,
    /// The phase of the log that it belongs to, from 0.
    pub phase: usize,
    /// One descriptor, or the members of a batch.
    pub members: Vec<Descriptor>,
}

/// The replay of a core.
#[derive(Debug)]
pub struct DescriptorReplay {
    core: Core,
    offloader: Offloader,
    next: VecDeque<ReplayedOffload>,
    next_tag: u64,
    in_flight: BTreeMap<u64, OffloadInFlight>,
    phases: Vec<ReplayedPhase>,
    /// Until when the time of phases is counted.
    counted: Picos,
    /// Time that the core had spent on offloading until `counted`.
    offloading: Picos,
    idle_since: Option<Picos>,
    account: Account,
    latency_ns: Histogram<u64>,
}

/// An offload in flight.
#[derive(Clone, Copy, Debug)]
struct OffloadInFlight {
    phase: usize,
    descriptors: u64,
    bytes: u64,
}

impl DescriptorReplay {
    /// A core at time zero with its offloads in the order of their times, in so many phases.
    #[must_use]
    pub fn new(
        core: Core,
        offloader: Offloader,
        offloads: Vec<ReplayedOffload>,
        phases: usize,
    ) -> Self {
        Self {
            phases: vec![ReplayedPhase::default(); phases],
            counted: Picos::ZERO,
            offloading: Picos::ZERO,
            core,
            offloader,
            next: offloads.into(),
            next_tag: 0,
            in_flight: BTreeMap::new(),
            idle_since: None,
            account: Account::default(),
            latency_ns: latency_histogram(),
        }
    }

    /// Reads a completion record, if one is visible.
    fn reap<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) -> bool {
        let before = self.core.now();
        let Some(done) = self.offloader.reap(&mut OnCore { core: &mut self.core, fabric, queues })
        else {
            return false;
        };
        self.count_time();
        if let Some(OffloadInFlight { phase, descriptors, bytes }) =
            self.in_flight.remove(&done.tag)
        {
            self.account.work += descriptors;
            self.offloader.times_mut().bytes += bytes;
            let own = &mut self.phases[phase];
            own.descriptors += descriptors;
            own.bytes += bytes;
            own.offloading += self.core.now() - before;
        }
        let now = self.core.now();
        self.account.last_completion = now;
        self.latency_ns.saturating_record((now - done.begun).0 / 1_000);
        true
    }

    /// Submits the next offload.
    fn submit<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) -> Turn {
        let Some(offload) = self.next.pop_front() else { return Turn::Idle(Picos::NEVER) };
        self.count_time();
        let ReplayedOffload { phase, members, .. } = &offload;
        let bytes = members.iter().map(|member| member.bytes).sum();
        let in_flight = OffloadInFlight { phase: *phase, descriptors: members.len() as u64, bytes };
        self.in_flight.insert(self.next_tag, in_flight);
        let at = &mut OnCore { core: &mut self.core, fabric, queues };
        let waits = self.offloader.offload(at, self.next_tag, &offload.members);
        self.count_time();
        self.next_tag += 1;
        waits.unwrap_or(Turn::Busy(self.core.now()))
    }

    /// Counts the time since the last call: as under way for the phase of the oldest offload in flight, as
    /// far as the core spent it on offloading for that of the newest.
    fn count_time(&mut self) {
        let now = self.core.now();
        let OffloadTimes { allocate, touch, prepare, lock, submit, .. } = self.offloader.times(now);
        let offloading = allocate + touch + prepare + lock + submit;
        if let Some((_, oldest)) = self.in_flight.first_key_value() {
            self.phases[oldest.phase].under_way += now - self.counted;
        }
        if let Some((_, newest)) = self.in_flight.last_key_value() {
            self.phases[newest.phase].offloading += offloading - self.offloading;
        }
        (self.counted, self.offloading) = (now, offloading);
    }
}

impl<T: Tracer> Software<T> for DescriptorReplay {
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn {
        self.core.wait_until(now);
        if let Some(since) = self.idle_since.take() {
            self.account.idle += self.core.now() - since;
        }
        let at = &mut OnCore { core: &mut self.core, fabric, queues };
        let waits = self.offloader.resume(at);
        self.count_time();
        if let Some(turn) = waits {
            return turn;
        }
        if self.reap(fabric, queues) {
            return Turn::Busy(self.core.now());
        }
        let next = self.next.front().map_or(Picos::NEVER, |offload| offload.time);
        let has_room = self.offloader.has_room();
        if has_room && next <= self.core.now() {
            return self.submit(fabric, queues);
        }
        self.idle_since = Some(self.core.now());
        let next = if has_room { next } else { Picos::NEVER };
        self.offloader.wait(&self.core, queues, next)
    }

    fn queues(&self) -> &[QueueId] {
        self.offloader.queues()
    }

    fn account(&self, now: Picos) -> Account {
        let waited = self.idle_since.map_or(Picos::ZERO, |since| now.saturating_sub(since));
        Account {
            idle: self.account.idle + waited,
            offload: self.offloader.times(now),
            ..self.account
        }
    }

    fn take_latencies(&mut self) -> Option<Histogram<u64>> {
        Some(latency_histogram::take(&mut self.latency_ns))
    }
    fn take_descriptor_phases(&mut self) -> Option<[Histogram<u64>; DESCRIPTOR_PHASES]> {
        Some(self.offloader.take_phases())
    }

    fn replayed(&self) -> &[ReplayedPhase] {
        &self.phases
    }
}
