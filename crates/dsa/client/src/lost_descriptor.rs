//! Detection of lost descriptors: a descriptor without a record that will never have one, and queues
//! that will never take a descriptor again.
//!
//! A descriptor is lost if its queue or device is disabled while it has no record, or if a drain that was
//! submitted after it has ended: a dedicated queue without room drops descriptors, and reports that to
//! the driver only.

use crate::portals::Portals;
use dsa::hardware::Opcode;
use std::time::{Duration, Instant};

/// Time without an end after which the queue of a descriptor is checked.
const SUSPICIOUS: Duration = Duration::from_millis(100);
/// Looks at a record between two looks at the clock.
const LOOKS: u32 = 256;

/// Finds out whether one descriptor was lost.
#[derive(Default)]
pub(crate) struct LossDetector {
    looks: u32,
    since: Option<Instant>,
    /// Drains of the queue that were submitted before the descriptor was suspected.
    drains_before: Option<u64>,
}

/// Counts submissions in a row that no queue took.
#[derive(Default)]
pub(crate) struct Refusals {
    count: u32,
    since: Option<Instant>,
}

impl Refusals {
    /// Counts a refusal, and returns whether another try is useless because all queues for the operation
    /// are disabled.
    pub fn are_final(&mut self, portals: &Portals, opcode: Opcode) -> bool {
        self.count = self.count.wrapping_add(1);
        if !self.count.is_multiple_of(LOOKS) {
            return false;
        }
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        if now - since < SUSPICIOUS {
            return false;
        }
        // From here on the queues are checked each time that as long has passed.
        self.since = Some(now);
        portals.are_disabled(opcode)
    }
}

impl LossDetector {
    /// Whether it is certain that a descriptor on a portal never ends. `has_ended` looks at its record.
    pub fn is_confirmed(
        &mut self,
        portals: &Portals,
        portal: usize,
        has_ended: impl Fn() -> bool,
    ) -> bool {
        self.looks = self.looks.wrapping_add(1);
        if !self.looks.is_multiple_of(LOOKS) {
            return false;
        }
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        if now - since < SUSPICIOUS {
            return false;
        }
        let drains = portals.drains(portal);
        let before = *self.drains_before.get_or_insert_with(|| drains.submitted());
        // The record is looked at last: a descriptor that ended before the queue was checked has one.
        if drains.has_ended_behind(before) || !portals.get(portal).queue().is_enabled() {
            return !has_ended();
        }
        drains.submit_if_due(now, |drain| portals.submit_drain(portal, drain));
        false
    }
}
