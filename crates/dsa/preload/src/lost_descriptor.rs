//! Detection of a lost descriptor: one that has not ended, and never will.
//!
//! A descriptor is lost if its queue is disabled while it has no record, or if a drain that was submitted
//! after it has ended. Until one of the two is certain, the descriptor may still write the caller's
//! memory, and the caller waits. Nothing is allocated here, and no lock is taken.

use crate::clock::now_ns;
use crate::portals::{self, QueueEntry};
use crate::process::{ClaimedRecord, Process};
use crate::thread_state;
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use dsa_client::record_slot::RecordSlot;
use std::ffi::{CStr, CString};

/// Time without an end after which the queue is checked.
const SUSPICIOUS_NS: u64 = 100_000_000;
/// Time after which a drain that has not ended either is repeated, since it may be lost as well.
const PATIENCE_NS: u64 = 1_000_000_000;

/// Finds out whether one descriptor was lost, in any code: also in a signal handler.
#[derive(Default)]
pub struct SignalSafeLossDetector {
    since_ns: u64,
    drains: [Option<ClaimedRecord>; 4],
    drained_ns: u64,
}

impl SignalSafeLossDetector {
    /// Whether it is certain that the descriptor with the record `slot` never ends.
    pub fn is_confirmed(
        &mut self,
        process: &'static Process,
        taken: QueueEntry,
        slot: &RecordSlot,
    ) -> bool {
        let now = now_ns();
        if self.since_ns == 0 {
            self.since_ns = now;
        }
        if now.saturating_sub(self.since_ns) < SUSPICIOUS_NS {
            return false;
        }
        // The record is read last: a descriptor that ended before the queue was checked has one.
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

    /// Submits a drain, which ends after all descriptors that were submitted to the queue before.
    fn drain(&mut self, process: &'static Process, taken: QueueEntry, now: u64) {
        let Some(free) = self.drains.iter_mut().find(|drain| drain.is_none()) else { return };
        let Some(claimed) = process.claim() else { return };
        let drain = Descriptor::of(Opcode::Drain).recording(claimed.slot().address());
        match portals::submit_to(process, taken.number, &drain) {
            Some(submitted) => {
                // No call waits for the drain.
                submitted.release(process);
                self.drained_ns = now;
                *free = Some(claimed);
            }
            None => claimed.release(),
        }
    }

    /// Frees the records of drains that have ended, and leaves the others to the device.
    pub fn settle(self) {
        for drain in self.drains.into_iter().flatten() {
            if drain.slot().status() == 0 { drain.abandon() } else { drain.release() }
        }
    }
}

/// Whether the queue and its device are enabled; true if the system does not report it.
fn is_enabled(taken: QueueEntry) -> bool {
    let reads_enabled =
        |state: &CString| thread_state::without_cancellation(|| is_state_enabled(state));
    taken.known().is_none_or(|known| known.states.iter().all(reads_enabled))
}

/// Whether a file has the state "enabled"; true if it cannot be read.
fn is_state_enabled(file: &CStr) -> bool {
    let mut text = [0_u8; 16];
    // SAFETY: the name ends with zero; the buffer has that size; this function owns the file.
    let read = unsafe {
        let file = libc::open(file.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            // A process may have no file descriptor left; a queue that was removed has no file.
            return std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOENT);
        }
        let read = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        read
    };
    read <= 0 || text.starts_with(b"enabled")
}
