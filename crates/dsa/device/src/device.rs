//! A device: groups of work queues and engines, each engine a thread [S 3.3, 4].
//!
//! A program submits descriptors to a queue. Engines of its group take them, queue by queue as the
//! arbiter decides, execute them on the memory of this process, and write their records. Descriptors of a
//! queue are dispatched in order and may end in any order.
//!
//! A submission ([`SoftwareDevice::post`], [`SoftwareDevice::enqueue`]) allocates nothing, so the handler
//! of a signal that an instruction raises may submit. It takes a lock for some ten nanoseconds: a handler
//! that may interrupt a submission of its own thread would wait for ever, so signals whose handlers
//! submit are blocked in each other.

mod arbiter;
mod config;
mod crew;
mod engine_threads;
mod entry_slots;
mod event_log;
mod group;
mod hooks;
mod idle;
mod queue;
mod reordering;
mod software_error;

pub use config::{
    ConfigError, DeviceConfig, EngineGroupConfig, EntryCounting, EntrySlots, Mode, QueueConfig,
};
pub use event_log::{
    BadEventLog, EVENT_WORDS, EventLog, EventLogPlace, EventSlot, LEAST_EVENTS, LoggedEvent,
    MOST_EVENTS,
};
pub use group::Posted;
pub use hooks::{ErrorHook, EventHook, Hooks, InterruptHook, Watcher};
pub use software_error::SoftwareError;

use crate::descriptor::Descriptor;
use crate::engine::SoftwareEngine;
use engine_threads::Shared;
use group::{Accepted, EngineGroup};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Stack of an engine's thread in bytes: several times what an operation needs. Each counts against the limit
/// of the address space of its process (`ulimit -v`).
pub const STACK_BYTES: usize = 256 << 10;

/// The response to an enqueue command (ENQCMD).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum EnqueueAnswer {
    /// The queue has accepted the descriptor.
    Accepted,
    /// The queue has refused the descriptor: its occupancy is at the threshold, or it is disabled or
    /// dedicated.
    Retry,
}

/// Identifies a queue of a device by its group and its number in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupQueue {
    group: usize,
    queue: usize,
}

/// Label that a submitter gives to a submission. The device passes it to its watcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// Time of the submission in nanoseconds, by a clock of the submitter. Default: 0.
    pub time_ns: u64,
    /// Number of the portal, such as a thread's. Default: 0.
    pub portal: u64,
}

/// The submission that a descriptor belongs to. For a member of a batch it is the submission of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubmissionOrigin {
    /// The queue that it was submitted to.
    pub queue: GroupQueue,
    /// The label that its submitter gave.
    pub tag: Tag,
}

/// An enabled device. When dropped, it executes the descriptors that are still in its queues, and ends its
/// threads.
pub struct SoftwareDevice {
    shared: Arc<Shared>,
    queues: Vec<GroupQueue>,
    engines: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for SoftwareDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("queues", &self.queues).finish_non_exhaustive()
    }
}

