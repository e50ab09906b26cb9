//! The queues of a group, between submitters and engines: what submitters do, and how both wait.
//!
//! One lock holds all queues of a group: what is done under it takes some ten nanoseconds. An engine that
//! finds nothing looks again for a while before it sleeps, as programs wait for records by polling.

mod engines;

use super::arbiter::Arbiter;
use super::config::{Entries, GroupConfig, Mode, QueueConfig};
use super::held::Held;
use super::idle::Idle;
use super::queue::{Queue, Refused};
use super::{Submitted, Tag};
use crate::checks::QueueLimits;
use crate::descriptor::Descriptor;
use crate::engine::batch::Batch;
use crate::inject::Injector;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What became of a posted write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// The queue has it.
    Taken,
    /// Nothing takes it, and nothing says so.
    Lost,
    /// A full dedicated queue has lost it.
    Overflow,
}

/// A descriptor that an engine has taken.
pub(super) struct Work {
    pub queue: usize,
    pub descriptor: Descriptor,
    pub tag: Tag,
    /// Its place in the order of its queue.
    pub order: u64,
}

pub(super) struct Group {
    queues: Vec<QueueConfig>,
    /// Number of its first queue in the device.
    first_queue: usize,
    /// Then writes of a queue keep their order [S 3.9].
    has_one_engine: bool,
    injector: Option<Injector>,
    state: Mutex<State>,
    /// Descriptors in all queues: looked at without the lock.
    waiting: AtomicUsize,
    /// Batches that engines are executing: as well.
    open: AtomicUsize,
    /// Signalled when a descriptor arrives, or the group stops.
    arrived: Condvar,
    /// Signalled when a descriptor has ended.
    ended: Condvar,
}

struct State {
    arbiter: Arbiter,
    queues: Vec<Queue>,
    held: Held,
    batches: Vec<((usize, Tag), Arc<Batch>)>,
    stopped: bool,
    idle: Idle,
    /// Threads that wait for descriptors to end. A signal costs a call of the system.
    awaiting: usize,
}

impl Group {
    pub fn new(config: &GroupConfig, first_queue: usize, injector: Option<Injector>) -> Self {
        let priorities = config.queues.iter().map(|queue| queue.priority).collect();
        let state = State {
            arbiter: Arbiter::new(priorities),
            queues: config.queues.iter().map(Queue::new).collect(),
            held: Held::new(),
            batches: Vec::with_capacity(config.engines.into()),
            stopped: false,
            idle: Idle::default(),
            awaiting: 0,
        };
        Self {
            queues: config.queues.iter().map(QueueConfig::with_pasid_of_mode).collect(),
            first_queue,
            has_one_engine: config.engines == 1,
            injector,
            state: Mutex::new(state),
            waiting: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            arrived: Condvar::new(),
            ended: Condvar::new(),
        }
    }

    pub fn limits(&self, queue: usize) -> &QueueLimits {
        &self.queues[queue].limits
    }

    /// A posted write to a dedicated queue.
    pub fn post(&self, queue: usize, entry: (Descriptor, Tag)) -> Posted {
        let QueueConfig { size, mode, .. } = self.queues[queue];
        if mode != Mode::Dedicated {
            return Posted::Lost;
        }
        match self.take(queue, entry, size) {
            Ok(()) => Posted::Taken,
            Err(Refused::Disabled) => Posted::Lost,
            Err(Refused::Full) => Posted::Overflow,
        }
    }

    /// A write with an answer to a shared queue.
    pub fn enqueue(&self, queue: usize, entry: (Descriptor, Tag)) -> Submitted {
        let QueueConfig { size, mode, .. } = self.queues[queue];
        let Mode::Shared { threshold } = mode else { return Submitted::Retry };
        match self.take(queue, entry, threshold.min(size)) {
            Ok(()) => Submitted::Accepted,
            Err(_) => Submitted::Retry,
        }
    }

    fn take(&self, queue: usize, entry: (Descriptor, Tag), most: u16) -> Result<(), Refused> {
        let mut state = self.lock();
        let most = if self.is_full(&mut state, queue) { 0 } else { most.into() };
        state.queues[queue].take(entry, most)?;
        self.waiting.fetch_add(1, Ordering::Release);
        self.call_engine(state);
        Ok(())
    }

    /// There is work: wakes an engine if none looks.
    fn call_engine(&self, mut state: MutexGuard<'_, State>) {
        let calls = state.idle.call();
        drop(state);
        if calls {
            self.arrived.notify_one();
        }
    }

    /// Whether an injector has the queue full for this submission.
    fn is_full(&self, state: &mut State, queue: usize) -> bool {
        self.injector.as_ref().is_some_and(|injector| {
            let submission = state.queues[queue].count_submission();
            injector.is_full(self.number_in_device(queue), submission)
        })
    }

    pub fn occupancy(&self, queue: usize) -> usize {
        match &self.queues[queue].entries {
            Entries::Own => self.lock().queues[queue].own_entries(),
            Entries::Shared(shared) => shared.occupied(),
        }
    }

    pub fn set_enabled(&self, queue: usize, enabled: bool) {
        self.lock().queues[queue].set_enabled(enabled);
    }

    /// Drops the entries of a queue; returns how many.
    pub fn clear(&self, queue: usize) -> usize {
        let mut state = self.lock();
        let dropped = state.queues[queue].clear();
        self.waiting.fetch_sub(dropped, Ordering::Release);
        self.tell(state);
        dropped
    }

    /// Disables all queues and drops their entries.
    pub fn reset(&self) {
        for queue in 0..self.queues.len() {
            self.set_enabled(queue, false);
            self.clear(queue);
        }
    }

    /// Waits until all that the queue has taken until now has ended.
    pub fn drain(&self, queue: usize) {
        let state = self.lock();
        let end = state.queues[queue].end_of_entries();
        self.wait_while(state, |state| state.queues[queue].has_before(end));
    }

    /// Waits for descriptors to end.
    fn wait_while(&self, mut state: MutexGuard<'_, State>, busy: impl Fn(&State) -> bool) {
        state.awaiting += 1;
        let waited = self.ended.wait_while(state, |state| busy(state));
        waited.unwrap_or_else(PoisonError::into_inner).awaiting -= 1;
    }

    /// Tells those who wait that descriptors have ended.
    fn tell(&self, state: MutexGuard<'_, State>) {
        let is_awaited = state.awaiting > 0;
        drop(state);
        if is_awaited {
            self.ended.notify_all();
        }
    }

    pub fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        state.idle.call_all();
        self.arrived.notify_all();
    }

    /// The number of one of its queues in the device.
    pub fn number_in_device(&self, queue: usize) -> usize {
        self.first_queue + queue
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
