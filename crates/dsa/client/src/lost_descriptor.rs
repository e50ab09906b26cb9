//! Detection of lost descriptors: a descriptor without a record that will never have one, and queues
//! that will never take a descriptor again.
//!
//! A descriptor is lost if its queue or device is disabled while it has no record, or if a drain that was
//! submitted after it has ended: a dedicated queue without room drops descriptors, and reports that to
//! the driver only. Until one of the two is certain, the device may still write the memory that the
//! descriptor names, and its owner waits.
//!
//! Nothing is allocated here, and no lock is taken: the owner may be a signal handler, or a call of memcpy
//! inside an allocator.

use crate::clock::now_ns;
use crate::drains::LossDrains;
use dsa::descriptor::Descriptor;

/// How long a descriptor may be without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossPatience {
    /// Looks at the record between two looks at the clock.
    pub looks: u32,
    /// Time in ns after which the queue of the descriptor is checked, and after which its state, which is
    /// in a file, is read again.
    pub check_ns: u64,
    /// Time in ns after which a drain that has not ended either is repeated, since it may be lost as well.
    pub repeat_ns: u64,
    /// Time in ns after which the queue counts as silent: its state is "enabled", and neither the descriptor nor
    /// a drain has ended.
    pub silent_ns: u64,
}

impl LossPatience {
    /// For an owner that does nothing else meanwhile: 100 ms, and 1 s for a drain.
    pub const OF_CALLS: Self = Self {
        looks: 256,
        check_ns: 100_000_000,
        repeat_ns: 1_000_000_000,
        silent_ns: 30_000_000_000,
    };
    /// For an owner that holds others up meanwhile, as packets that are delivered in order: 5 ms, and 100 ms
    /// for a drain.
    pub const OF_BURSTS: Self =
        Self { looks: 16, check_ns: 5_000_000, repeat_ns: 100_000_000, silent_ns: 30_000_000_000 };
}

/// Why a descriptor never ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptorLoss {
    /// Its queue, or the device, was disabled.
    Disabled,
    /// The queue has never taken it, or the device has forgotten it: a later drain has ended.
    Dropped,
}

/// A queue, as the detection of lost descriptors uses it.
pub trait DrainedQueue {
    /// The drains of the queue.
    fn drains(&self) -> &LossDrains;
    /// Submits a drain beyond the entries that are counted, and returns whether the queue took it.
    fn submit_drain(&self, drain: &Descriptor) -> bool;
    /// Whether the queue and its device are enabled.
    fn is_enabled(&self) -> bool;
}

/// Finds out whether one descriptor was lost.
#[derive(Debug)]
pub struct LossDetector {
    patience: LossPatience,
    looks: u32,
    since_ns: Option<u64>,
    is_silent: bool,
    /// Time from which on the state of the queue is read.
    next_state_ns: u64,
    /// Drains of the queue that were submitted before the descriptor was suspected.
    drains_before: Option<u64>,
}

impl Default for LossDetector {
    fn default() -> Self {
        Self::new(LossPatience::OF_CALLS)
    }
}

impl LossDetector {
    /// Begins with a descriptor that was just submitted.
    #[must_use]
    pub const fn new(patience: LossPatience) -> Self {
        Self {
            patience,
            looks: 0,
            since_ns: None,
            is_silent: false,
            next_state_ns: 0,
            drains_before: None,
        }
    }

    /// Whether the queue, which is enabled, has ended nothing for so long that its owner may as well close
    /// it: that makes the driver wait for the descriptors of the process.
    #[must_use]
    pub const fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// Why it is certain that the descriptor, which has no record yet, never ends; `None` while it may still
    /// end. `has_ended` looks at its record.
    pub fn find_loss(
        &mut self,
        queue: &impl DrainedQueue,
        has_ended: impl Fn() -> bool,
    ) -> Option<DescriptorLoss> {
        self.looks = self.looks.wrapping_add(1);
        if !self.looks.is_multiple_of(self.patience.looks) {
            return None;
        }
        let now = now_ns();
        let since = *self.since_ns.get_or_insert(now);
        if now.saturating_sub(since) < self.patience.check_ns {
            return None;
        }
        let drains = queue.drains();
        let before = *self.drains_before.get_or_insert_with(|| drains.submitted());
        let loss = if drains.has_ended_behind(before) {
            DescriptorLoss::Dropped
        } else if now < self.next_state_ns {
            return None;
        } else if queue.is_enabled() {
            self.next_state_ns = now + self.patience.check_ns;
            self.is_silent = now - since >= self.patience.silent_ns;
            drains.submit_if_due(now, self.patience.repeat_ns, |drain| queue.submit_drain(drain));
            return None;
        } else {
            DescriptorLoss::Disabled
        };
        // The record is looked at last: a descriptor that ended before the queue was checked has one.
        (!has_ended()).then_some(loss)
    }
}

/// Counts submissions in a row that no queue took.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    count: u32,
    since_ns: Option<u64>,
}

impl Refusals {
    /// Counts a refusal, and returns whether another try is useless because all queues for the operation
    /// are disabled, which `are_disabled` checks.
    pub fn are_final(&mut self, are_disabled: impl FnOnce() -> bool) -> bool {
        self.count = self.count.wrapping_add(1);
        if !self.count.is_multiple_of(LossPatience::OF_CALLS.looks) {
            return false;
        }
        let now = now_ns();
        let since = *self.since_ns.get_or_insert(now);
        if now.saturating_sub(since) < LossPatience::OF_CALLS.check_ns {
            return false;
        }
        // From here on the queues are checked each time that as long has passed.
        self.since_ns = Some(now);
        are_disabled()
    }
}