impl SoftwareDevice {
    /// Starts the engines of a device. `hooks` may be an `Option<Watcher>`, or all [`Hooks`].
    ///
    /// # Safety
    /// As [`SoftwareEngine::new`]: the submitter is responsible for the memory that a descriptor names, until
    /// the descriptor has ended.
    ///
    /// # Errors
    /// If the device does not have a part of the configuration, or the system cannot start a thread.
    #[allow(unsafe_code)]
    pub unsafe fn start(
        config: &DeviceConfig,
        hooks: impl Into<Hooks>,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        crate::operations::prepare();
        let hooks = hooks.into();
        let mut first_queue = 0;
        let groups = config.groups.iter().map(|group| {
            let own = EngineGroup::new(group, first_queue, hooks.injector.clone());
            first_queue += group.queues.len();
            own
        });
        let groups = groups.collect();
        // SAFETY: the caller's, as stated above.
        let mut engine = unsafe { SoftwareEngine::new(config.capabilities) };
        if hooks.event_log.is_some() {
            if !config.capabilities.has_event_log() {
                return Err(ConfigError::NoEventLog);
            }
            engine = engine.with_event_log();
        }
        let shared = Arc::new(Shared::new(engine, groups, hooks));
        let queues = config.groups.iter().enumerate().flat_map(|(group, config)| {
            (0..config.queues.len()).map(move |queue| GroupQueue { group, queue })
        });
        // Dropped, it ends the engines that have a thread, if one has none.
        let mut device = Self { queues: queues.collect(), shared, engines: Vec::new() };
        for (group, config) in config.groups.iter().enumerate() {
            for _ in 0..config.engines {
                let shared = Arc::clone(&device.shared);
                let engine = std::thread::Builder::new()
                    .stack_size(STACK_BYTES)
                    .spawn(move || shared.run_engine(group));
                let no_thread = |error: std::io::Error| ConfigError::NoThread(error.kind());
                device.engines.push(engine.map_err(no_thread)?);
            }
        }
        Ok(device)
    }

    /// The queues of the device, group by group as configured.
    #[must_use]
    pub fn queues(&self) -> &[GroupQueue] {
        &self.queues
    }

    /// Submits to a dedicated queue, as MOVDIR64B does: a write without a response. If the queue is full, the
    /// descriptor is lost, and the software error register reports it. A descriptor for a shared or disabled
    /// queue is lost without a report.
    pub fn post(&self, queue: GroupQueue, descriptor: &Descriptor) {
        let _ = self.post_tagged(queue, descriptor, Tag::default());
    }

    /// As [`Self::post`], with a tag. Returns whether the queue has accepted the descriptor, which a real
    /// device does not report.
    pub fn post_tagged(&self, queue: GroupQueue, descriptor: &Descriptor, tag: Tag) -> Posted {
        let group = &self.shared.groups[queue.group];
        let posted = group.post(queue.queue, (*descriptor, tag));
        self.note_overflow(queue, descriptor, posted);
        posted
    }

    fn note_overflow(&self, queue: GroupQueue, descriptor: &Descriptor, posted: Posted) {
        if posted == Posted::Overflow {
            let number = self.shared.groups[queue.group].number_in_device(queue.queue);
            self.shared.note(SoftwareError::overflow(number, descriptor));
        }
    }

    /// Submits to a shared queue, as ENQCMD does, and returns the response.
    pub fn enqueue(&self, queue: GroupQueue, descriptor: &Descriptor) -> EnqueueAnswer {
        self.enqueue_tagged(queue, descriptor, Tag::default())
    }

    /// As [`Self::enqueue`], with a tag.
    pub fn enqueue_tagged(
        &self,
        queue: GroupQueue,
        descriptor: &Descriptor,
        tag: Tag,
    ) -> EnqueueAnswer {
        self.shared.groups[queue.group].enqueue(queue.queue, (*descriptor, tag))
    }

    /// As [`Self::post_tagged`], but the descriptor has ended when the call returns, unless it is behind others
    /// that were submitted without that. With `may_execute` the calling thread executes it in place of an
    /// engine, where nothing is before it and an engine is free: the call then allocates nothing, and needs as
    /// much stack as an engine does. Otherwise the thread waits for the engines.
    pub fn post_attended(
        &self,
        queue: GroupQueue,
        descriptor: &Descriptor,
        tag: Tag,
        may_execute: bool,
    ) -> Posted {
        let group = &self.shared.groups[queue.group];
        let Some(most) = group.most_posted(queue.queue) else { return Posted::Lost };
        match group.take_attended(queue.queue, (*descriptor, tag), most, may_execute) {
            Ok(accepted) => {
                self.attend(queue, accepted);
                Posted::Taken
            }
            Err(refused) => {
                let posted = Posted::from(refused);
                self.note_overflow(queue, descriptor, posted);
                posted
            }
        }
    }

