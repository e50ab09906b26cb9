//! What the threads of a device share, and what each does: take a descriptor, execute it, end it.

use super::crew::Task;
use super::group::Group;
use super::{Hooks, Origin, QueueId, SoftwareError};
use crate::engine::batch::Crew;
use crate::engine::{Ended, Engine};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What all engines of a device share.
pub(super) struct Shared {
    pub engine: Engine,
    pub groups: Vec<Group>,
    error: Mutex<SoftwareError>,
    hooks: Hooks,
    /// Errors that made the register valid.
    notices: AtomicU64,
    /// Descriptors that have ended, where a reset counts them.
    ended: AtomicU64,
    is_reset: AtomicBool,
}

impl Shared {
    pub fn new(engine: Engine, groups: Vec<Group>, hooks: Hooks) -> Self {
        Self {
            engine,
            groups,
            error: Mutex::new(SoftwareError::default()),
            hooks,
            notices: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            is_reset: AtomicBool::new(false),
        }
    }

    pub fn error(&self) -> MutexGuard<'_, SoftwareError> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an error into the register, and tells so if it is the first.
    pub fn note(&self, error: SoftwareError) {
        let mut register = self.error();
        let was_valid = register.is_valid();
        register.note(error);
        let now = *register;
        drop(register);
        let Some(hook) = self.hooks.on_error.as_ref().filter(|_| !was_valid) else { return };
        let number = self.notices.fetch_add(1, Ordering::Relaxed);
        if !self.hooks.injector.as_ref().is_some_and(|own| own.loses_interrupt(number)) {
            hook(&now);
        }
    }

    /// Executes descriptors of a group until it stops and its queues are empty.
    pub fn run_engine(&self, number: usize) {
        let group = &self.groups[number];
        while let Some(task) = group.next() {
            // A watcher that panics has said so; the engine goes on, so that no drain waits for it.
            let execute = || self.execute(number, &task);
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(execute));
            let Task::Execute(work) = task else { continue };
            group.done(&work);
            let last = self.hooks.injector.as_ref().and_then(|injector| injector.reset_after());
            if last.is_some_and(|last| self.ended.fetch_add(1, Ordering::Relaxed) + 1 == last) {
                self.reset();
            }
        }
    }

    fn execute(&self, number: usize, task: &Task) {
        let group = &self.groups[number];
        let id = QueueId { group: number, queue: task.queue() };
        let origin = Origin { queue: id, tag: task.tag() };
        let queue = group.number_in_device(task.queue());
        let mut watch = |ended: &Ended<'_>| {
            if ended.is_logged() {
                self.note(SoftwareError::of(queue, ended));
            }
            if let Some(watcher) = &self.hooks.watcher {
                watcher(&origin, ended);
            }
        };
        let crew = group.crew(task.queue(), task.tag());
        let work = match task {
            Task::Execute(work) => work,
            Task::Help { batch, .. } => return batch.help(&crew, &self.engine, &mut watch),
        };
        let (descriptor, limits) = (&work.descriptor, group.limits(work.queue));
        let crew = (!group.has_one_engine()).then_some(&crew as &dyn Crew);
        let seen_by = (crew, &mut watch as &mut dyn FnMut(&Ended<'_>));
        match &self.hooks.injector {
            None => self.engine.execute_with(descriptor, limits, None, seen_by),
            Some(injector) => {
                let at = (queue, work.order);
                injector.execute_with(&self.engine, at, (descriptor, limits), seen_by)
            }
        };
    }

    /// Disables all queues and drops what they hold. What engines have taken goes on.
    pub fn reset(&self) {
        self.is_reset.store(true, Ordering::Release);
        for group in &self.groups {
            group.reset();
        }
    }

    pub fn is_reset(&self) -> bool {
        self.is_reset.load(Ordering::Acquire)
    }

    pub fn set_up(&self) {
        self.is_reset.store(false, Ordering::Release);
    }
}
