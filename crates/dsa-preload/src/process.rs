//! What a process has of devices, in memory that the kernel clears in children of a fork.
//!
//! A child has no portals, its parent's descriptors are none of its own, and it counts from 0: all of that
//! is what zeroed memory says. It opens queues itself if the settings say so, else the CPU does its calls.
//!
//! A child of `vfork` has its parent's memory, and may use what its parent has opened.

use crate::counts::Counts;
use crate::open_queue::{MOST_QUEUES, OpenQueue};
use dsa_client::record_slot::Slot;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// Records that threads of a process wait for at a time.
const SLOTS: usize = 256;

/// All bits zero in a new process.
#[repr(C)]
pub struct Process {
    slots: [Slot; SLOTS],
    used: [AtomicU64; SLOTS / 64],
    pub queues: [OpenQueue; MOST_QUEUES],
    /// Whether a queue is open.
    pub is_open: AtomicBool,
    pub counts: Counts,
}

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());

/// That of this process; `None` before `main`, and where the kernel cannot clear memory.
#[inline]
pub fn current() -> Option<&'static Process> {
    // SAFETY: memory that is never unmapped; all of its parts are atomic.
    unsafe { PROCESS.load(Ordering::Acquire).as_ref() }
}

/// Makes it.
pub fn prepare() {
    let bytes = size_of::<Process>();
    // SAFETY: a new mapping, where the kernel likes.
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
pub struct Claimed {
    process: &'static Process,
    number: usize,
}

impl Process {
    /// Takes a record; `None` if all are taken.
    pub fn claim(&'static self) -> Option<Claimed> {
        for (word_number, word) in self.used.iter().enumerate() {
            let mut before = word.load(Ordering::Relaxed);
            while before != u64::MAX {
                let bit = before.trailing_ones();
                let after = before | 1 << bit;
                match word.compare_exchange_weak(before, after, Ordering::AcqRel, Ordering::Relaxed)
                {
                    Ok(_) => {
                        let number = word_number * 64 + bit as usize;
                        let claimed = Claimed { process: self, number };
                        // Its page is there before a device writes it.
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

impl Claimed {
    #[inline]
    pub fn slot(&self) -> &'static Slot {
        &self.process.slots[self.number]
    }

    /// Gives it back, once its descriptor has ended.
    pub fn release(self) {
        let bit = 1_u64 << (self.number % 64);
        self.process.used[self.number / 64].fetch_and(!bit, Ordering::AcqRel);
    }

    /// Leaves it to the device for ever: it may write it still.
    pub fn abandon(self) {}
}
