//! The mapped page of a queue in one process.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// Most queues that a process uses.
pub const MOST_QUEUES: usize = 32;
const PAGE: usize = dsa::hardware::PORTAL_BYTES;
const LINE: usize = 64;

/// State of a queue in a process. All bits zero: the queue is not open.
#[repr(C)]
pub struct OpenQueue {
    page: AtomicPtr<u8>,
    /// Number of the next descriptor, which says where in the page it goes: writes to one address wait
    /// for each other.
    next: AtomicU32,
    under_way: AtomicU32,
}

impl OpenQueue {
    /// Sets the mapped page; null closes the queue.
    pub fn set_page(&self, page: *mut u8) {
        self.page.store(page, Ordering::Release);
    }

    /// Marks the queue as not open. Its page stays mapped.
    pub fn close(&self) {
        self.set_page(null_mut());
    }

    /// Whether the queue has a page.
    pub fn is_open(&self) -> bool {
        !self.page.load(Ordering::Relaxed).is_null()
    }

    /// The address of the page, for a queue that is open.
    pub fn page(&self) -> Option<NonNull<u8>> {
        NonNull::new(self.page.load(Ordering::Acquire))
    }

    /// The line of a page that the next descriptor is written to.
    pub fn next_line(&self, page: NonNull<u8>) -> *mut u8 {
        let line = self.next.fetch_add(1, Ordering::Relaxed) as usize % (PAGE / LINE);
        page.as_ptr().wrapping_add(line * LINE)
    }

    /// Counts a descriptor, and returns how many were under way before it.
    pub fn count(&self) -> u32 {
        self.under_way.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes back the count of a descriptor that has ended, was lost, or was not taken.
    pub fn uncount(&self) {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
    }

    /// Number of descriptors of this process that are under way.
    pub fn under_way(&self) -> u32 {
        self.under_way.load(Ordering::Relaxed)
    }
}
