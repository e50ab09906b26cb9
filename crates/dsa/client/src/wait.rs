//! Waiting of a thread for a completion record. Nothing is allocated here, and no lock is taken.

use crate::instructions::{self, Instructions};
use crate::record_slot::RecordSlot;

/// How a thread waits while an operation is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitMethod {
    /// The thread polls the record, and yields the CPU to other threads after a while.
    #[default]
    Poll,
    /// The thread yields the CPU at each poll.
    Yield,
    /// The thread sleeps in UMWAIT until the line of the record changes, if the processor has the
    /// instruction; else it polls.
    Line,
}

/// Polls of a record before the CPU is yielded: about as long as a device takes for 4 KiB.
const SPINS: u32 = 512;
/// Most cycles of a wait for a line: the limit that the kernel sets by default.
const CYCLES: u64 = 100_000;

/// One wait, up to the end of an operation.
#[derive(Debug)]
pub struct Waiter {
    how: WaitMethod,
    looks: u32,
}

impl Waiter {
    /// A wait that begins now.
    #[must_use]
    pub fn new(how: WaitMethod) -> Self {
        let is_missing = how == WaitMethod::Line && !Instructions::detect().waits_for_lines;
        Self { how: if is_missing { WaitMethod::Poll } else { how }, looks: 0 }
    }

    /// Waits a little: for a change of the record, if one is given.
    pub fn pause(&mut self, slot: Option<&RecordSlot>) {
        self.looks = self.looks.saturating_add(1);
        match (self.how, slot) {
            (WaitMethod::Line, Some(slot)) => {
                instructions::wait_for_line(slot.line(), CYCLES, || slot.status() != 0);
            }
            (WaitMethod::Poll | WaitMethod::Line, _) if self.looks < SPINS => {
                std::hint::spin_loop();
            }
            _ => std::thread::yield_now(),
        }
    }
}
