//! Replay of a log of descriptors: what a program offloaded once, offloaded again.
//!
//! Models: cores that submit logged descriptors and batches at the times of the log or as soon as there is
//! room, each core those of its portals in their order, and read their completion records.
//! Source: docs/descriptor-log.md.
//! Simplifies: the program's own work lies in the times between submissions; a core that is behind the log
//! does not catch up by doing less of it.

use crate::driver::offloader::{Offloader, OnCore};
use hdrhistogram::Histogram;
use model::core::Core;
use model::device::dsa::descriptor::Descriptor;
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::latency_histogram::{self, latency_histogram};
use model::software::{Account, DESCRIPTOR_PHASES, Software, Turn};
use model::tracer::Tracer;
use std::collections::{BTreeMap, VecDeque};
use units::Picos;

/// An offload of the log, with the addresses of its operands in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedOffload {
    /// Not before this time.
    pub time: Picos,
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
    /// Descriptors and bytes of each offload in flight.
    in_flight: BTreeMap<u64, (u64, u64)>,
    idle_since: Option<Picos>,
    account: Account,
    latency_ns: Histogram<u64>,
}

impl DescriptorReplay {
    /// A core at time zero with its offloads in the order of their times.
    #[must_use]
    pub fn new(core: Core, offloader: Offloader, offloads: Vec<ReplayedOffload>) -> Self {
        Self {
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
        let Some(done) = self.offloader.reap(&mut OnCore { core: &mut self.core, fabric, queues })
        else {
            return false;
        };
        if let Some((descriptors, bytes)) = self.in_flight.remove(&done.tag) {
            self.account.work += descriptors;
            self.offloader.times_mut().bytes += bytes;
        }
        let now = self.core.now();
        self.account.last_completion = now;
        self.latency_ns.saturating_record((now - done.begun).0 / 1_000);
        true
    }

    /// Submits the next offload.
    fn submit<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) -> Turn {
        let Some(offload) = self.next.pop_front() else { return Turn::Idle(Picos::NEVER) };
        let bytes = offload.members.iter().map(|member| member.bytes).sum();
        self.in_flight.insert(self.next_tag, (offload.members.len() as u64, bytes));
        let at = &mut OnCore { core: &mut self.core, fabric, queues };
        let waits = self.offloader.offload(at, self.next_tag, &offload.members);
        self.next_tag += 1;
        waits.unwrap_or(Turn::Busy(self.core.now()))
    }
}

impl<T: Tracer> Software<T> for DescriptorReplay {
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn {
        self.core.wait_until(now);
        if let Some(since) = self.idle_since.take() {
            self.account.idle += self.core.now() - since;
        }
        let at = &mut OnCore { core: &mut self.core, fabric, queues };
        if let Some(turn) = self.offloader.resume(at) {
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
}
