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
use crate::hardware::Opcode;
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

/// A descriptor that was accepted from a submitter who wants it to have ended when the submission returns.
pub(super) enum Accepted {
    /// The submitter executes it: nothing was before it, and an engine was free.
    Taken(TakenDescriptor),
    /// Engines of the group execute it. Its number in the order of the queue.
    Waits(u64),
    /// It is behind descriptors that no submitter waits for.
    Left,
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
    /// Number of engines. With one, writes of a queue keep their order [S 3.9].
    engines: usize,
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
    /// Number of descriptors being executed: by engines, or by their submitters in place of one.
    working: usize,
    stopped: bool,
    idle: Idle,
    /// Number of threads that wait for descriptors to end: a signal costs a system call.
    awaiting: usize,
}

impl From<Refused> for Posted {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Disabled => Self::Lost,
            Refused::Full => Self::Overflow,
        }
    }
}

impl EngineGroup {
    pub fn new(config: &EngineGroupConfig, first_queue: usize, injector: Option<Injector>) -> Self {
        let priorities = config.queues.iter().map(|queue| queue.priority).collect();
        let state = GroupState {
            arbiter: QueueArbiter::new(priorities),
            queues: config.queues.iter().map(Queue::new).collect(),
            held: DelayedDescriptors::new(),
            batches: Vec::with_capacity(config.engines.into()),
            working: 0,
            stopped: false,
            idle: Idle::default(),
            awaiting: 0,
        };
        Self {
            queues: config.queues.iter().map(QueueConfig::with_pasid_of_mode).collect(),
            first_queue,
            engines: config.engines.into(),
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
        let Some(most) = self.most_posted(queue) else { return Posted::Lost };
        self.take(queue, entry, most).map_or_else(Posted::from, |()| Posted::Taken)
    }

    /// Submits a descriptor to a shared queue by an enqueue command.
    pub fn enqueue(&self, queue: usize, entry: (Descriptor, Tag)) -> EnqueueAnswer {
        let Some(most) = self.most_enqueued(queue) else { return EnqueueAnswer::Retry };
        match self.take(queue, entry, most) {
            Ok(()) => EnqueueAnswer::Accepted,
            Err(_) => EnqueueAnswer::Retry,
        }
    }

    /// Number of entries up to which the queue accepts posted writes; `None` if it accepts none.
    pub fn most_posted(&self, queue: usize) -> Option<u16> {
        let QueueConfig { size, mode, .. } = self.queues[queue];
        (mode == Mode::Dedicated).then_some(size)
    }

    /// Number of entries up to which the queue accepts enqueue commands; `None` if it accepts none.
    pub fn most_enqueued(&self, queue: usize) -> Option<u16> {
        let QueueConfig { size, mode, .. } = self.queues[queue];
        let Mode::Shared { threshold } = mode else { return None };
        Some(threshold.min(size))
    }

    fn take(&self, queue: usize, entry: (Descriptor, Tag), most: u16) -> Result<(), Refused> {
        let mut state = self.lock();
        self.admit(&mut state, queue, entry, most)?;
        state.queues[queue].leave_last();
        self.waiting.fetch_add(1, Ordering::Release);
        self.call_engine(state);
        Ok(())
    }

    fn admit(
        &self,
        state: &mut GroupState,
        queue: usize,
        entry: (Descriptor, Tag),
        most: u16,
    ) -> Result<(), Refused> {
        let most = if self.is_full(state, queue) { 0 } else { most.into() };
        state.queues[queue].take(entry, most)
    }

    /// Accepts a descriptor whose submitter wants it to have ended when the submission returns. With
    /// `may_execute` the submitter gets it back to execute it, in place of an engine that is free, if nothing
    /// is before it.
    pub fn take_attended(
        &self,
        queue: usize,
        entry: (Descriptor, Tag),
        most: u16,
        may_execute: bool,
    ) -> Result<Accepted, Refused> {
        let mut state = self.lock();
        self.admit(&mut state, queue, entry, most)?;
        let order = state.queues[queue].end_of_entries() - 1;
        let is_first = self.waiting.fetch_add(1, Ordering::Release) == 0;
        // A drain waits for what engines have taken.
        let is_drain = entry.0.opcode() == Some(Opcode::Drain);
        let is_next = is_first && !(is_drain && state.queues[queue].engines_have_before(order));
        if may_execute
            && is_next
            && self.injector.is_none()
            && let Some(work) = self.dispatch(&mut state)
        {
            return Ok(Accepted::Taken(work));
        }
        let is_left = state.queues[queue].has_left();
        self.call_engine(state);
        Ok(if is_left { Accepted::Left } else { Accepted::Waits(order) })
    }

    /// Waits until a descriptor with this number in the order of the queue has ended.
    pub fn wait_for(&self, queue: usize, order: u64) {
        let state = self.lock();
        self.wait_while(state, |state| state.queues[queue].has(order));
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
