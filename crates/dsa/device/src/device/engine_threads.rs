//! The threads of a device: their shared state, and the loop of each: take a descriptor, execute it, end it.

use super::crew::Task;
use super::event_log::Appended;
use super::group::{EngineGroup, TakenDescriptor};
use super::{EventLog, GroupQueue, Hooks, SoftwareError, SubmissionOrigin};
use crate::engine::batch::Crew;
use crate::engine::{EndedDescriptor, SoftwareEngine};
use crate::hardware::capabilities::gencap;
use crate::hardware::{flags, status};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// State that all engines of a device share.
pub(super) struct Shared {
    pub engine: SoftwareEngine,
    pub groups: Vec<EngineGroup>,
    error: Mutex<SoftwareError>,
    hooks: Hooks,
    /// Number of interrupts, those that an injector has lost included.
    interrupts: AtomicU64,
    /// Number of descriptors that have ended, if an injected reset counts them.
    ended: AtomicU64,
    is_reset: AtomicBool,
}

impl Shared {
    pub fn new(engine: SoftwareEngine, groups: Vec<EngineGroup>, hooks: Hooks) -> Self {
        Self {
            engine,
            groups,
            error: Mutex::new(SoftwareError::default()),
            hooks,
            interrupts: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            is_reset: AtomicBool::new(false),
        }
    }

    pub fn error(&self) -> MutexGuard<'_, SoftwareError> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an error into the software error register, and raises the interrupt if it is the first one.
    pub fn note(&self, error: SoftwareError) {
        let mut register = self.error();
        let was_valid = register.is_valid();
        register.note(error);
        let now = *register;
        drop(register);
        let Some(hook) = self.hooks.on_error.as_ref().filter(|_| !was_valid) else { return };
        if !self.loses_interrupt() {
            hook(&now);
        }
    }

    /// Raises the interrupt that a descriptor requests, unless a check refused its flags, handle or
    /// privilege.
    fn interrupt(&self, origin: &SubmissionOrigin, ended: &EndedDescriptor<'_>) {
        let Some(hook) = &self.hooks.on_interrupt else { return };
        let is_refused = matches!(
            ended.outcome.record().status(),
            status::BAD_FLAGS | status::BAD_INTERRUPT | status::BAD_PRIVILEGE
        );
        let is_requested = ended.descriptor.has(flags::REQUEST_INTERRUPT) && !is_refused;
        if is_requested && !self.loses_interrupt() {
            hook(origin, ended.descriptor.interrupt());
        }
    }

    /// Counts an interrupt. Returns whether an injector loses it.
    fn loses_interrupt(&self) -> bool {
        let number = self.interrupts.fetch_add(1, Ordering::Relaxed);
        self.hooks.injector.as_ref().is_some_and(|own| own.loses_interrupt(number))
    }

    /// Puts an error that no completion record has into the event log or, without a log, the software error
    /// register.
    fn report(&self, queue: usize, ended: &EndedDescriptor<'_>) {
        let Some(log) = &self.hooks.event_log else {
            return self.note(SoftwareError::from_ended(queue, ended));
        };
        let event = log.event(queue, ended);
        let drops = self.engine.capabilities().has(gencap::EVENT_LOG_OVERFLOW);
        match log.append(&event, drops) {
            Appended::Quietly => {}
            Appended::WithInterrupt => {
                if let Some(hook) = &self.hooks.on_event {
                    hook(&event);
                }
            }
            Appended::Dropped => self.note(SoftwareError::log_full(queue, ended.descriptor)),
        }
    }

    pub fn event_log(&self) -> Option<&EventLog> {
        self.hooks.event_log.as_deref()
    }

    /// Closes the event log, so that no engine waits for the driver any more.
    pub fn close_event_log(&self) {
        if let Some(log) = &self.hooks.event_log {
            log.set_closed(true);
        }
    }

    /// Executes descriptors of a group until it stops and its queues are empty.
    pub fn run_engine(&self, number: usize) {
        while let Some(task) = self.groups[number].next() {
            self.finish(number, &task, !self.groups[number].has_one_engine());
        }
    }

    /// Executes a descriptor in the thread of its submitter, which is in the place of an engine. It allocates
    /// nothing.
    pub fn finish_for_submitter(&self, number: usize, work: TakenDescriptor) {
        self.finish(number, &Task::Execute(work), false);
    }

    /// Executes a task and ends its descriptor. With `may_share`, idle engines help with a batch.
    fn finish(&self, number: usize, task: &Task, may_share: bool) {
        // A watcher that panics has reported that; the engine goes on, so that no drain waits for it.
        let execute = || self.execute(number, task, may_share);
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(execute));
        let Task::Execute(work) = task else { return };
        self.groups[number].done(work);
        let last = self.hooks.injector.as_ref().and_then(|injector| injector.reset_after());
        if last.is_some_and(|last| self.ended.fetch_add(1, Ordering::Relaxed) + 1 == last) {
            self.reset();
        }
    }

    fn execute(&self, number: usize, task: &Task, may_share: bool) {
        let group = &self.groups[number];
        let id = GroupQueue { group: number, queue: task.queue() };
        let origin = SubmissionOrigin { queue: id, tag: task.tag() };
        let queue = group.number_in_device(task.queue());
        let mut watch = |ended: &EndedDescriptor<'_>| {
            if ended.is_logged() {
                self.report(queue, ended);
            }
            self.interrupt(&origin, ended);
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
        let crew = may_share.then_some(&crew as &dyn Crew);
        let seen_by = (crew, &mut watch as &mut dyn FnMut(&EndedDescriptor<'_>));
        match &self.hooks.injector {
            None => self.engine.execute_with(descriptor, limits, seen_by),
            Some(injector) => {
                let injection = injector.draw_for(queue, work.order);
                injector.without_ranges(|| {
                    self.engine.execute_with_injection(descriptor, limits, injection, seen_by)
                })
            }
        };
    }

    /// Disables all queues and drops their waiting descriptors. Descriptors that engines have taken go on.
    pub fn reset(&self) {
        self.close_event_log();
        self.is_reset.store(true, Ordering::Release);
        for group in &self.groups {
            group.reset();
        }
    }

    pub fn is_reset(&self) -> bool {
        self.is_reset.load(Ordering::Acquire)
    }

    pub fn set_up(&self) {
        if let Some(log) = &self.hooks.event_log {
            log.set_closed(false);
        }
        self.is_reset.store(false, Ordering::Release);
    }
}
