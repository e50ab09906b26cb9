//! The configuration of a device: groups, queues, engines [S 9.2.18, the checks of its enable command].

pub use super::entry_slots::{EntryCounting, EntrySlots};

use crate::checks::QueueLimits;
use crate::hardware::capabilities::{Capabilities, gencap};
use std::sync::atomic::AtomicU32;
use thiserror::Error;

/// Mode of a work queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Descriptors come by posted writes (MOVDIR64B) of one submitter, who counts them.
    Dedicated,
    /// Descriptors come by enqueue commands (ENQCMD), up to a threshold.
    Shared {
        /// Occupancy in entries from which a submission is refused. A threshold above the size acts as the
        /// size.
        threshold: u16,
    },
}

/// Configuration of a work queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueConfig {
    /// Size of the queue, in entries.
    pub size: u16,
    /// Mode of the queue, dedicated or shared.
    pub mode: Mode,
    /// Priority, 1 to 15: descriptors that engines take in a turn of the arbiter.
    pub priority: u8,
    /// Limits of the descriptors that the queue accepts.
    pub limits: QueueLimits,
    /// Whether its occupied entries are counted for this process alone.
    pub entries: EntryCounting,
    /// State of the queue for all processes that share it. The queue accepts descriptors while this is not 0
    /// and this device has it enabled. `None`: only the state in this device counts.
    pub enabled: Option<&'static AtomicU32>,
    /// Counter of this process's descriptors that the queue has accepted and that have not ended. A
    /// supervisor that sets [`Self::enabled`] to 0 and then reads 0 here (both sequentially consistent)
    /// has drained the process; it sets the count of a process that was killed to 0 itself. Each
    /// process has a count of its own.
    pub in_flight: Option<&'static AtomicU32>,
}

/// Configuration of a group: its queues, and the number of engines that serve them.
#[derive(Clone, Debug)]
pub struct EngineGroupConfig {
    /// Number of engines.
    pub engines: u8,
    /// Queues of the group.
    pub queues: Vec<QueueConfig>,
}

/// Configuration of a device.
#[derive(Clone, Debug)]
pub struct DeviceConfig {
    /// Capabilities of the device.
    pub capabilities: Capabilities,
    /// Groups of the device.
    pub groups: Vec<EngineGroupConfig>,
}

/// Reason why a device does not enable a configuration. The comments have the code of the command status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// More groups, queues or engines than the device has (0x11).
    #[error("the configuration asks for {asked} {what}; the device has {available}")]
    TooMany {
        /// "groups", "queues" or "engines".
        what: &'static str,
        /// Number in the configuration.
        asked: usize,
        /// Number that the device has.
        available: usize,
    },
    /// More entries in all queues than the device has (0x14).
    #[error("the queues ask for {asked} entries in all; the device has {available}")]
    TooManyEntries {
        /// Entries of all queues in the configuration.
        asked: usize,
        /// Entries that the device has.
        available: usize,
    },
    /// A group with only queues or only engines (0x15).
    #[error("group {group} has queues and no engine, or an engine and no queue")]
    HalfAGroup {
        /// Number of the group.
        group: usize,
    },
    /// An event log for a device without one (0x19).
    #[error("the configuration asks for an event log; the device does not have one")]
    NoEventLog,
    /// A queue of size 0 (0x22).
    #[error("queue {queue} of group {group} has size 0")]
    NoEntries {
        /// Number of the group.
        group: usize,
        /// Number of the queue in the group.
        queue: usize,
    },
    /// Fewer slots than entries (0x11, as the device has no code for it: the slots are not its own).
    #[error("queue {queue} of group {group} has {size} entries and {slots} slots for them")]
    TooFewSlots {
        /// Number of the group.
        group: usize,
        /// Number of the queue in the group.
        queue: usize,
        /// Entries of the queue.
        size: usize,
        /// Slots for them in shared memory.
        slots: usize,
    },
    /// A queue that allows more than its device can do (0x25, 0x27 or 0x28).
    #[error("queue {queue} of group {group} allows more than the device can do: {what:?}")]
    BeyondTheDevice {
        /// Number of the group.
        group: usize,
        /// Number of the queue in the group.
        queue: usize,
        /// The limit that is exceeded.
        what: Beyond,
    },
    /// A priority out of range (0x23).
    #[error("queue {queue} of group {group} has priority {priority}; allowed are 1 to 15")]
    BadPriority {
        /// Number of the group.
        group: usize,
        /// Number of the queue in the group.
        queue: usize,
        /// Priority of the queue.
        priority: u8,
    },
    /// The system cannot start a thread for an engine (0x11, as a device needs no threads and has no code).
    #[error("the system cannot start a thread for an engine: {0}")]
    NoThread(std::io::ErrorKind),
}

impl QueueConfig {
    /// A queue that no other process uses.
    #[must_use]
    pub fn own(size: u16, mode: Mode, priority: u8, limits: QueueLimits) -> Self {
        let entries = EntryCounting::Own;
        Self { size, mode, priority, limits, entries, enabled: None, in_flight: None }
    }

    /// The same configuration with `has_pasid` set by the mode: descriptors of a shared queue name their
    /// PASID and privilege, those of a dedicated queue have the queue's.
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
        if let EntryCounting::Shared(EntrySlots { slots, .. }) = self.entries
            && slots.len() < size
        {
            return Err(ConfigError::TooFewSlots { group, queue, size, slots: slots.len() });
        }
        match self.beyond(capabilities) {
            Some(what) => Err(ConfigError::BeyondTheDevice { group, queue, what }),
            None => Ok(()),
        }
    }

    /// The first limit of the queue that exceeds the device.
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

/// A limit of a queue that exceeds its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Blocking on faults, which the device does not support.
    BlockOnFault,
    /// Most descriptors of a batch.
    Batch,
    /// Most bytes of a transfer.
    Transfer,
}

impl ConfigError {
    /// The code that the command status of a device has for this error.
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
    /// A configuration of one group, with all engines and one queue of all entries at priority 1.
    #[must_use]
    pub fn one_queue(capabilities: Capabilities, mode: Mode) -> Self {
        let limits = QueueLimits::of(&capabilities);
        let queue = QueueConfig::own(capabilities.queue_entries, mode, 1, limits);
        let group = EngineGroupConfig { engines: capabilities.engines, queues: vec![queue] };
        Self { capabilities, groups: vec![group] }
    }

    /// Makes the checks that the device makes when it is enabled.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check(&self) -> Result<(), ConfigError> {
        let sum =
            |count: fn(&EngineGroupConfig) -> usize| self.groups.iter().map(count).sum::<usize>();
        let have = [
            ("groups", self.groups.len(), usize::from(self.capabilities.groups)),
            ("queues", sum(|group| group.queues.len()), usize::from(self.capabilities.work_queues)),
            ("engines", sum(|group| group.engines.into()), usize::from(self.capabilities.engines)),
        ];
        let mut exceeded = have.into_iter().filter(|(_, asked, available)| asked > available);
        if let Some((what, asked, available)) = exceeded.next() {
            return Err(ConfigError::TooMany { what, asked, available });
        }
        let asked = sum(|group| group.queues.iter().map(|queue| usize::from(queue.size)).sum());
        let available = usize::from(self.capabilities.queue_entries);
        if asked > available {
            return Err(ConfigError::TooManyEntries { asked, available });
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
