//! Whether a descriptor that has no record for long will ever have one, and whether a queue that takes
//! none ever will.
//!
//! It is lost if its queue or device is disabled while it has none, or if a drain that was submitted after
//! it has ended: a dedicated queue without room drops descriptors, and only the driver hears of it.

use crate::shared::Shared;
use dsa::hardware::Opcode;
use std::time::{Duration, Instant};

/// Time without an end after which a queue is asked whether it lost the descriptor.
const SUSPICIOUS: Duration = Duration::from_millis(100);
/// Looks at a record between two at the clock.
const LOOKS: u32 = 256;

/// What is known of a descriptor that does not end.
#[derive(Default)]
pub(crate) struct Doubt {
    looks: u32,
    since: Option<Instant>,
    /// Drains of the queue that were submitted before the doubt began.
    drains_before: Option<u64>,
}

/// Submissions in a row that no queue took.
#[derive(Default)]
pub(crate) struct Refusals {
    count: u32,
    since: Option<Instant>,
}

impl Refusals {
    /// Counts one; whether it is of no use to try again, as all queues for the operation have gone.
    pub fn are_final(&mut self, shared: &Shared, opcode: Opcode) -> bool {
        self.count = self.count.wrapping_add(1);
        if !self.count.is_multiple_of(LOOKS) {
            return false;
        }
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        if now - since < SUSPICIOUS {
            return false;
        }
        // From here on the queues are looked at each time that as long has passed.
        self.since = Some(now);
        shared.have_gone(opcode)
    }
}

impl Doubt {
    /// Whether a descriptor on a portal never ends. `has_ended` looks at its record.
    pub fn is_confirmed(
        &mut self,
        shared: &Shared,
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
        let drains = shared.drains(portal);
        let before = *self.drains_before.get_or_insert_with(|| drains.submitted());
        // The record is looked at last: what ended before the queue was asked has one.
        if drains.has_ended_behind(before) || !shared.portal(portal).queue().is_enabled() {
            return !has_ended();
        }
        drains.ask(now, |drain| shared.send_beyond(portal, drain));
        false
    }
}
