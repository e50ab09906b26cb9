//! How engines take descriptors: from the queues of their group, and from the batches that they process.
//!
//! Models: the choice of the next descriptor; batches that a unit of their own takes; the checks of a queue.
//! Source: Intel DSA specification, sections 3.8 and 4.
//! Simplifies: an engine takes work in the order of its number when several are free.

use super::descriptor::{Descriptor, DsaWork, Operation};
use super::engine::StartedWork;
use super::instance::{Dsa, InstanceEvent};
use super::job::{Job, JobId, Members, Origin};
use super::portal::{Phases, Status};
use std::collections::VecDeque;
use units::Picos;

impl Dsa {
    /// Lets an engine take a descriptor, if its front is free and one waits; batches before it go to a unit
    /// of their own.
    pub(super) fn dispatch(&mut self, engine: usize, now: Picos) {
        let interval = self.config.timing.descriptor_interval;
        loop {
            let state = &self.engines[engine];
            let full = state.in_work >= self.config.descriptors_per_engine;
            if full || now < state.front_free || now < state.blocked_until {
                return;
            }
            let members_first = state.members_first;
            let mut turns = [members_first, !members_first].into_iter();
            let began = turns.find_map(|of_batch| match of_batch {
                true => self.begin_member(engine, now),
                false => self.begin_queued(engine, now),
            });
            let state = &mut self.engines[engine];
            match began {
                None => return,
                Some(StartedWork::Batch) => state.batch_unit_free = now + interval,
                Some(StartedWork::Descriptor) => {
                    state.members_first = !members_first;
                    state.front_free = now + interval;
                    self.counters_mut().front_busy += interval;
                }
            }
            self.at(now + interval, InstanceEvent::Dispatch(engine));
        }
    }

    /// Begins the next descriptor of the group's queues.
    fn begin_queued(&mut self, engine: usize, now: Picos) -> Option<StartedWork> {
        let group = self.engines[engine].group;
        let queues = &self.queues[group];
        let takes_batches = now >= self.engines[engine].batch_unit_free;
        let has_work = |queue: usize| match queues[queue].entries.front() {
            Some((.., DsaWork::Batch { .. })) => takes_batches,
            first => first.is_some(),
        };
        let queue = self.arbiters[group].choose(has_work)?;
        self.sum_entries(now);
        let (portal, number, seen, work) = self.queues[group][queue].entries.pop_front()?;
        let origin = Origin::Queue { portal, group, queue, number };
        let phases = Phases { seen, dispatched: now, ..Phases::default() };
        let (began, descriptor, members) = match work {
            DsaWork::One(descriptor) => (StartedWork::Descriptor, descriptor, None),
            DsaWork::Batch { descriptor, members } => {
                let waiting = VecDeque::from(members);
                let members = Members { waiting, ..Members::default() };
                (StartedWork::Batch, descriptor, Some(members))
            }
        };
        self.begin(Job::new(descriptor, members, origin, engine, phases), now);
        Some(began)
    }

    /// Begins the next member of a batch that the engine processes, unless a fence holds it back.
    fn begin_member(&mut self, engine: usize, now: Picos) -> Option<StartedWork> {
        for turn in 0..self.engines[engine].batches.len() {
            let batch = self.engines[engine].batches[turn];
            if let Some(descriptor) = self.next_member(batch) {
                let phases = Phases { seen: now, dispatched: now, ..Phases::default() };
                let origin = Origin::Batch(batch);
                self.begin(Job::new(descriptor, None, origin, engine, phases), now);
                self.engines[engine].batches.rotate_left(turn + 1);
                return Some(StartedWork::Descriptor);
            }
        }
        None
    }

    fn next_member(&mut self, batch: JobId) -> Option<Descriptor> {
        let members = self.jobs[batch].members.as_mut()?;
        let next = members.waiting.front().filter(|_| members.fetched > 0)?;
        if next.fence && members.in_work > 0 {
            return None;
        }
        members.fetched -= 1;
        members.in_work += 1;
        members.waiting.pop_front()
    }

    fn begin(&mut self, job: Job, now: Picos) {
        let engine = &mut self.engines[job.engine];
        if job.members.is_none() {
            engine.in_work += 1;
        }
        engine.busy_since = engine.busy_since.or(Some(now));
        let is_drain = job.descriptor.operation == Operation::Drain;
        let origin = job.origin;
        let is_valid = self.is_valid(&job);
        let id = self.jobs.insert(job);
        if !is_valid {
            self.refuse(id, now);
            return;
        }
        if let (true, Origin::Queue { group, queue, number, .. }) = (is_drain, origin) {
            self.queues[group][queue].drains.push((number, id));
            self.release_drains(group, queue, now);
            return;
        }
        self.at(now + self.config.timing.dispatch, InstanceEvent::Translate(id));
    }

    /// Whether the queue of a descriptor allows its size, or its number of members. Members belong to the
    /// queue of their batch.
    fn is_valid(&self, job: &Job) -> bool {
        let of_queue = |group: usize, queue: usize| &self.config.groups[group].queues[queue];
        let config = match job.origin {
            Origin::Queue { group, queue, .. } => of_queue(group, queue),
            Origin::Batch(batch) => match self.jobs[batch].origin {
                Origin::Queue { group, queue, .. } => of_queue(group, queue),
                Origin::Batch(_) => return false,
            },
        };
        match &job.members {
            Some(members) => (2..=config.max_batch as usize).contains(&members.waiting.len()),
            None => job.descriptor.bytes <= config.max_transfer_bytes,
        }
    }

    /// Ends a descriptor with nothing but its completion record.
    fn refuse(&mut self, id: JobId, now: Picos) {
        self.counters_mut().invalid += 1;
        let job = &mut self.jobs[id];
        job.status = Status::Invalid;
        job.lines = 0;
        if job.members.take().is_some() {
            // It is no batch any more: it counts among the descriptors that its engine has in work.
            self.engines[job.engine].in_work += 1;
        }
        self.at(now + self.config.timing.dispatch, InstanceEvent::Finish(id));
    }

    /// Lets drains complete before which nothing of their queue is outstanding.
    pub(super) fn release_drains(&mut self, group: usize, queue: usize, now: Picos) {
        let state = &mut self.queues[group][queue];
        if state.drains.is_empty() {
            return;
        }
        let first = state.outstanding.first();
        let (free, held) = state.drains.iter().partition(|&&(number, _)| first == Some(number));
        state.drains = held;
        let free: Vec<(u64, JobId)> = free;
        for (_, job) in free {
            self.at(now + self.config.timing.dispatch, InstanceEvent::Finish(job));
        }
    }
}
