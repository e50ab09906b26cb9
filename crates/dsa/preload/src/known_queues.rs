//! The queues of a system, and submission to their mapped pages.
//!
//! Queues are found and mapped before `main`: later the program may have taken locks that a software
//! device needs, or have given up the right to open files. The files of queues are closed at once, since
//! a program may count its open files, or close those that it did not open; the mapping keeps the queue
//! open. If the system maps no page, the CPU processes all calls: descriptors by `write` would need a
//! file that stays open.

use crate::excluded_callers;
use crate::open_queue::{MOST_QUEUES, OpenQueue};
use crate::process::Process;
use crate::settings::PreloadSettings;
use dsa::descriptor::Descriptor;
use dsa_client::drains::LossDrains;
use dsa_client::instructions::Instructions;
use dsa_client::lost_descriptor::DrainedQueue;
use dsa_client::portal_page::{PortalPage, load};
use dsa_client::queue_state::QueueStateFiles;
use dsa_client::queues::{self, SharingMode, UserQueue};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

/// A queue that the settings allow.
pub struct KnownQueue {
    pub queue: UserQueue,
    file: CString,
    states: QueueStateFiles,
}

static KNOWN: OnceLock<Vec<KnownQueue>> = OnceLock::new();

/// The queues of the system that are used.
#[inline]
pub fn known() -> &'static [KnownQueue] {
    KNOWN.get().map_or(&[], Vec::as_slice)
}

/// Finds the queues of the system that the settings allow, and returns the problems with those that the
/// settings name.
pub fn find(settings: &PreloadSettings) -> Vec<String> {
    let mut troubles = Vec::new();
    let found = queues::find(Path::new(queues::SYSFS)).unwrap_or_else(|error| {
        troubles.push(error.to_string());
        Vec::new()
    });
    let here = Instructions::detect();
    let has_software_device = excluded_callers::has_software_device();
    let is_usable = |queue: &UserQueue| {
        has_software_device
            || match queue.mode {
                SharingMode::Shared => here.enqueues,
                SharingMode::Dedicated => here.posts,
            }
    };
    // A dedicated queue is for one process: it is used only if the settings name it, or the first program
    // of a system would take it from all others.
    let is_wanted = |queue: &UserQueue| match &settings.queues {
        None => queue.mode == SharingMode::Shared,
        Some(names) => names.contains(&queue.name),
    };
    for name in settings.queues.iter().flatten() {
        if !found.iter().any(|queue| queue.name == *name) {
            troubles.push(format!("{name}: no enabled work queue of type user has this name"));
        }
    }
    let wanted = found.into_iter().filter(|queue| is_wanted(queue) && is_usable(queue));
    let known = wanted.take(MOST_QUEUES).filter_map(known_queue).collect();
    let _ = KNOWN.set(known);
    troubles
}

fn known_queue(queue: UserQueue) -> Option<KnownQueue> {
    let path = Path::new(queues::DEVICES).join(&queue.name);
    Some(KnownQueue {
        file: CString::new(path.as_os_str().as_bytes()).ok()?,
        states: queue.state_files(),
        queue,
    })
}

/// Maps the page of a queue, and returns whether the system maps it.
pub fn map(known: &KnownQueue, page: &PortalPage) -> bool {
    // SAFETY: the name ends with zero; this function owns the file.
    unsafe {
        let file = libc::open(known.file.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if file < 0 {
            return false;
        }
        let is_mapped = page.map(file);
        libc::close(file);
        is_mapped
    }
}

/// The queue in which a descriptor takes an entry.
#[derive(Clone, Copy)]
pub struct QueueEntry {
    known: &'static KnownQueue,
    open: &'static OpenQueue,
}

impl QueueEntry {
    /// Counts the end of the descriptor, or its loss.
    pub fn release(self) {
        self.open.page.release();
    }
}

impl DrainedQueue for QueueEntry {
    fn drains(&self) -> &LossDrains {
        &self.open.drains
    }

    fn submit_drain(&self, drain: &Descriptor) -> bool {
        // SAFETY: a drain names its record only, whose memory is never unmapped.
        unsafe { self.open.page.write(self.known.queue.mode, drain) == Some(true) }
    }

    fn is_enabled(&self) -> bool {
        self.known.states.are_enabled()
    }
}

/// Submits a descriptor to the queue with the smallest share of its entries in use, on the node of this
/// CPU if that node has one; `None` if no queue takes it.
pub fn submit(
    process: &'static Process,
    descriptor: &Descriptor,
    bit: u64,
    retries: u32,
) -> Option<QueueEntry> {
    for _ in 0..=retries {
        let taken = submit_to(process, best(process, bit)?, descriptor);
        if taken.is_some() {
            return taken;
        }
        std::hint::spin_loop();
    }
    None
}

/// Submits a descriptor to a queue; `None` if the queue is not open, or full.
pub fn submit_to(
    process: &'static Process,
    number: usize,
    descriptor: &Descriptor,
) -> Option<QueueEntry> {
    let (known, open) = (known().get(number)?, process.queues.get(number)?);
    // SAFETY: the descriptor names memory of a call that waits for its end.
    let is_taken = unsafe { open.page.submit(&known.queue, descriptor) };
    is_taken.then_some(QueueEntry { known, open })
}

fn best(process: &Process, bit: u64) -> Option<usize> {
    let here = dsa_client::nodes::current_node(nodes());
    let all = known().iter().zip(&process.queues).enumerate();
    let able =
        all.filter(|(_, (known, open))| known.queue.operations & bit != 0 && open.page.is_mapped());
    let load = |(_, (known, open)): &(usize, (&KnownQueue, &OpenQueue))| {
        load(&known.queue, open.page.under_way(), here)
    };
    able.min_by_key(load).map(|(number, _)| number)
}

static NODES: OnceLock<Vec<Option<u32>>> = OnceLock::new();

/// Reads the NUMA node of each CPU.
pub fn find_nodes() {
    let _ = NODES.set(dsa_client::nodes::read_nodes());
}

fn nodes() -> &'static [Option<u32>] {
    NODES.get().map_or(&[], Vec::as_slice)
}

/// Largest transfer in bytes that every queue allows.
pub fn most_transfer_bytes() -> u64 {
    known().iter().map(|known| known.queue.most_transfer_bytes).min().unwrap_or(1 << 21)
}
