//! An instance: its work queues, its engines, and the order of what happens in it.
//!
//! Models: descriptors accepted, refused or lost at a work queue; the choice of the next descriptor.
//! Source: Intel DSA specification, sections 3.3 and 4.
//! Simplifies: an engine takes work in the order of its number when several are free.

use super::arbiter::Arbiter;
use super::descriptor::{Descriptor, Operation, Work};
use super::engine::Engine;
use super::job::{Job, JobId, Members, Origin, Piece};
use super::portal::{Phases, Portal, Status};
use super::read_buffers::ReadBuffers;
use super::{DsaConfig, DsaCounters, LEAST_BUFFERS_PER_ENGINE, QUEUE_ENTRIES, QueueMode};
use crate::root_complex::mmio::Answer;
use slab::Slab;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::Picos;
use units::narrow::usize_from;

/// What happens in the instance at a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// An engine may take a descriptor.
    Dispatch(usize),
    /// A descriptor asks for its translations.
    Translate(JobId),
    /// A descriptor may move data.
    Ready(JobId),
    /// An engine may ask for lines.
    Issue(usize),
    /// A piece's data has arrived at the engine.
    Arrived(Piece),
    /// A piece has been handed to its destination.
    Handed(Piece),
    /// The list of a batch has arrived.
    Listed(JobId),
    /// All data of a descriptor is visible.
    Finish(JobId),
    /// A descriptor's completion record is written.
    Record(JobId),
}

/// A work queue.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkQueue {
    /// Descriptors that no engine has taken: portal, number, when seen, work.
    pub entries: VecDeque<(usize, u64, Picos, Work)>,
    /// Numbers of descriptors that have not completed.
    pub outstanding: Outstanding,
    /// Drains that wait for all before them.
    pub drains: Vec<(u64, JobId)>,
}

/// The numbers of descriptors that have not completed.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    first: u64,
    /// Whether `first` and the numbers behind it are outstanding: the first one is.
    each: VecDeque<bool>,
}

impl Outstanding {
    /// The next number.
    fn add(&mut self) -> u64 {
        self.each.push_back(true);
        self.first + self.each.len() as u64 - 1
    }

    /// The lowest number.
    fn first(&self) -> Option<u64> {
        (!self.each.is_empty()).then_some(self.first)
    }

    pub(super) fn remove(&mut self, number: &u64) {
        self.each[usize_from(number - self.first)] = false;
        while self.each.front() == Some(&false) {
            self.each.pop_front();
            self.first += 1;
        }
    }
}

/// An instance of the device.
#[derive(Clone, Debug)]
pub struct Dsa {
    pub(super) config: DsaConfig,
    pub(super) queues: Vec<Vec<WorkQueue>>,
    pub(super) arbiters: Vec<Arbiter>,
    pub(super) engines: Vec<Engine>,
    pub(super) jobs: Slab<Job>,
    pub(super) buffers: ReadBuffers,
    events: BinaryHeap<Reverse<(Picos, u64, Event)>>,
    next_event: u64,
    counters: DsaCounters,
    /// Until when the time of queue entries has been summed.
    summed_until: Picos,
}

