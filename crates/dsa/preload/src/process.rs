//! The state of devices in one process, in memory that the kernel clears in children of a fork.
//!
//! A child has no portals and no descriptors under way, and counts from 0: zeroed memory means exactly
//! that. It opens queues itself if the settings say so, else the CPU processes its calls.
//!
//! A child of `vfork` shares the memory of its parent, and may use the queues that its parent has opened.

use crate::counts::CallCounts;
use crate::open_queue::{MOST_QUEUES, OpenQueue};
use dsa_client::record_slot::RecordSlot;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// Completion records of a process, and so most descriptors under way at a time.
const SLOTS: usize = 256;

/// The state of a process. All bits are zero in a new process.
#[repr(C)]
pub struct Process {
    slots: [RecordSlot; SLOTS],
    used: [AtomicU64; SLOTS / 64],
    pub queues: [OpenQueue; MOST_QUEUES],
    /// Whether any queue is open.
    pub is_open: AtomicBool,
    pub counts: CallCounts,
}

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());

/// The state of this process; `None` before `main`, and on kernels that cannot clear memory.
#[inline]
pub fn current() -> Option<&'static Process> {
    // SAFETY: memory that is never unmapped; all of its fields are atomic.
    unsafe { PROCESS.load(Ordering::Acquire).as_ref() }
}

/// Makes the state of this process.
pub fn prepare() {
    let bytes = size_of::<Process>();
    // SAFETY: a new mapping at an address that the kernel chooses.
    let made = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let made = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0);
        if made == libc::MAP_FAILED {
            return;
        }
        if libc::madvise(made, bytes, libc::MADV_WIPEONFORK) != 0 {
            libc::munmap(made, bytes);
            return;
        }
        made
    };
    PROCESS.store(made.cast(), Ordering::Release);
}

/// A record that belongs to one descriptor.
pub struct ClaimedRecord {
    process: &'static Process,
    number: usize,
}

impl Process {
    /// Claims a record; `None` if all are in use.
    pub fn claim(&'static self) -> Option<ClaimedRecord> {
        for (word_number, word) in self.used.iter().enumerate() {
            let mut before = word.load(Ordering::Relaxed);
            while before != u64::MAX {
                let bit = before.trailing_ones();
                let after = before | 1 << bit;
                match word.compare_exchange_weak(before, after, Ordering::AcqRel, Ordering::Relaxed)
                {
                    Ok(_) => {
                        let number = word_number * 64 + bit as usize;
                        let claimed = ClaimedRecord { process: self, number };
                        // The write also brings the page in, before a device writes it.
                        claimed.slot().clear();
                        return Some(claimed);
                    }
                    Err(other) => before = other,
                }
            }
        }
        None
    }
}

impl ClaimedRecord {
    /// The memory of the record.
    #[inline]
    pub fn slot(&self) -> &'static RecordSlot {
        &self.process.slots[self.number]
    }

    /// Gives the record back, once its descriptor has ended.
    pub fn release(self) {
        let bit = 1_u64 << (self.number % 64);
        self.process.used[self.number / 64].fetch_and(!bit, Ordering::AcqRel);
    }

    /// Leaves the record to the device for ever, which may still write it.
    pub fn abandon(self) {}
}