    /// As [`Self::enqueue_tagged`], and as [`Self::post_attended`] waits.
    pub fn enqueue_attended(
        &self,
        queue: GroupQueue,
        descriptor: &Descriptor,
        tag: Tag,
        may_execute: bool,
    ) -> EnqueueAnswer {
        let group = &self.shared.groups[queue.group];
        let Some(most) = group.most_enqueued(queue.queue) else { return EnqueueAnswer::Retry };
        match group.take_attended(queue.queue, (*descriptor, tag), most, may_execute) {
            Ok(accepted) => {
                self.attend(queue, accepted);
                EnqueueAnswer::Accepted
            }
            Err(_) => EnqueueAnswer::Retry,
        }
    }

    /// Executes an accepted descriptor, or waits for it.
    fn attend(&self, queue: GroupQueue, accepted: Accepted) {
        match accepted {
            Accepted::Taken(work) => self.shared.finish_for_submitter(queue.group, work),
            Accepted::Waits(order) => self.shared.groups[queue.group].wait_for(queue.queue, order),
            Accepted::Left => {}
        }
    }

    /// Number of descriptors in a queue that no engine has taken yet, those of other processes included.
    #[must_use]
    pub fn occupancy(&self, queue: GroupQueue) -> usize {
        self.shared.groups[queue.group].occupancy(queue.queue)
    }

    /// Waits until all descriptors that this process has submitted to a queue have ended.
    pub fn drain(&self, queue: GroupQueue) {
        self.shared.groups[queue.group].drain(queue.queue);
    }

    /// Disables a queue, so that it accepts no more descriptors, and drains it.
    pub fn disable(&self, queue: GroupQueue) {
        self.shared.groups[queue.group].set_enabled(queue.queue, false);
        self.drain(queue);
    }

    /// Enables a disabled queue again.
    pub fn enable(&self, queue: GroupQueue) {
        self.shared.set_up();
        self.shared.groups[queue.group].set_enabled(queue.queue, true);
    }

    /// Drops the waiting descriptors that this process has in a queue, without executing them and without
    /// records. Descriptors that engines have taken go on. Returns the number of dropped descriptors.
    pub fn discard(&self, queue: GroupQueue) -> usize {
        self.shared.groups[queue.group].clear(queue.queue)
    }

    /// As [`Self::discard`], and waits until the descriptors that engines have taken have ended.
    pub fn abort(&self, queue: GroupQueue) -> usize {
        let dropped = self.discard(queue);
        self.drain(queue);
        dropped
    }

    /// Resets the device: disables all queues, drops their waiting descriptors without records, waits for
    /// those that engines have taken, and clears the software error register and the event log.
    pub fn reset(&self) {
        self.shared.reset();
        for &queue in &self.queues {
            self.drain(queue);
        }
        self.clear_software_error();
        if let Some(log) = self.event_log() {
            log.clear();
        }
    }

    /// Whether the device was reset, by its program or by an injector, and no queue was enabled since.
    /// All its queues then refuse descriptors.
    #[must_use]
    pub fn is_reset(&self) -> bool {
        self.shared.is_reset()
    }

    /// Reads the software error register.
    #[must_use]
    pub fn software_error(&self) -> SoftwareError {
        *self.shared.error()
    }

    /// The event log, if it is enabled.
    #[must_use]
    pub fn event_log(&self) -> Option<&EventLog> {
        self.shared.event_log()
    }

    /// Clears the software error register.
    pub fn clear_software_error(&self) {
        *self.shared.error() = SoftwareError::default();
    }
}

impl Drop for SoftwareDevice {
    fn drop(&mut self) {
        self.shared.close_event_log();
        for group in &self.shared.groups {
            group.stop();
        }
        for engine in self.engines.drain(..) {
            // An engine that panicked has reported that itself.
            drop(engine.join());
        }
    }
}
