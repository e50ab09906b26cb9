//! The portal of an open queue: descriptors are submitted through a mapped page, or through `write`.

#![allow(unsafe_code)]

use crate::drains::LossDrains;
use crate::error::Error;
use crate::instructions::Instructions;
use crate::lost_descriptor::DrainedQueue;
use crate::portal_page::PortalPage;
use crate::queue_state::QueueStateFiles;
use crate::queues::{SharingMode, UserQueue, VERSION_1};
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Bytes of a descriptor.
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
    states: QueueStateFiles,
    /// `None` once the portal was closed.
    file: Option<File>,
    page: PortalPage,
    /// Whether all descriptors go to the first line of the page.
    has_fixed_address: bool,
    drains: Box<LossDrains>,
}

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
        let page = PortalPage::default();
        let map = || page.map(file.as_raw_fd());
        match how {
            SubmissionMethod::Instruction if !map() => {
                return Err(refused(std::io::Error::last_os_error()));
            }
            SubmissionMethod::Automatic if has => {
                map();
            }
            _ => {}
        }
        let states = queue.state_files();
        let file = Some(file);
        Ok(Self { queue, states, file, page, has_fixed_address: false, drains: Box::default() })
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
        self.page.is_mapped()
    }

    /// Number of descriptors that were submitted through this portal and have not ended.
    #[must_use]
    pub fn under_way(&self) -> u32 {
        self.page.under_way()
    }

    /// Has all descriptors written to one address of the portal, where each waits for the one before. Without
    /// it the address moves from one descriptor to the next.
    pub fn fix_address(&mut self) {
        self.has_fixed_address = true;
    }

    /// Submits a descriptor, and returns whether the queue took it. For each descriptor that was taken
    /// [`Self::ended`] has to be called at its end.
    ///
    /// # Safety
    /// The caller answers for the memory that the descriptor names until its record is written.
    pub unsafe fn submit(&self, descriptor: &Descriptor) -> bool {
        if !self.page.reserve(&self.queue) {
            return false;
        }
        // SAFETY: the caller promises the same.
        let taken = unsafe { self.send(descriptor) };
        if !taken {
            self.ended();
        }
        taken
    }

    /// Counts the end of a descriptor, or its loss.
    pub fn ended(&self) {
        self.page.release();
    }

    /// Forgets the mapping without unmapping it, since a child of a fork does not have it.
    pub(crate) fn forget_page(&self) {
        self.page.forget();
    }

    /// Closes the queue, which takes no descriptor from then on. The driver returns from that when no descriptor
    /// of this process is under way, unless a forked child has the file open as well [kernel:
    /// drivers/dma/idxd/cdev.c].
    pub(crate) fn close(&mut self) {
        self.page.unmap();
        self.file = None;
    }

    unsafe fn send(&self, descriptor: &Descriptor) -> bool {
        let by_system_call = || {
            let file = self.file.as_ref();
            let written = file.map(|mut file| file.write(&descriptor.0));
            matches!(written, Some(Ok(written)) if written >= LINE)
        };
        let mode = self.queue.mode;
        // SAFETY: the caller promises the same.
        let taken = unsafe {
            match self.has_fixed_address {
                true => self.page.write_at(0, mode, descriptor),
                false => self.page.write(mode, descriptor),
            }
        };
        taken.unwrap_or_else(by_system_call)
    }
}

impl DrainedQueue for QueuePortal {
    fn drains(&self) -> &LossDrains {
        &self.drains
    }

    fn submit_drain(&self, drain: &Descriptor) -> bool {
        // SAFETY: a drain names its record only, which is kept until it is written, or left to the device.
        unsafe { self.send(drain) }
    }

    fn is_enabled(&self) -> bool {
        self.states.are_enabled()
    }
}

impl Drop for QueuePortal {
    /// Leaks the records of drains that the device has not written yet, since it may still do so.
    fn drop(&mut self) {
        self.page.unmap();
        if self.drains.are_under_way() {
            Box::leak(std::mem::take(&mut self.drains));
        }
    }
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
