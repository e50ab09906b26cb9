//! The queues of a group, between submitters and engines.
//!
//! One lock holds all queues of a group: what is done under it takes some ten nanoseconds. Engines that
//! find nothing look again for a while before they sleep, as programs wait for records by polling.

use super::Submitted;
use super::arbiter::Arbiter;
use super::config::{GroupConfig, Mode, QueueConfig};
use crate::checks::QueueLimits;
use crate::descriptor::Descriptor;
use crate::hardware::Opcode;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Looks of an engine that finds nothing before it sleeps.
const LOOKS: u32 = 2_000;

/// What became of a posted write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Posted {
    Taken,
    /// Nothing takes it, and nothing says so.
    Lost,
    Overflow,
}

/// A descriptor that an engine has taken.
pub(super) struct Work {
    pub queue: usize,
    pub descriptor: Descriptor,
    /// Its place in the order of its queue.
    order: u64,
}

pub(super) struct Group {
    queues: Vec<QueueConfig>,
    /// Number of its first queue in the device.
    first_queue: usize,
    state: Mutex<State>,
    /// Descriptors in all queues: looked at without the lock.
    waiting: AtomicUsize,
    /// Signalled when a descriptor arrives, or the group stops.
    arrived: Condvar,
    /// Signalled when a descriptor has ended.
    ended: Condvar,
}

struct State {
    arbiter: Arbiter,
    queues: Vec<Queue>,
    stopped: bool,
    sleeping: usize,
}

#[derive(Default)]
struct Queue {
    entries: VecDeque<Descriptor>,
    enabled: bool,
    /// Number of the next descriptor that an engine takes.
    next: u64,
    /// Numbers of those that engines have and have not ended.
    in_flight: BTreeSet<u64>,
}

impl Group {
    pub fn new(config: &GroupConfig, first_queue: usize) -> Self {
        let priorities = config.queues.iter().map(|queue| queue.priority).collect();
        let queue = |_: &QueueConfig| Queue { enabled: true, ..Queue::default() };
        let state = State {
            arbiter: Arbiter::new(priorities),
            queues: config.queues.iter().map(queue).collect(),
            stopped: false,
            sleeping: 0,
        };
        Self {
            queues: config.queues.iter().map(QueueConfig::with_pasid_of_mode).collect(),
            first_queue,
            state: Mutex::new(state),
            waiting: AtomicUsize::new(0),
            arrived: Condvar::new(),
            ended: Condvar::new(),
        }
    }

    pub fn limits(&self, queue: usize) -> &QueueLimits {
        &self.queues[queue].limits
    }

    /// A posted write to a dedicated queue.
    pub fn post(&self, queue: usize, descriptor: &Descriptor) -> Posted {
        let state = self.lock();
        if !state.queues[queue].enabled || self.queues[queue].mode != Mode::Dedicated {
            return Posted::Lost;
        }
        if state.queues[queue].entries.len() >= usize::from(self.queues[queue].size) {
            return Posted::Overflow;
        }
        self.take(state, queue, descriptor);
        Posted::Taken
    }

    /// A write with an answer to a shared queue.
    pub fn enqueue(&self, queue: usize, descriptor: &Descriptor) -> Submitted {
        let state = self.lock();
        let QueueConfig { size, mode, .. } = self.queues[queue];
        let Mode::Shared { threshold } = mode else { return Submitted::Retry };
        let most = usize::from(threshold.min(size));
        if !state.queues[queue].enabled || state.queues[queue].entries.len() >= most {
            return Submitted::Retry;
        }
        self.take(state, queue, descriptor);
        Submitted::Accepted
    }

    fn take(&self, mut state: MutexGuard<'_, State>, queue: usize, descriptor: &Descriptor) {
        state.queues[queue].entries.push_back(*descriptor);
        self.waiting.fetch_add(1, Ordering::Release);
        let sleeps = state.sleeping > 0;
        drop(state);
        if sleeps {
            self.arrived.notify_one();
        }
    }

    pub fn occupancy(&self, queue: usize) -> usize {
        self.lock().queues[queue].entries.len()
    }

    pub fn set_enabled(&self, queue: usize, enabled: bool) {
        self.lock().queues[queue].enabled = enabled;
    }

    /// Drops the entries of a queue; returns how many.
    pub fn clear(&self, queue: usize) -> usize {
        let mut state = self.lock();
        let own = &mut state.queues[queue];
        let dropped = std::mem::take(&mut own.entries).len();
        own.next += dropped as u64;
        self.waiting.fetch_sub(dropped, Ordering::Release);
        drop(state);
        self.ended.notify_all();
        dropped
    }

    /// Waits until all that the queue has taken until now has ended.
    pub fn drain(&self, queue: usize) {
        let state = self.lock();
        let own = &state.queues[queue];
        let end = own.next + own.entries.len() as u64;
        let busy = |state: &mut State| {
            let own = &state.queues[queue];
            own.next < end || own.in_flight.first().is_some_and(|&first| first < end)
        };
        drop(self.ended.wait_while(state, busy).unwrap_or_else(PoisonError::into_inner));
    }

    pub fn stop(&self) {
        self.lock().stopped = true;
        self.arrived.notify_all();
    }

    /// The next descriptor for an engine; `None` when the group has stopped and is empty.
    pub fn next(&self) -> Option<Work> {
        for _ in 0..LOOKS {
            if self.waiting.load(Ordering::Acquire) > 0 {
                break;
            }
            std::hint::spin_loop();
        }
        let mut state = self.lock();
        loop {
            if let Some(work) = self.dispatch(&mut state) {
                return Some(self.in_order(state, work));
            }
            if state.stopped {
                return None;
            }
            state.sleeping += 1;
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleeping -= 1;
        }
    }

    fn dispatch(&self, state: &mut State) -> Option<Work> {
        let State { arbiter, queues, .. } = state;
        let queue = arbiter.choose(|queue| !queues[queue].entries.is_empty())?;
        let own = &mut queues[queue];
        let descriptor = own.entries.pop_front()?;
        self.waiting.fetch_sub(1, Ordering::Release);
        let order = own.next;
        own.next += 1;
        own.in_flight.insert(order);
        Some(Work { queue, descriptor, order })
    }

    /// A drain goes on when all descriptors before it in its queue have ended: engines have them all.
    fn in_order(&self, state: MutexGuard<'_, State>, work: Work) -> Work {
        if work.descriptor.opcode() == Some(Opcode::Drain) {
            let busy = |state: &mut State| {
                state.queues[work.queue].in_flight.first().is_some_and(|&first| first < work.order)
            };
            drop(self.ended.wait_while(state, busy).unwrap_or_else(PoisonError::into_inner));
        }
        work
    }

    /// Ends a descriptor that an engine has taken.
    pub fn done(&self, work: &Work) {
        self.lock().queues[work.queue].in_flight.remove(&work.order);
        self.ended.notify_all();
    }

    /// The number of one of its queues in the device.
    pub fn number_in_device(&self, queue: usize) -> usize {
        self.first_queue + queue
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
