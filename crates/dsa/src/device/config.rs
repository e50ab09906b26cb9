//! How a device is configured: groups, queues, engines [S 9.2.18, the checks of its enable command].

pub use super::slots::{Entries, EntrySlots};

use crate::checks::QueueLimits;
use crate::hardware::capabilities::{Capabilities, gencap};
use std::sync::atomic::AtomicU32;
use thiserror::Error;

/// How a queue takes descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By posted writes of one submitter, who counts its own descriptors.
    Dedicated,
    /// By writes with an answer, up to a threshold.
    Shared {
        /// Occupancy from which submitters have to try again; one above the size is the size.
        threshold: u16,
    },
}

/// A work queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueConfig {
    /// Entries.
    pub size: u16,
    /// How it takes descriptors.
    pub mode: Mode,
    /// Descriptors that it gives in a turn of the arbiter: 1 to 15.
    pub priority: u8,
    /// What its descriptors may ask.
    pub limits: QueueLimits,
    /// How its occupied entries are counted.
    pub entries: Entries,
    /// Its state for all processes that share it: it takes descriptors while this is not 0, and while
    /// this device has it enabled. `None`: what this device says counts alone.
    pub enabled: Option<&'static AtomicU32>,
    /// Where this process counts its descriptors that the queue has taken and that have not ended. A
    /// supervisor that sets [`Self::enabled`] to 0 and then reads 0 here (both sequentially consistent)
    /// has drained the process; it sets the count of a process that was killed to 0 itself. Each
    /// process has a count of its own.
    pub in_flight: Option<&'static AtomicU32>,
}

/// Queues, and the engines that serve them.
#[derive(Clone, Debug)]
pub struct GroupConfig {
    /// Engines.
    pub engines: u8,
    /// Queues.
    pub queues: Vec<QueueConfig>,
}

/// A device.
#[derive(Clone, Debug)]
pub struct DeviceConfig {
    /// What it can do.
    pub capabilities: Capabilities,
    /// Its groups.
    pub groups: Vec<GroupConfig>,
}

/// A configuration that the device does not enable, with the code of its command status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// 0x11.
    #[error("the configuration has {asked} {what}, the device {there}")]
    TooMany {
        /// Groups, queues or engines.
        what: &'static str,
        /// Number that is asked for.
        asked: usize,
        /// Number that the device has.
        there: usize,
    },
    /// 0x14.
    #[error("the queues have {asked} entries together, the device {there}")]
    TooManyEntries {
        /// Entries that are asked for.
        asked: usize,
        /// Entries that the device has.
        there: usize,
    },
    /// 0x15.
    #[error("group {group} has queues and no engine, or an engine and no queue")]
    HalfAGroup {
        /// Its number.
        group: usize,
    },
    /// 0x19.
    #[error("an event log is asked for, and the device has none")]
    NoEventLog,
    /// 0x22.
    #[error("queue {queue} of group {group} has no entry")]
    NoEntries {
        /// Number of the group.
        group: usize,
        /// Number of the queue in the group.
        queue: usize,
    },
    /// 0x11: the slots are not the device's, and no code of it says that they are few.
    #[error("queue {queue} of group {group} has {size} entries and {slots} slots for them")]
    TooFewSlots {
        /// Number of the group.
        group: usize,
        /// Number of the queue in the group.
        queue: usize,
        /// Its entries.
        size: usize,
        /// Its slots.
        slots: usize,
    },
    /// 0x25, 0x27 or 0x28.
    #[error("queue {queue} of group {group} allows what the device does not have: {what:?}")]
    BeyondTheDevice {
        /// Number of the group.
        group: usize,
        /// Number of the queue in the group.
        queue: usize,
        /// What that is.
        what: Beyond,
    },
    /// 0x23.
    #[error("queue {queue} of group {group} has priority {priority}; allowed are 1 to 15")]
    BadPriority {
        /// Number of the group.
        group: usize,
        /// Number of the queue in the group.
        queue: usize,
        /// Its priority.
        priority: u8,
    },
    /// 0x11: a device needs no threads, and has no code for it.
    #[error("the system gives no thread for an engine: {0}")]
    NoThread(std::io::ErrorKind),
}

impl QueueConfig {
    /// A queue of this process alone.
    #[must_use]
    pub fn own(size: u16, mode: Mode, priority: u8, limits: QueueLimits) -> Self {
        let entries = Entries::Own;
        Self { size, mode, priority, limits, entries, enabled: None, in_flight: None }
    }

