//! The mapped page of a queue, to which descriptors are written, and the share of the queue's entries that
//! this process has taken. Nothing is allocated here, and no lock is taken.

#![allow(unsafe_code)]

use crate::instructions;
use crate::queues::{SharingMode, UserQueue};
use dsa::descriptor::Descriptor;
use std::ffi::c_int;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

const PAGE: usize = dsa::hardware::PORTAL_BYTES;
const LINE: usize = 64;

/// The page of a queue in one process, and its descriptors under way. All bits zero: the queue is not mapped.
#[derive(Debug, Default)]
#[repr(C)]
pub struct PortalPage {
    page: AtomicPtr<u8>,
    /// Number of the next descriptor, which says where in the page it goes: writes to one address wait for
    /// each other.
    next: AtomicU32,
    under_way: AtomicU32,
}

impl PortalPage {
    /// Maps the page of the queue whose file is open, and returns whether the system maps it; if not, errno
    /// says why.
    pub fn map(&self, file: c_int) -> bool {
        let (protection, flags) = (libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let page = unsafe { libc::mmap(null_mut(), PAGE, protection, flags, file, 0) };
        let is_mapped = page != libc::MAP_FAILED;
        if is_mapped {
            self.page.store(page.cast(), Ordering::Release);
        }
        is_mapped
    }

    /// Forgets the mapping without unmapping it: a child of a fork does not have it.
    pub fn forget(&self) {
        self.page.store(null_mut(), Ordering::Release);
    }

    /// Unmaps the page, if there is one. No other thread may be submitting.
    pub fn unmap(&self) {
        if let Some(page) = NonNull::new(self.page.swap(null_mut(), Ordering::AcqRel)) {
            // SAFETY: this page owns the mapping.
            unsafe { libc::munmap(page.as_ptr().cast(), PAGE) };
        }
    }

    /// Address of the page; `None` if there is none.
    #[must_use]
    pub fn address(&self) -> Option<NonNull<u8>> {
        NonNull::new(self.page.load(Ordering::Acquire))
    }

    /// Whether descriptors can be written to the page.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        !self.page.load(Ordering::Relaxed).is_null()
    }

    /// Number of descriptors of this process that are under way.
    #[must_use]
    pub fn under_way(&self) -> u32 {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Takes an entry of the queue, and returns whether there is one: a dedicated queue drops descriptors
    /// silently when it is full. Each entry that was taken has to be given back by [`Self::release`].
    pub fn reserve(&self, queue: &UserQueue) -> bool {
        let before = self.under_way.fetch_add(1, Ordering::Relaxed);
        let has_room = queue.mode == SharingMode::Shared || before < queue.entries;
        if !has_room {
            self.release();
        }
        has_room
    }

    /// Gives an entry back whose descriptor has ended, was lost, or was not taken.
    pub fn release(&self) {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes an entry and writes a descriptor, and returns whether the queue has taken it; if not, the entry
    /// is free again.
    ///
    /// # Safety
    /// The caller answers for the memory that the descriptor names until its record is written.
    pub unsafe fn submit(&self, queue: &UserQueue, descriptor: &Descriptor) -> bool {
        if !self.reserve(queue) {
            return false;
        }
        // SAFETY: the caller promises the same.
        let is_taken = unsafe { self.write(queue.mode, descriptor) } == Some(true);
        if !is_taken {
            self.release();
        }
        is_taken
    }

    /// Writes a descriptor to the page, and returns whether the queue has taken it, which a dedicated queue
    /// always seems to; `None` if there is no page.
    ///
    /// # Safety
    /// As for [`Self::submit`].
    pub unsafe fn write(&self, mode: SharingMode, descriptor: &Descriptor) -> Option<bool> {
        let line = self.next.fetch_add(1, Ordering::Relaxed) as usize % (PAGE / LINE);
        // SAFETY: the caller promises the same.
        unsafe { self.write_at(line, mode, descriptor) }
    }

    /// As [`Self::write`], to a line of the page by its number, which is below the lines of a page.
    ///
    /// # Safety
    /// As for [`Self::submit`].
    pub unsafe fn write_at(
        &self,
        line: usize,
        mode: SharingMode,
        descriptor: &Descriptor,
    ) -> Option<bool> {
        let page = self.address()?;
        let portal = page.as_ptr().wrapping_add(line % (PAGE / LINE) * LINE);
        // SAFETY: a line of the mapped page; the caller answers for the descriptor.
        Some(unsafe {
            match mode {
                SharingMode::Shared => instructions::enqueue(portal, descriptor),
                SharingMode::Dedicated => {
                    instructions::post(portal, descriptor);
                    true
                }
            }
        })
    }
}

/// The order in which queues are preferred, the least first: those on the node of this CPU, if it is known,
/// then those with the smallest share of their entries in use.
#[must_use]
pub fn load(queue: &UserQueue, under_way: u32, here: Option<u32>) -> (bool, u64) {
    let is_far = here.is_some() && queue.node.is_some_and(|node| Some(node) != here);
    (is_far, u64::from(under_way) * 256 / u64::from(queue.entries.max(1)))
}
