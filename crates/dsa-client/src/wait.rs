//! How a thread waits for a record.

use crate::instructions::{self, Instructions};
use crate::record_slot::Slot;

/// What a thread does while an operation is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Looks again and again, and lets other threads have the CPU after a while.
    #[default]
    Poll,
    /// Sleeps in UMWAIT until the line of the record changes, where the processor can; else it polls.
    Line,
}

/// Looks at a record before the CPU is offered to others: about as long as a device takes for 4 KiB.
const SPINS: u32 = 512;
/// Cycles that a wait for a line takes at most: what the kernel allows by default.
const CYCLES: u64 = 100_000;

/// One wait: from an operation that is under way to its end.
pub(crate) struct Waiter {
    how: Wait,
    looks: u32,
}

impl Waiter {
    pub fn new(how: Wait) -> Self {
        let can = Instructions::here().waits_for_lines;
        Self { how: if can { how } else { Wait::Poll }, looks: 0 }
    }

    /// Waits a little for a record, if there is one.
    pub fn pause(&mut self, slot: Option<&Slot>) {
        self.looks = self.looks.saturating_add(1);
        match (self.how, slot) {
            (Wait::Line, Some(slot)) => {
                instructions::wait_for_line(slot.line(), CYCLES, || slot.status() != 0);
            }
            _ if self.looks < SPINS => std::hint::spin_loop(),
            _ => std::thread::yield_now(),
        }
    }
}