impl Dsa {
    /// An idle instance.
    ///
    /// # Panics
    /// If queues have more entries than the device, a priority is not 1 to 15, a portal leads nowhere, or a
    /// group has fewer read buffers than its engines need. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(config: DsaConfig) -> Self {
        let all = || config.groups.iter().flat_map(|group| &group.queues);
        assert!(all().map(|queue| queue.size).sum::<u32>() <= QUEUE_ENTRIES);
        assert!(all().all(|queue| (1..=15).contains(&queue.priority) && queue.size > 0));
        let leads = |it: &super::PortalConfig| it.queue < config.groups[it.group].queues.len();
        assert!(config.portals.iter().all(leads));
        let limit = config.read_buffer_limit;
        let buffers = ReadBuffers::new(config.read_buffers, limit, &config.groups);
        for (number, group) in config.groups.iter().enumerate() {
            let least = LEAST_BUFFERS_PER_ENGINE * group.engines;
            assert!(buffers.most(number) >= least, "group {number}");
        }
        let priorities = |group: &super::GroupConfig| -> Vec<u32> {
            group.queues.iter().map(|queue| queue.priority).collect()
        };
        let groups = config.groups.iter().enumerate();
        Self {
            queues: config
                .groups
                .iter()
                .map(|group| vec![WorkQueue::default(); group.queues.len()])
                .collect(),
            arbiters: config.groups.iter().map(|group| Arbiter::new(priorities(group))).collect(),
            engines: groups
                .flat_map(|(number, group)| (0..group.engines).map(move |_| Engine::new(number)))
                .collect(),
            jobs: Slab::new(),
            buffers,
            events: BinaryHeap::new(),
            next_event: 0,
            counters: DsaCounters::default(),
            summed_until: Picos::ZERO,
            config,
        }
    }

    /// Its parameters.
    #[must_use]
    pub fn config(&self) -> &DsaConfig {
        &self.config
    }

    /// Its counters at `now`, with waits that still continue.
    #[must_use]
    pub fn counters_at(&self, now: Picos) -> DsaCounters {
        let mut counters = self.counters;
        for engine in &self.engines {
            let since =
                |start: Option<Picos>| start.map_or(Picos::ZERO, |it| now.saturating_sub(it));
            counters.engine_busy += since(engine.busy_since);
            counters.buffer_wait += since(engine.short_of_buffers);
        }
        let span = now.saturating_sub(self.summed_until);
        counters.queue_entry_time += Picos(span.0 * self.entries_in_use());
        counters
    }

    pub(super) fn counters_mut(&mut self) -> &mut DsaCounters {
        &mut self.counters
    }

    pub(super) fn counters(&self) -> &DsaCounters {
        &self.counters
    }

    pub(super) fn entries_in_use(&self) -> u64 {
        self.queues.iter().flatten().map(|queue| queue.entries.len() as u64).sum()
    }

    pub(super) fn at(&mut self, time: Picos, event: Event) {
        self.events.push(Reverse((time, self.next_event, event)));
        self.next_event += 1;
    }

    pub(super) fn next_event_at(&self) -> Picos {
        self.events.peek().map_or(Picos::NEVER, |Reverse((time, ..))| *time)
    }

    pub(super) fn pop_event(&mut self, now: Picos) -> Option<Event> {
        if self.next_event_at() > now {
            return None;
        }
        self.events.pop().map(|Reverse((_, _, event))| event)
    }

    /// The device sees the first descriptor of a portal. Returns when the core receives an answer, if it
    /// waits for one.
    pub(super) fn see(&mut self, number: usize, portal: &mut Portal, now: Picos) -> Option<Picos> {
        let submission = portal.posted.pop_front()?;
        let to = self.config.portals[number];
        let config = &self.config.groups[to.group].queues[to.queue];
        let held = self.queues[to.group][to.queue].entries.len();
        let (limit, waits) = match config.mode {
            QueueMode::Dedicated => (config.size, false),
            QueueMode::Shared { threshold } => {
                let later = config.thresholds.iter().filter(|&&(from, _)| from <= now);
                let threshold = later.max().map_or(threshold, |&(_, threshold)| threshold);
                (threshold.min(config.size), true)
            }
        };
        let has_room = held < limit as usize;
        if has_room {
            self.accept(number, submission.work, now);
        } else if waits {
            self.counters.refused += 1;
            portal.refused = Some(submission.work);
        } else {
            self.counters.dropped += 1;
        }
        if !waits {
            return None;
        }
        let received = now + self.config.timing.portal;
        portal.answer = Some((if has_room { Answer::Accepted } else { Answer::Retry }, received));
        Some(received)
    }

    fn accept(&mut self, portal: usize, work: Work, now: Picos) {
        self.sum_entries(now);
        let to = self.config.portals[portal];
        let queue = &mut self.queues[to.group][to.queue];
        let number = queue.outstanding.add();
        queue.entries.push_back((portal, number, now, work));
        self.counters.accepted += 1;
        for engine in 0..self.engines.len() {
            if self.engines[engine].group == to.group {
                self.dispatch(engine, now);
            }
        }
    }

    fn sum_entries(&mut self, now: Picos) {
        let span = now.saturating_sub(self.summed_until);
        self.counters.queue_entry_time += Picos(span.0 * self.entries_in_use());
        self.summed_until = now;
    }

    /// Lets an engine take a descriptor, if its front is free and one waits.
    pub(super) fn dispatch(&mut self, engine: usize, now: Picos) {
        let state = &self.engines[engine];
        let full = state.in_work >= self.config.descriptors_per_engine;
        if full || now < state.front_free || now < state.blocked_until {
            return;
        }
        let members_first = state.members_first;
        let began = [members_first, !members_first].into_iter().any(|of_batch| match of_batch {
            true => self.begin_member(engine, now),
            false => self.begin_queued(engine, now),
        });
        if !began {
            return;
        }
        let state = &mut self.engines[engine];
        state.members_first = !members_first;
        state.front_free = now + self.config.timing.descriptor_interval;
        let free = state.front_free;
        self.at(free, Event::Dispatch(engine));
    }

    /// Begins the next descriptor of the group's queues.
    fn begin_queued(&mut self, engine: usize, now: Picos) -> bool {
        let group = self.engines[engine].group;
        let queues = &self.queues[group];
        let has_work = |queue: usize| !queues[queue].entries.is_empty();
        let Some(queue) = self.arbiters[group].choose(has_work) else { return false };
        self.sum_entries(now);
        let entry = self.queues[group][queue].entries.pop_front();
        let Some((portal, number, seen, work)) = entry else { return false };
        let origin = Origin::Queue { portal, group, queue, number };
        let phases = Phases { seen, dispatched: now, ..Phases::default() };
        let (descriptor, members) = match work {
            Work::One(descriptor) => (descriptor, None),
            Work::Batch { descriptor, members } => {
                let waiting = VecDeque::from(members);
                (descriptor, Some(Members { waiting, ..Members::default() }))
            }
        };
        self.begin(Job::new(descriptor, members, origin, engine, phases), now);
        true
    }

    /// Begins the next member of a batch that the engine processes, unless a fence holds it back.
    fn begin_member(&mut self, engine: usize, now: Picos) -> bool {
        for turn in 0..self.engines[engine].batches.len() {
            let batch = self.engines[engine].batches[turn];
            if let Some(descriptor) = self.next_member(batch) {
                let phases = Phases { seen: now, dispatched: now, ..Phases::default() };
                let origin = Origin::Batch(batch);
                self.begin(Job::new(descriptor, None, origin, engine, phases), now);
                self.engines[engine].batches.rotate_left(turn + 1);
                return true;
            }
        }
        false
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
        self.at(now + self.config.timing.dispatch, Event::Translate(id));
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
        self.counters.invalid += 1;
        let job = &mut self.jobs[id];
        job.status = Status::Invalid;
        job.lines = 0;
        if job.members.take().is_some() {
            // It is no batch any more: it counts among the descriptors that its engine has in work.
            self.engines[job.engine].in_work += 1;
        }
        self.at(now + self.config.timing.dispatch, Event::Finish(id));
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
            self.at(now + self.config.timing.dispatch, Event::Finish(job));
        }
    }
}
