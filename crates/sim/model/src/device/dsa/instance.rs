//! An instance: its work queues, its engines, and the order of what happens in it.
//!
//! Models: descriptors accepted, refused or lost at a work queue.
//! Source: Intel DSA specification, section 3.3.

use super::arbiter::Arbiter;
use super::descriptor::DsaWork;
use super::engine::Engine;
use super::job::{Job, JobId, Piece};
use super::portal::Portal;
use super::read_buffers::ReadBuffers;
use super::{DsaConfig, DsaCounters, LEAST_BUFFERS_PER_ENGINE, QUEUE_ENTRIES, QueueMode};
use crate::root_complex::mmio::Answer;
use slab::Slab;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::Picos;
use units::narrow::usize_from;

/// An event inside the instance, scheduled for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InstanceEvent {
    /// An engine may take a descriptor.
    Dispatch(usize),
    /// A descriptor asks for its translations.
    Translate(JobId),
    /// A descriptor may move data.
    Ready(JobId),
    /// An engine may ask for lines.
    Issue(usize),
    /// A piece's data has arrived at the engine.
    Arrived(usize),
    /// A piece has been handed to its destination.
    Handed(usize),
    /// The list of a batch has arrived.
    Listed(JobId),
    /// All data of a descriptor is visible.
    Finish(JobId),
    /// A descriptor's completion record is written.
    Record(JobId),
}

/// State of a work queue.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkQueue {
    /// Descriptors that no engine has taken: portal, number, when seen, work.
    pub entries: VecDeque<(usize, u64, Picos, DsaWork)>,
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
    /// Gives the next descriptor its number, which is outstanding from now on.
    fn add(&mut self) -> u64 {
        self.each.push_back(true);
        self.first + self.each.len() as u64 - 1
    }

    /// The lowest outstanding number; `None` if all descriptors have completed.
    pub(super) fn first(&self) -> Option<u64> {
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
    /// Lines that have been asked for and not handed on, by the numbers that events have.
    pub(super) pieces: Slab<Piece>,
    pub(super) buffers: ReadBuffers,
    events: BinaryHeap<Reverse<(Picos, u64, InstanceEvent)>>,
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
            pieces: Slab::new(),
            buffers,
            events: BinaryHeap::new(),
            next_event: 0,
            counters: DsaCounters::default(),
            summed_until: Picos::ZERO,
            config,
        }
    }

    /// Parameters of the instance.
    #[must_use]
    pub fn config(&self) -> &DsaConfig {
        &self.config
    }

    /// Counters of the instance at `now`, with waits that still continue.
    #[must_use]
    pub fn counters_at(&self, now: Picos) -> DsaCounters {
        let mut counters = self.counters;
        for engine in &self.engines {
            let since =
                |start: Option<Picos>| start.map_or(Picos::ZERO, |it| now.saturating_sub(it));
            counters.engine_busy += since(engine.busy_since);
            counters.buffer_wait += since(engine.short_of_buffers);
            // An interval counts whole when it begins; what of it lies ahead has not passed.
            let ahead = engine.front_free.saturating_sub(now);
            counters.front_busy = counters.front_busy.saturating_sub(ahead);
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

    pub(super) fn at(&mut self, time: Picos, event: InstanceEvent) {
        self.events.push(Reverse((time, self.next_event, event)));
        self.next_event += 1;
    }

    pub(super) fn next_event_at(&self) -> Picos {
        self.events.peek().map_or(Picos::NEVER, |Reverse((time, ..))| *time)
    }

    pub(super) fn pop_event(&mut self, now: Picos) -> Option<InstanceEvent> {
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

    fn accept(&mut self, portal: usize, work: DsaWork, now: Picos) {
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

    pub(super) fn sum_entries(&mut self, now: Picos) {
        let span = now.saturating_sub(self.summed_until);
        self.counters.queue_entry_time += Picos(span.0 * self.entries_in_use());
        self.summed_until = now;
    }
}