    /// A shared queue's descriptors have PASID and privilege of their own, a dedicated one's those of the
    /// queue.
    pub(super) fn with_pasid_of_mode(&self) -> Self {
        let has_pasid = self.mode != Mode::Dedicated;
        Self { limits: QueueLimits { has_pasid, ..self.limits }, ..*self }
    }

    fn check(
        &self,
        group: usize,
        queue: usize,
        capabilities: &Capabilities,
    ) -> Result<(), ConfigError> {
        let (priority, size) = (self.priority, usize::from(self.size));
        if size == 0 {
            return Err(ConfigError::NoEntries { group, queue });
        }
        if !(1..=15).contains(&priority) {
            return Err(ConfigError::BadPriority { group, queue, priority });
        }
        if let Entries::Shared(EntrySlots { slots, .. }) = self.entries
            && slots.len() < size
        {
            return Err(ConfigError::TooFewSlots { group, queue, size, slots: slots.len() });
        }
        match self.beyond(capabilities) {
            Some(what) => Err(ConfigError::BeyondTheDevice { group, queue, what }),
            None => Ok(()),
        }
    }

    /// What the device does not have of what the queue allows.
    fn beyond(&self, capabilities: &Capabilities) -> Option<Beyond> {
        let limits = &self.limits;
        if limits.block_on_fault && !capabilities.has(gencap::BLOCK_ON_FAULT) {
            return Some(Beyond::BlockOnFault);
        }
        if limits.most_batch > capabilities.most_batch() {
            return Some(Beyond::Batch);
        }
        let transfer = limits.most_transfer_bytes > capabilities.most_transfer_bytes();
        transfer.then_some(Beyond::Transfer)
    }
}

/// What a queue allows and its device does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Blocking on faults.
    BlockOnFault,
    /// Batches of that size.
    Batch,
    /// Transfers of that size.
    Transfer,
}

impl ConfigError {
    /// The code that a device's command status has for it.
    #[must_use]
    pub fn command_status(&self) -> u8 {
        match self {
            Self::TooMany { .. } | Self::TooFewSlots { .. } | Self::NoThread(_) => 0x11,
            Self::TooManyEntries { .. } => 0x14,
            Self::HalfAGroup { .. } => 0x15,
            Self::NoEventLog => 0x19,
            Self::NoEntries { .. } => 0x22,
            Self::BadPriority { .. } => 0x23,
            Self::BeyondTheDevice { what: Beyond::BlockOnFault, .. } => 0x25,
            Self::BeyondTheDevice { what: Beyond::Batch, .. } => 0x27,
            Self::BeyondTheDevice { what: Beyond::Transfer, .. } => 0x28,
        }
    }
}

impl DeviceConfig {
    /// One group with all engines and one queue with all entries.
    #[must_use]
    pub fn one_queue(capabilities: Capabilities, mode: Mode) -> Self {
        let limits = QueueLimits::of(&capabilities);
        let queue = QueueConfig::own(capabilities.queue_entries, mode, 1, limits);
        let group = GroupConfig { engines: capabilities.engines, queues: vec![queue] };
        Self { capabilities, groups: vec![group] }
    }

    /// Checks what the device checks when it is enabled.
    ///
    /// # Errors
    /// The first thing that it does not have.
    pub fn check(&self) -> Result<(), ConfigError> {
        let sum = |count: fn(&GroupConfig) -> usize| self.groups.iter().map(count).sum::<usize>();
        let have = [
            ("groups", self.groups.len(), usize::from(self.capabilities.groups)),
            ("queues", sum(|group| group.queues.len()), usize::from(self.capabilities.work_queues)),
            ("engines", sum(|group| group.engines.into()), usize::from(self.capabilities.engines)),
        ];
        if let Some((what, asked, there)) = have.into_iter().find(|(_, asked, there)| asked > there)
        {
            return Err(ConfigError::TooMany { what, asked, there });
        }
        let asked = sum(|group| group.queues.iter().map(|queue| usize::from(queue.size)).sum());
        let there = usize::from(self.capabilities.queue_entries);
        if asked > there {
            return Err(ConfigError::TooManyEntries { asked, there });
        }
        for (group_number, group) in self.groups.iter().enumerate() {
            if group.queues.is_empty() != (group.engines == 0) {
                return Err(ConfigError::HalfAGroup { group: group_number });
            }
            for (queue, config) in group.queues.iter().enumerate() {
                config.check(group_number, queue, &self.capabilities)?;
            }
        }
        Ok(())
    }
}
