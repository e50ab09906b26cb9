//! Replay of a log by cores alone: what its operations cost where there is no engine.
//!
//! Models: the loops of [`CoreMover`] for each logged operation, one after the other, members of a batch in
//! the order of their list; each core does those of its portals, in their order, no earlier than in the log.
//! Source: docs/reference/descriptor-log.md.
//! Simplifies: an operation without data (no-op, drain) takes no time: what a core does itself has ended
//! when it goes on. Fences need nothing for the same reason.

use super::ReplayedOffload;
use crate::driver::core_mover::{CoreLoops, CoreMover};
use hdrhistogram::Histogram;
use model::core::Core;
use model::device::queues::Queues;
use model::fabric::Fabric;
use model::latency_histogram::{self, latency_histogram};
use model::software::{Account, ReplayedPhase, Software, Turn};
use model::tracer::Tracer;
use std::collections::VecDeque;
use units::Picos;

/// The replay of a core without engines.
#[derive(Debug)]
pub struct CoreReplay {
    core: Core,
    loops: CoreLoops,
    next: VecDeque<ReplayedOffload>,
    /// When the offload in front began, and how many of its members have ended.
    begun: Option<(Picos, usize)>,
    /// The operation under way.
    mover: Option<CoreMover>,
    /// Since when the operation under way is not counted.
    counted: Picos,
    idle_since: Option<Picos>,
    account: Account,
    phases: Vec<ReplayedPhase>,
    latency_ns: Histogram<u64>,
}

impl CoreReplay {
    /// A core at time zero with its offloads in the order of their times, in so many phases.
    #[must_use]
    pub fn new(
        core: Core,
        loops: CoreLoops,
        offloads: Vec<ReplayedOffload>,
        phases: usize,
    ) -> Self {
        Self {
            core,
            loops,
            next: offloads.into(),
            begun: None,
            mover: None,
            counted: Picos::ZERO,
            idle_since: None,
            account: Account::default(),
            phases: vec![ReplayedPhase::default(); phases],
            latency_ns: latency_histogram(),
        }
    }

    /// Goes on with the operation under way; returns whether it has ended.
    fn move_on<T: Tracer>(&mut self, fabric: &mut Fabric<T>, phase: usize) -> bool {
        let Some(mover) = &mut self.mover else { return true };
        let has_ended = mover.advance(&mut self.core, fabric);
        let spent = self.core.now() - self.counted;
        self.account.offload.work += spent;
        self.phases[phase].under_way += spent;
        self.counted = self.core.now();
        if has_ended {
            self.mover = None;
        }
        has_ended
    }

    /// Does the next part of the offload in front; returns whether all of it has ended.
    fn go_on<T: Tracer>(&mut self, fabric: &mut Fabric<T>) -> bool {
        let Some(offload) = self.next.front() else { return true };
        let phase = offload.phase;
        let (begun, ended) = *self.begun.get_or_insert((self.core.now(), 0));
        let Some(member) = offload.members.get(ended).copied() else { return true };
        if self.mover.is_none() {
            self.counted = self.core.now();
            if let Some(config) = self.loops.mover(member.operation) {
                let mut mover = CoreMover::new(config);
                mover.begin(&mut self.core, &member);
                self.mover = Some(mover);
            }
        }
        if self.move_on(fabric, phase) {
            self.account.work += 1;
            self.account.offload.bytes += member.bytes;
            self.phases[phase].descriptors += 1;
            self.phases[phase].bytes += member.bytes;
            self.begun = Some((begun, ended + 1));
        }
        false
    }
}

impl<T: Tracer> Software<T> for CoreReplay {
    fn step(&mut self, fabric: &mut Fabric<T>, _: &mut Queues, now: Picos) -> Turn {
        self.core.wait_until(now);
        if let Some(since) = self.idle_since.take() {
            self.account.idle += self.core.now() - since;
        }
        let Some(offload) = self.next.front() else { return Turn::Idle(Picos::NEVER) };
        if self.begun.is_none() && offload.time > self.core.now() {
            self.idle_since = Some(self.core.now());
            return Turn::Busy(offload.time);
        }
        if self.go_on(fabric) {
            let begun = self.begun.take().map_or(self.core.now(), |(begun, _)| begun);
            self.next.pop_front();
            self.account.last_completion = self.core.now();
            self.latency_ns.saturating_record((self.core.now() - begun).0 / 1_000);
        }
        Turn::Busy(self.core.now())
    }

    fn account(&self, now: Picos) -> Account {
        let waited = self.idle_since.map_or(Picos::ZERO, |since| now.saturating_sub(since));
        Account { idle: self.account.idle + waited, ..self.account }
    }

    fn work(&self, _: Picos) -> u64 {
        self.account.work
    }

    fn take_latencies(&mut self) -> Option<Histogram<u64>> {
        Some(latency_histogram::take(&mut self.latency_ns))
    }

    fn replayed(&self) -> &[ReplayedPhase] {
        &self.phases
    }
}
