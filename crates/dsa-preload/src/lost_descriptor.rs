//! A descriptor that does not end: whether it never will.
//!
//! It is lost if its queue is disabled while it has no record, or if a drain that was submitted behind it
//! has ended. Until one of them is certain it may still write the caller's memory, and is waited for.

use crate::clock::now_ns;
use crate::local;
use crate::portals::{self, Taken};
use crate::process::{Claimed, Process};
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use dsa_client::record_slot::Slot;
use std::ffi::{CStr, CString};

/// Time without an end after which the queue is asked.
const SUSPICIOUS_NS: u64 = 100_000_000;
/// Time after which a drain that has not ended either is repeated, since it may be lost as well.
const PATIENCE_NS: u64 = 1_000_000_000;

/// What is known of it.
#[derive(Default)]
pub struct SignalSafeLossDetector {
    since_ns: u64,
    drains: [Option<Claimed>; 4],
    drained_ns: u64,
}

impl SignalSafeLossDetector {
    /// Whether the descriptor whose record is `slot` never ends.
    pub fn is_confirmed(&mut self, process: &'static Process, taken: Taken, slot: &Slot) -> bool {
        let now = now_ns();
        if self.since_ns == 0 {
            self.since_ns = now;
        }
        if now.saturating_sub(self.since_ns) < SUSPICIOUS_NS {
            return false;
        }
        // The record is looked at last: what ended before the queue was asked has one.
        if self.has_drained() || !is_enabled(taken) {
            return slot.status() == 0;
        }
        if self.drained_ns == 0 || now.saturating_sub(self.drained_ns) > PATIENCE_NS {
            self.drain(process, taken, now);
        }
        false
    }

    fn has_drained(&self) -> bool {
        self.drains.iter().flatten().any(|drain| drain.slot().status() != 0)
    }

    /// Submits a drain, which ends after all that was submitted to the queue before.
    fn drain(&mut self, process: &'static Process, taken: Taken, now: u64) {
        let Some(free) = self.drains.iter_mut().find(|drain| drain.is_none()) else { return };
        let Some(claimed) = process.claim() else { return };
        let drain = Descriptor::of(Opcode::Drain).recording(claimed.slot().address());
        match portals::submit_to(process, taken.number, &drain) {
            Some(submitted) => {
                // It is not waited for.
                submitted.ended(process);
                self.drained_ns = now;
                *free = Some(claimed);
            }
            None => claimed.release(),
        }
    }

    /// Leaves records of drains to the device, but for those that have been written.
    pub fn settle(self) {
        for drain in self.drains.into_iter().flatten() {
            if drain.slot().status() == 0 { drain.abandon() } else { drain.release() }
        }
    }

    /// The same of a descriptor that was lost.
    pub fn abandon(self) {
        self.settle();
    }
}

/// Whether the queue and its device are enabled, as far as the system says.
fn is_enabled(taken: Taken) -> bool {
    let says_so = |state: &CString| local::without_cancellation(|| says_enabled(state));
    taken.known().is_none_or(|known| known.states.iter().all(says_so))
}

fn says_enabled(file: &CStr) -> bool {
    let mut text = [0_u8; 16];
    // SAFETY: the name ends with zero; the buffer is as large as said; the file is this one's own.
    let read = unsafe {
        let file = libc::open(file.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            // A process may have no file left to open, and a queue that is gone has no file.
            return std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOENT);
        }
        let read = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        read
    };
    read <= 0 || text.starts_with(b"enabled")
}
