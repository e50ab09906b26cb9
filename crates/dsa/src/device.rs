//! A device: groups of work queues and engines, each engine a thread [S 3.3, 4].
//!
//! A program submits descriptors to a queue. Engines of its group take them, queue by queue as the
//! arbiter says, execute them on the memory of this process, and write their records. Descriptors of a
//! queue are dispatched in order and may end in any order.
//!
//! A submission ([`Device::post`], [`Device::enqueue`]) allocates nothing, so the handler of a signal
//! that an instruction raises may submit. It takes a lock for some ten nanoseconds: a handler that may
//! interrupt a submission of its own thread would wait for ever, so signals whose handlers submit are
//! blocked in each other.

mod arbiter;
mod config;
mod crew;
mod event_log;
mod group;
mod held;
mod hooks;
mod idle;
mod queue;
mod run;
mod slots;
mod software_error;

pub use config::{ConfigError, DeviceConfig, Entries, EntrySlots, GroupConfig, Mode, QueueConfig};
pub use event_log::{
    BadEventLog, EVENT_WORDS, Event, EventLog, EventLogPlace, EventSlot, LEAST_EVENTS, MOST_EVENTS,
};
pub use group::Posted;
pub use hooks::{ErrorHook, EventHook, Hooks, InterruptHook, Watcher};
pub use software_error::SoftwareError;

use crate::descriptor::Descriptor;
use crate::engine::Engine;
use group::Group;
use run::Shared;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The answer to a submission that can be refused (ENQCMD).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Submitted {
    /// The queue has taken it.
    Accepted,
    /// Not now: the occupancy is at the threshold, or the queue takes none.
    Retry,
}

/// A queue of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueId {
    group: usize,
    queue: usize,
}

/// What a submitter says of a submission, for the watcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// When, in nanoseconds of a clock of the submitter's.
    pub time_ns: u64,
    /// Through what, such as a thread.
    pub portal: u64,
}

/// Where a descriptor that has ended came from; a member of a batch, where its batch came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The queue.
    pub queue: QueueId,
    /// What its submitter has said.
    pub tag: Tag,
}

/// An enabled device. Dropped, it executes what its queues hold, and ends its threads.
pub struct Device {
    shared: Arc<Shared>,
    queues: Vec<QueueId>,
    engines: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("queues", &self.queues).finish_non_exhaustive()
    }
}

impl Device {
    /// Starts the engines of a device. `hooks` may be a watcher, or none.
    ///
    /// # Safety
    /// As [`Engine::new`]: the submitter answers for the memory that a descriptor names, until it has ended.
    ///
    /// # Errors
    /// What of the configuration the device does not have, or that the system gives no thread.
    #[allow(unsafe_code)]
    pub unsafe fn start(
        config: &DeviceConfig,
        hooks: impl Into<Hooks>,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        let hooks = hooks.into();
        let mut first_queue = 0;
        let groups = config.groups.iter().map(|group| {
            let own = Group::new(group, first_queue, hooks.injector.clone());
            first_queue += group.queues.len();
            own
        });
        let groups = groups.collect();
        // SAFETY: the caller's, as stated above.
        let mut engine = unsafe { Engine::new(config.capabilities) };
        if hooks.event_log.is_some() {
            if !config.capabilities.has_event_log() {
                return Err(ConfigError::NoEventLog);
            }
            engine = engine.with_event_log();
        }
        let shared = Arc::new(Shared::new(engine, groups, hooks));
        let queues = config.groups.iter().enumerate().flat_map(|(group, config)| {
            (0..config.queues.len()).map(move |queue| QueueId { group, queue })
        });
        // Dropped, it ends the engines that have a thread, if one has none.
        let mut device = Self { queues: queues.collect(), shared, engines: Vec::new() };
        for (group, config) in config.groups.iter().enumerate() {
            for _ in 0..config.engines {
                let shared = Arc::clone(&device.shared);
                let engine = std::thread::Builder::new().spawn(move || shared.run_engine(group));
                let no_thread = |error: std::io::Error| ConfigError::NoThread(error.kind());
                device.engines.push(engine.map_err(no_thread)?);
            }
        }
        Ok(device)
    }

    /// Its queues, group by group as configured.
    #[must_use]
    pub fn queues(&self) -> &[QueueId] {
        &self.queues
    }

    /// Submits to a dedicated queue, as MOVDIR64B does: a write that has no answer. If the queue is full
    /// the descriptor is lost, and the software error register says so; one for a shared or disabled
    /// queue is lost silently.
    pub fn post(&self, queue: QueueId, descriptor: &Descriptor) {
        let _ = self.post_tagged(queue, descriptor, Tag::default());
    }

    /// As [`Self::post`], with a tag; what no device says is whether the queue has taken it.
    pub fn post_tagged(&self, queue: QueueId, descriptor: &Descriptor, tag: Tag) -> Posted {
        let group = &self.shared.groups[queue.group];
        let posted = group.post(queue.queue, (*descriptor, tag));
        if posted == Posted::Overflow {
            let number = group.number_in_device(queue.queue);
            self.shared.note(SoftwareError::overflow(number, descriptor));
        }
        posted
    }

    /// Submits to a shared queue, as ENQCMD does.
    pub fn enqueue(&self, queue: QueueId, descriptor: &Descriptor) -> Submitted {
        self.enqueue_tagged(queue, descriptor, Tag::default())
    }

    /// As [`Self::enqueue`], with a tag.
    pub fn enqueue_tagged(&self, queue: QueueId, descriptor: &Descriptor, tag: Tag) -> Submitted {
        self.shared.groups[queue.group].enqueue(queue.queue, (*descriptor, tag))
    }

    /// Descriptors in a queue that no engine has taken yet, those of other processes included.
    #[must_use]
    pub fn occupancy(&self, queue: QueueId) -> usize {
        self.shared.groups[queue.group].occupancy(queue.queue)
    }

    /// Waits until all that this process has submitted to a queue has ended.
    pub fn drain(&self, queue: QueueId) {
        self.shared.groups[queue.group].drain(queue.queue);
    }

    /// Drains a queue and lets it take nothing more.
    pub fn disable(&self, queue: QueueId) {
        self.shared.groups[queue.group].set_enabled(queue.queue, false);
        self.drain(queue);
    }

    /// Lets a disabled queue take descriptors again.
    pub fn enable(&self, queue: QueueId) {
        self.shared.set_up();
        self.shared.groups[queue.group].set_enabled(queue.queue, true);
    }

    /// Drops what a queue holds of this process, unexecuted and without records; returns how many descriptors. What
    /// engines have taken goes on.
    pub fn discard(&self, queue: QueueId) -> usize {
        self.shared.groups[queue.group].clear(queue.queue)
    }

    /// As [`Self::discard`], and waits for what engines have taken.
    pub fn abort(&self, queue: QueueId) -> usize {
        let dropped = self.discard(queue);
        self.drain(queue);
        dropped
    }

    /// Resets the device: disables all queues, drops what they hold without records, waits for what
    /// engines have taken, and clears the software error register and the event log.
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

    /// Whether the device was reset, by its program or by an injector, and no queue was enabled since:
    /// none takes a descriptor.
    #[must_use]
    pub fn is_reset(&self) -> bool {
        self.shared.is_reset()
    }

    /// The software error register.
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

impl Drop for Device {
    fn drop(&mut self) {
        self.shared.close_event_log();
        for group in &self.shared.groups {
            group.stop();
        }
        for engine in self.engines.drain(..) {
            // An engine that panicked has said so on its own.
            drop(engine.join());
        }
    }
}
