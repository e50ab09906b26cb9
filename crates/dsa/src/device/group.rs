//! The queues of a group, between submitters and engines.
//!
//! One lock holds all queues of a group: what is done under it takes some ten nanoseconds. Engines that
//! find nothing look again for a while before they sleep, as programs wait for records by polling.

use super::arbiter::Arbiter;
use super::config::{Entries, GroupConfig, Mode, QueueConfig};
use super::crew::{GroupCrew, Task};
use super::held::Held;
use super::queue::{Queue, Refused};
use super::{Submitted, Tag};
use crate::checks::QueueLimits;
use crate::descriptor::Descriptor;
use crate::engine::batch::Batch;
use crate::hardware::Opcode;
use crate::inject::Injector;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Looks of an engine that finds nothing before it sleeps.
const LOOKS: u32 = 2_000;

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
    sleeping: usize,
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
            sleeping: 0,
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
        let sleeps = state.sleeping > 0;
        drop(state);
        if sleeps {
            self.arrived.notify_one();
        }
        Ok(())
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
        self.lock().stopped = true;
        self.arrived.notify_all();
    }

    /// The next task of an engine; `None` when the group has stopped and is empty.
    pub fn next(&self) -> Option<Task> {
        for _ in 0..LOOKS {
            if self.waiting.load(Ordering::Acquire) > 0 || self.open.load(Ordering::Acquire) > 0 {
                break;
            }
            std::hint::spin_loop();
        }
        let mut state = self.lock();
        loop {
            if let Some(work) = self.dispatch(&mut state) {
                return Some(Task::Execute(self.in_order(state, work)));
            }
            if let Some(((queue, tag), batch)) =
                state.batches.iter().find(|(_, own)| own.has_work())
            {
                let (queue, tag, batch) = (*queue, *tag, Arc::clone(batch));
                return Some(Task::Help { queue, tag, batch });
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
        loop {
            if let Some(work) = state.held.take_due() {
                return Some(work);
            }
            let Some(work) = self.take_out(state) else { return state.held.take_first() };
            state.held.pass();
            if work.descriptor.opcode() == Some(Opcode::Drain) {
                state.held.release(work.queue);
                state.held.hold(work, 0);
                continue;
            }
            let number = self.number_in_device(work.queue);
            let others = |injector: &Injector| injector.others_before(number, work.order);
            match self.injector.as_ref().and_then(others) {
                Some(others) => state.held.hold(work, others),
                None => return Some(work),
            }
        }
    }

    /// Takes an entry out of the queue whose turn it is.
    fn take_out(&self, state: &mut State) -> Option<Work> {
        let State { arbiter, queues, held, .. } = state;
        let has_work = |queue: usize| {
            queues[queue].own_entries() > 0 && !(self.has_one_engine && held.has_of(queue))
        };
        let queue = arbiter.choose(has_work)?;
        let ((descriptor, tag), order) = queues[queue].dispatch()?;
        self.waiting.fetch_sub(1, Ordering::Release);
        Some(Work { queue, descriptor, tag, order })
    }

    /// A drain goes on when all descriptors before it in its queue have ended: engines have them all.
    fn in_order(&self, state: MutexGuard<'_, State>, work: Work) -> Work {
        if work.descriptor.opcode() == Some(Opcode::Drain) {
            let is_behind =
                |state: &State| state.queues[work.queue].engines_have_before(work.order);
            self.wait_while(state, is_behind);
        }
        work
    }

    /// Ends a descriptor that an engine has taken.
    pub fn done(&self, work: &Work) {
        let mut state = self.lock();
        state.queues[work.queue].end(work.order);
        self.tell(state);
    }

    /// The engines of the group, for a batch of a queue.
    pub fn crew(&self, queue: usize, tag: Tag) -> GroupCrew<'_> {
        GroupCrew { group: self, queue, tag }
    }

    pub fn has_one_engine(&self) -> bool {
        self.has_one_engine
    }

    /// A batch begins: engines that have nothing else to do take members of it.
    pub fn open(&self, from: (usize, Tag), batch: &Arc<Batch>) {
        self.lock().batches.push((from, Arc::clone(batch)));
        self.open.fetch_add(1, Ordering::Release);
        self.arrived.notify_all();
    }

    /// A batch has members to take again.
    pub fn call_helpers(&self) {
        // An engine that has found nothing sleeps before the lock is free.
        drop(self.lock());
        self.arrived.notify_all();
    }

    pub fn close(&self, batch: &Arc<Batch>) {
        self.lock().batches.retain(|(_, own)| !Arc::ptr_eq(own, batch));
        self.open.fetch_sub(1, Ordering::Release);
    }

    /// The number of one of its queues in the device.
    pub fn number_in_device(&self, queue: usize) -> usize {
        self.first_queue + queue
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
