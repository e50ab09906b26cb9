//! A queue that is open: descriptors get to its device through a mapped page, or through `write`.

#![allow(unsafe_code)]

use crate::error::Error;
use crate::instructions::{self, Instructions};
use crate::queues::{Mode, Queue, VERSION_1};
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

/// How descriptors get to a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Submission {
    /// By the instruction where the processor has it and the system maps the page, else by `write`.
    #[default]
    Automatic,
    /// By MOVDIR64B or ENQCMD, also if CPUID does not name them.
    Instruction,
    /// By `write`, a system call.
    Write,
}

/// An open queue.
#[derive(Debug)]
pub struct Portal {
    queue: Queue,
    file: File,
    page: Option<NonNull<u8>>,
    /// Where in the page the next descriptor goes: writes to one address wait for each other.
    next: AtomicU32,
    /// Descriptors that this process has submitted, and that have not ended.
    under_way: AtomicU32,
}

// SAFETY: the page is a device's, which all threads may write to.
unsafe impl Send for Portal {}
// SAFETY: as above.
unsafe impl Sync for Portal {}

impl Portal {
    /// Opens a queue's file below `devices`, and maps its page if it is to be used.
    ///
    /// # Errors
    /// [`Error::Open`]; for [`Submission::Instruction`] also if the page cannot be mapped.
    pub fn open(queue: Queue, devices: &Path, how: Submission) -> Result<Self, Error> {
        let path = devices.join(&queue.name);
        let refused = |source: std::io::Error| {
            let advice = advice(source.raw_os_error());
            Error::Open { path: path.clone(), source, advice }
        };
        let file = File::options().read(true).write(true).open(&path).map_err(refused)?;
        let here = Instructions::here();
        let has = match queue.mode {
            Mode::Dedicated => here.posts,
            Mode::Shared => here.enqueues,
        };
        let page = match how {
            Submission::Instruction => Some(map(&file).map_err(refused)?),
            Submission::Automatic if has => map(&file).ok(),
            Submission::Automatic | Submission::Write => None,
        };
        Ok(Self { queue, file, page, next: AtomicU32::new(0), under_way: AtomicU32::new(0) })
    }

    /// Its queue.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Whether its queue takes an operation on this way. The driver lets no batches of version 1 through
    /// `write`, whose answer would look like that of a full queue [kernel: drivers/dma/idxd/cdev.c].
    #[must_use]
    pub fn takes(&self, opcode: Opcode) -> bool {
        let is_let_through = self.is_mapped() || self.queue.version > VERSION_1;
        self.queue.takes(opcode) && (opcode != Opcode::Batch || is_let_through)
    }

    /// Whether descriptors get to it by an instruction, and not by a system call.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.page.is_some()
    }

    /// Descriptors of this process that have not ended.
    #[must_use]
    pub fn under_way(&self) -> u32 {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Submits a descriptor: whether the queue took it. Each one that it took has to be given back by
    /// [`Self::ended`].
    ///
    /// # Safety
    /// The caller answers for the memory that the descriptor names until its record is written.
    pub unsafe fn submit(&self, descriptor: &Descriptor) -> bool {
        if !self.reserve() {
            return false;
        }
        // SAFETY: handed on.
        let taken = unsafe { self.send(descriptor) };
        if !taken {
            self.ended();
        }
        taken
    }

    /// Submits a descriptor that is not counted: whether the queue took it, or may have.
    ///
    /// # Safety
    /// As [`Self::submit`].
    pub(crate) unsafe fn submit_beyond(&self, descriptor: &Descriptor) -> bool {
        // SAFETY: handed on.
        unsafe { self.send(descriptor) }
    }

    /// Says that a descriptor has ended, or will never.
    pub fn ended(&self) {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
    }

    /// Leaves the mapping alone, which a child of a fork does not have.
    pub(crate) fn forget_page(&mut self) {
        self.page = None;
    }

    /// Counts a descriptor. A dedicated queue drops what it has no room for, and does not say so.
    fn reserve(&self) -> bool {
        let before = self.under_way.fetch_add(1, Ordering::Relaxed);
        let has_room = self.queue.mode == Mode::Shared || before < self.queue.entries;
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
        // SAFETY: a line of the mapped page; the descriptor is the caller's.
        unsafe {
            match self.queue.mode {
                Mode::Shared => instructions::enqueue(portal, descriptor),
                Mode::Dedicated => {
                    instructions::post(portal, descriptor);
                    true
                }
            }
        }
    }
}

impl Drop for Portal {
    fn drop(&mut self) {
        if let Some(page) = self.page {
            // SAFETY: the mapping is this portal's own.
            unsafe { libc::munmap(page.as_ptr().cast(), PAGE) };
        }
    }
}

fn map(file: &File) -> std::io::Result<NonNull<u8>> {
    let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
    // SAFETY: a new mapping, where the kernel likes.
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
