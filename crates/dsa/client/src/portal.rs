//! The portal of an open queue: descriptors are submitted through a mapped page, or through `write`.

#![allow(unsafe_code)]

use crate::error::Error;
use crate::instructions::{self, Instructions};
use crate::queues::{SharingMode, UserQueue, VERSION_1};
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

const PAGE: usize = dsa::hardware::PORTAL_BYTES;
const LINE: usize = 64;

/// How descriptors are submitted to a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubmissionMethod {
    /// By the instruction if the processor has it and the system maps the page, else by `write`.
    #[default]
    Automatic,
    /// By MOVDIR64B or ENQCMD, also if CPUID does not name them.
    Instruction,
    /// By the system call `write`.
    Write,
}

/// An open queue, to which descriptors can be submitted.
#[derive(Debug)]
pub struct QueuePortal {
    queue: UserQueue,
    file: File,
    page: Option<NonNull<u8>>,
    /// Number of the next descriptor, which says where in the page it goes: writes to one address wait for
    /// each other.
    next: AtomicU32,
    /// Descriptors that this process has submitted, and that have not ended.
    under_way: AtomicU32,
}

// SAFETY: the page is memory of a device, to which all threads may write.
unsafe impl Send for QueuePortal {}
// SAFETY: as above.
unsafe impl Sync for QueuePortal {}

impl QueuePortal {
    /// Opens the file of a queue in the directory `devices`, and maps the page of the queue if the method
    /// uses it.
    ///
    /// # Errors
    /// [`Error::Open`] if the file cannot be opened, or if the method is
    /// [`SubmissionMethod::Instruction`] and the page cannot be mapped.
    pub fn open(queue: UserQueue, devices: &Path, how: SubmissionMethod) -> Result<Self, Error> {
        let path = devices.join(&queue.name);
        let refused = |source: std::io::Error| {
            let advice = advice(source.raw_os_error());
            Error::Open { path: path.clone(), source, advice }
        };
        let file = File::options().read(true).write(true).open(&path).map_err(refused)?;
        let here = Instructions::detect();
        let has = match queue.mode {
            SharingMode::Dedicated => here.posts,
            SharingMode::Shared => here.enqueues,
        };
        let page = match how {
            SubmissionMethod::Instruction => Some(map(&file).map_err(refused)?),
            SubmissionMethod::Automatic if has => map(&file).ok(),
            SubmissionMethod::Automatic | SubmissionMethod::Write => None,
        };
        Ok(Self { queue, file, page, next: AtomicU32::new(0), under_way: AtomicU32::new(0) })
    }

    /// Queue to which the portal belongs.
    #[must_use]
    pub fn queue(&self) -> &UserQueue {
        &self.queue
    }

    /// Whether the queue takes an operation that is submitted through this portal. The driver refuses batches
    /// of version 1 that come by `write`, with the answer of a full queue [kernel:
    /// drivers/dma/idxd/cdev.c].
    #[must_use]
    pub fn takes(&self, opcode: Opcode) -> bool {
        let is_let_through = self.is_mapped() || self.queue.version > VERSION_1;
        self.queue.takes(opcode) && (opcode != Opcode::Batch || is_let_through)
    }

    /// Whether descriptors are submitted by an instruction, and not by a system call.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.page.is_some()
    }

    /// Number of descriptors that were submitted through this portal and have not ended.
    #[must_use]
    pub fn under_way(&self) -> u32 {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Submits a descriptor, and returns whether the queue took it. For each descriptor that was taken
    /// [`Self::ended`] has to be called at its end.
    ///
    /// # Safety
    /// The caller answers for the memory that the descriptor names until its record is written.
    pub unsafe fn submit(&self, descriptor: &Descriptor) -> bool {
        if !self.reserve() {
            return false;
        }
        // SAFETY: the caller promises the same.
        let taken = unsafe { self.send(descriptor) };
        if !taken {
            self.ended();
        }
        taken
    }

    /// Submits a descriptor that is not counted, and returns whether the queue took it. A dedicated queue
    /// always seems to.
    ///
    /// # Safety
    /// As for [`Self::submit`].
    pub(crate) unsafe fn submit_beyond(&self, descriptor: &Descriptor) -> bool {
        // SAFETY: the caller promises the same.
        unsafe { self.send(descriptor) }
    }

    /// Counts the end of a descriptor, or its loss.
    pub fn ended(&self) {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
    }

    /// Forgets the mapping without unmapping it, since a child of a fork does not have it.
    pub(crate) fn forget_page(&mut self) {
        self.page = None;
    }

    /// Counts a descriptor, if there is room for it: a dedicated queue drops descriptors silently when it is
    /// full.
    fn reserve(&self) -> bool {
        let before = self.under_way.fetch_add(1, Ordering::Relaxed);
        let has_room = self.queue.mode == SharingMode::Shared || before < self.queue.entries;
        if !has_room {
            self.ended();
        }
        has_room
    }

    unsafe fn send(&self, descriptor: &Descriptor) -> bool {
        let Some(page) = self.page else {
            return matches!((&self.file).write(&descriptor.0), Ok(written) if written >= LINE);
        };
        let line = self.next.fetch_add(1, Ordering::Relaxed) as usize % (PAGE / LINE);
        let portal = page.as_ptr().wrapping_add(line * LINE);
        // SAFETY: a line of the mapped page; the caller answers for the descriptor.
        unsafe {
            match self.queue.mode {
                SharingMode::Shared => instructions::enqueue(portal, descriptor),
                SharingMode::Dedicated => {
                    instructions::post(portal, descriptor);
                    true
                }
            }
        }
    }
}

impl Drop for QueuePortal {
    fn drop(&mut self) {
        if let Some(page) = self.page {
            // SAFETY: this portal owns the mapping.
            unsafe { libc::munmap(page.as_ptr().cast(), PAGE) };
        }
    }
}

fn map(file: &File) -> std::io::Result<NonNull<u8>> {
    let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let page = unsafe {
        libc::mmap(std::ptr::null_mut(), PAGE, libc::PROT_WRITE, flags, file.as_raw_fd(), 0)
    };
    if page == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    NonNull::new(page.cast()).ok_or_else(|| std::io::Error::from_raw_os_error(libc::ENOMEM))
}

fn advice(number: Option<i32>) -> &'static str {
    match number {
        Some(libc::EBUSY) => "; a dedicated queue is for one process, and another one has it open",
        Some(libc::EACCES) => "; give the user access to the file: chgrp, chmod or a udev rule",
        Some(libc::EPERM) => {
            "; this kernel lets only processes with CAP_SYS_RAWIO map queues (INTEL-SA-01084)"
        }
        Some(libc::ENOENT | libc::ENXIO) => "; the queue is not enabled: accel-config enable-wq",
        _ => "",
    }
}
