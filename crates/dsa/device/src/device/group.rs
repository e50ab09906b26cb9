//! A group of queues and engines: the calls of submitters, and how submitters and engines wait.
//!
//! One lock guards all queues of a group. It is held for some ten nanoseconds. An engine that finds no work
//! polls for a while before it sleeps, as programs wait for records by polling.

mod engines;

use super::arbiter::QueueArbiter;
use super::config::{EngineGroupConfig, EntryCounting, Mode, QueueConfig};
use super::idle::Idle;
use super::queue::{Queue, Refused};
use super::reordering::DelayedDescriptors;
use super::{EnqueueAnswer, Tag};
use crate::checks::QueueLimits;
use crate::descriptor::Descriptor;
use crate::engine::batch::RunningBatch;
use crate::inject::Injector;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Result of a posted write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// The queue has accepted the descriptor.
    Taken,
    /// The descriptor is lost without a report: the queue is shared or disabled.
    Lost,
    /// The descriptor is lost, because the dedicated queue is full.
    Overflow,
}

/// A descriptor that an engine has taken.
pub(super) struct TakenDescriptor {
    pub queue: usize,
    pub descriptor: Descriptor,
    pub tag: Tag,
    /// Number of the descriptor in the order of its queue, from 0 on.
    pub order: u64,
}

pub(super) struct EngineGroup {
    queues: Vec<QueueConfig>,
    /// Number of its first queue in the device.
    first_queue: usize,
    /// Whether the group has one engine: then writes of a queue keep their order [S 3.9].
    has_one_engine: bool,
    injector: Option<Injector>,
    state: Mutex<GroupState>,
    /// Number of descriptors in all queues, for a look without the lock.
    waiting: AtomicUsize,
    /// Number of batches that engines are executing, for a look without the lock.
    open: AtomicUsize,
    /// Signalled when a descriptor arrives, or the group stops.
    arrived: Condvar,
    /// Signalled when a descriptor has ended.
    ended: Condvar,
}

struct GroupState {
    arbiter: QueueArbiter,
    queues: Vec<Queue>,
    held: DelayedDescriptors,
    batches: Vec<((usize, Tag), Arc<RunningBatch>)>,
    stopped: bool,
    idle: Idle,
    /// Number of threads that wait for descriptors to end: a signal costs a system call.
    awaiting: usize,
}

impl EngineGroup {
    pub fn new(config: &EngineGroupConfig, first_queue: usize, injector: Option<Injector>) -> Self {
        let priorities = config.queues.iter().map(|queue| queue.priority).collect();
        let state = GroupState {
            arbiter: QueueArbiter::new(priorities),
            queues: config.queues.iter().map(Queue::new).collect(),
            held: DelayedDescriptors::new(),
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

    /// Submits a descriptor to a dedicated queue by a posted write.
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

    /// Submits a descriptor to a shared queue by an enqueue command.
    pub fn enqueue(&self, queue: usize, entry: (Descriptor, Tag)) -> EnqueueAnswer {
        let QueueConfig { size, mode, .. } = self.queues[queue];
        let Mode::Shared { threshold } = mode else { return EnqueueAnswer::Retry };
        match self.take(queue, entry, threshold.min(size)) {
            Ok(()) => EnqueueAnswer::Accepted,
            Err(_) => EnqueueAnswer::Retry,
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

    /// Wakes an engine for new work, if no engine is polling.
    fn call_engine(&self, mut state: MutexGuard<'_, GroupState>) {
        let calls = state.idle.call();
        drop(state);
        if calls {
            self.arrived.notify_one();
        }
    }

    /// Whether an injector makes the queue appear full for this submission.
    fn is_full(&self, state: &mut GroupState, queue: usize) -> bool {
        self.injector.as_ref().is_some_and(|injector| {
            let submission = state.queues[queue].count_submission();
            injector.is_full(self.number_in_device(queue), submission)
        })
    }

    pub fn occupancy(&self, queue: usize) -> usize {
        match &self.queues[queue].entries {
            EntryCounting::Own => self.lock().queues[queue].own_entries(),
            EntryCounting::Shared(shared) => shared.occupied(),
        }
    }

    pub fn set_enabled(&self, queue: usize, enabled: bool) {
        self.lock().queues[queue].set_enabled(enabled);
    }

    /// Drops all entries of a queue. Returns the number of dropped entries.
    pub fn clear(&self, queue: usize) -> usize {
        let mut state = self.lock();
        let dropped = state.queues[queue].clear();
        self.waiting.fetch_sub(dropped, Ordering::Release);
        self.wake_waiting(state);
        dropped
    }

    /// Disables all queues and drops their entries.
    pub fn reset(&self) {
        for queue in 0..self.queues.len() {
            self.set_enabled(queue, false);
            self.clear(queue);
        }
    }

    /// Waits until all descriptors that the queue has accepted until now have ended.
    pub fn drain(&self, queue: usize) {
        let state = self.lock();
        let end = state.queues[queue].end_of_entries();
        self.wait_while(state, |state| state.queues[queue].has_before(end));
    }

    /// Waits for descriptors to end while `busy` is true.
    fn wait_while(
        &self,
        mut state: MutexGuard<'_, GroupState>,
        busy: impl Fn(&GroupState) -> bool,
    ) {
        state.awaiting += 1;
        let waited = self.ended.wait_while(state, |state| busy(state));
        waited.unwrap_or_else(PoisonError::into_inner).awaiting -= 1;
    }

    /// Wakes the threads that wait for descriptors to end.
    fn wake_waiting(&self, state: MutexGuard<'_, GroupState>) {
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

    /// Converts the number of a queue in the group to its number in the device.
    pub fn number_in_device(&self, queue: usize) -> usize {
        self.first_queue + queue
    }

    fn lock(&self) -> MutexGuard<'_, GroupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
