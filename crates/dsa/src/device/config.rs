//! How a device is configured: groups, queues, engines [S 9.2.18, the checks of its enable command].

use crate::checks::QueueLimits;
use crate::hardware::capabilities::{Capabilities, gencap};
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
    /// 0x22.
    #[error("queue {queue} of group {group} has no entry")]
    NoEntries {
        /// Number of the group.
        group: usize,
        /// Number of the queue in the group.
        queue: usize,
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
}

impl QueueConfig {
    /// A shared queue's descriptors have PASID and privilege of their own, a dedicated one's those of the
    /// queue.
    pub(super) fn with_pasid_of_mode(&self) -> Self {
        let has_pasid = self.mode != Mode::Dedicated;
        Self { limits: QueueLimits { has_pasid, ..self.limits }, ..*self }
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
            Self::TooMany { .. } => 0x11,
            Self::TooManyEntries { .. } => 0x14,
            Self::HalfAGroup { .. } => 0x15,
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
        let queue = QueueConfig {
            size: capabilities.queue_entries,
            mode,
            priority: 1,
            limits: QueueLimits::of(&capabilities),
        };
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
        for (number, group) in self.groups.iter().enumerate() {
            if group.queues.is_empty() != (group.engines == 0) {
                return Err(ConfigError::HalfAGroup { group: number });
            }
            for (queue, config) in group.queues.iter().enumerate() {
                let priority = config.priority;
                if config.size == 0 {
                    return Err(ConfigError::NoEntries { group: number, queue });
                }
                if !(1..=15).contains(&priority) {
                    return Err(ConfigError::BadPriority { group: number, queue, priority });
                }
                if let Some(what) = config.beyond(&self.capabilities) {
                    return Err(ConfigError::BeyondTheDevice { group: number, queue, what });
                }
            }
        }
        Ok(())
    }
}
