//! The calls of engines on their group: take a task, poll for one, sleep, end it.

use super::{EngineGroup, GroupState, TakenDescriptor};
use crate::device::Tag;
use crate::device::crew::{GroupCrew, Task};
use crate::engine::batch::RunningBatch;
use crate::hardware::Opcode;
use crate::inject::Injector;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for which an engine polls for work before it sleeps: several times the time that a submitter needs
/// to wake it and to submit again.
const POLL_TIME: Duration = Duration::from_micros(100);
/// Time for which it polls before it yields its CPU to another thread. A yield may take some milliseconds
/// if other threads want the CPU.
const BEFORE_YIELD: Duration = Duration::from_micros(10);

impl EngineGroup {
    /// The next task of an engine; `None` when the group has stopped and is empty.
    pub fn next(&self) -> Option<Task> {
        let mut state = self.lock();
        state.idle.look();
        let mut has_looked = false;
        loop {
            if let Some(task) = self.task(&mut state) {
                state.idle.find();
                return Some(self.begin(state, task));
            }
            if state.stopped {
                return None;
            }
            if !has_looked && state.idle.is_alone() {
                drop(state);
                self.look();
                has_looked = true;
                state = self.lock();
            } else {
                state.idle.sleep();
                let sleeps_on = |state: &mut GroupState| state.idle.sleeps_on();
                let woken = self.arrived.wait_while(state, sleeps_on);
                state = woken.unwrap_or_else(PoisonError::into_inner);
                state.idle.wake();
                has_looked = false;
            }
        }
    }

    /// Polls for work without the lock.
    fn look(&self) {
        let start = Instant::now();
        let is_work =
            || self.waiting.load(Ordering::Acquire) > 0 || self.open.load(Ordering::Acquire) > 0;
        let mut yields = BEFORE_YIELD;
        while !is_work() {
            let since = start.elapsed();
            if since >= POLL_TIME {
                break;
            }
            if since >= yields {
                // The submitter may need this CPU: it would go on only when the engine sleeps.
                std::thread::yield_now();
                yields = start.elapsed() + BEFORE_YIELD;
            }
            std::hint::spin_loop();
        }
    }

    fn task(&self, state: &mut GroupState) -> Option<Task> {
        if let Some(work) = self.dispatch(state) {
            return Some(Task::Execute(work));
        }
        let ((queue, tag), batch) = state.batches.iter().find(|(_, own)| own.has_work())?;
        Some(Task::Help { queue: *queue, tag: *tag, batch: Arc::clone(batch) })
    }

    /// Wakes another engine if there is more to do. If the task is a drain, waits for the descriptors
    /// before it.
    fn begin(&self, mut state: MutexGuard<'_, GroupState>, task: Task) -> Task {
        let has_more = self.waiting.load(Ordering::Relaxed) > 0
            || state.batches.iter().any(|(_, own)| own.has_work());
        if has_more && state.idle.call() {
            self.arrived.notify_one();
        }
        match task {
            Task::Execute(work) => Task::Execute(self.in_order(state, work)),
            help @ Task::Help { .. } => help,
        }
    }

    /// Takes the next descriptor for an engine that is free; `None` if there is neither.
    pub(super) fn dispatch(&self, state: &mut GroupState) -> Option<TakenDescriptor> {
        if state.working >= self.engines {
            return None;
        }
        let work = self.next_descriptor(state)?;
        state.working += 1;
        Some(work)
    }

    fn next_descriptor(&self, state: &mut GroupState) -> Option<TakenDescriptor> {
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

    /// Takes an entry out of the queue that the arbiter chooses.
    fn take_out(&self, state: &mut GroupState) -> Option<TakenDescriptor> {
        let GroupState { arbiter, queues, held, .. } = state;
        let has_work = |queue: usize| {
            queues[queue].own_entries() > 0 && !(self.engines == 1 && held.has_of(queue))
        };
        let queue = arbiter.choose(has_work)?;
        let ((descriptor, tag), order) = queues[queue].dispatch()?;
        self.waiting.fetch_sub(1, Ordering::Release);
        Some(TakenDescriptor { queue, descriptor, tag, order })
    }

    /// If the descriptor is a drain, waits until all descriptors before it in its queue have ended. Engines
    /// have taken them all.
    fn in_order(
        &self,
        state: MutexGuard<'_, GroupState>,
        work: TakenDescriptor,
    ) -> TakenDescriptor {
        if work.descriptor.opcode() == Some(Opcode::Drain) {
            let is_behind =
                |state: &GroupState| state.queues[work.queue].engines_have_before(work.order);
            self.wait_while(state, is_behind);
        }
        work
    }

    /// Ends a descriptor that an engine, or its submitter in place of one, has taken.
    pub fn done(&self, work: &TakenDescriptor) {
        let mut state = self.lock();
        state.queues[work.queue].end(work.order);
        state.working -= 1;
        // A submitter takes no other descriptor.
        let calls = self.waiting.load(Ordering::Relaxed) > 0 && state.idle.call();
        self.wake_waiting(state);
        if calls {
            self.arrived.notify_one();
        }
    }

    /// The engines of the group, for a batch of a queue.
    pub fn crew(&self, queue: usize, tag: Tag) -> GroupCrew<'_> {
        GroupCrew { group: self, queue, tag }
    }

    pub fn has_one_engine(&self) -> bool {
        self.engines == 1
    }

    /// Offers a batch to engines that have nothing else to do.
    pub fn open(&self, from: (usize, Tag), batch: &Arc<RunningBatch>) {
        let mut state = self.lock();
        state.batches.push((from, Arc::clone(batch)));
        self.open.fetch_add(1, Ordering::Release);
        self.call_engine(state);
    }

    /// Wakes an engine, as a batch has members to take again.
    pub fn call_helper(&self) {
        self.call_engine(self.lock());
    }

    pub fn close(&self, batch: &Arc<RunningBatch>) {
        self.lock().batches.retain(|(_, own)| !Arc::ptr_eq(own, batch));
        self.open.fetch_sub(1, Ordering::Release);
    }
}
