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
use dsa::hardware::PORTAL_BYTES;
use dsa_client::instructions::{self, Instructions};
use dsa_client::queues::{self, SharingMode, UserQueue};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

/// A queue that the settings allow.
pub struct KnownQueue {
    pub queue: UserQueue,
    file: CString,
    /// The files with the states of the queue and of its device.
    pub states: [CString; 2],
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
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).ok();
    Some(KnownQueue {
        file: text(&Path::new(queues::DEVICES).join(&queue.name))?,
        states: [
            text(&queue.directory.join("state"))?,
            text(&queue.device_directory.join("state"))?,
        ],
        queue,
    })
}

/// Maps the page of a queue; null if the system does not map it.
pub fn map(known: &KnownQueue) -> *mut u8 {
    let (protection, flags) = (libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
    // SAFETY: the name ends with zero; a new mapping at an address that the kernel chooses; this function
    // owns the file.
    unsafe {
        let file = libc::open(known.file.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if file < 0 {
            return std::ptr::null_mut();
        }
        let page = libc::mmap(std::ptr::null_mut(), PORTAL_BYTES, protection, flags, file, 0);
        libc::close(file);
        if page == libc::MAP_FAILED { std::ptr::null_mut() } else { page.cast() }
    }
}

/// The entry that a descriptor takes in a queue.
#[derive(Clone, Copy)]
pub struct QueueEntry {
    /// Number of the queue among the known ones.
    pub number: usize,
}

impl QueueEntry {
    /// Queue in which the descriptor takes the entry.
    pub fn known(self) -> Option<&'static KnownQueue> {
        known().get(self.number)
    }

    /// Counts the end of the descriptor, or its loss.
    pub fn release(self, process: &Process) {
        if let Some(open) = process.queues.get(self.number) {
            open.uncount();
        }
    }
}

/// Submits a descriptor to the queue with the smallest share of its entries in use, on the node of this
/// CPU if that node has one; `None` if no queue takes it.
pub fn submit(
    process: &Process,
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
pub fn submit_to(process: &Process, number: usize, descriptor: &Descriptor) -> Option<QueueEntry> {
    let (known, open) = (known().get(number)?, process.queues.get(number)?);
    let page = open.page()?;
    let before = open.count();
    let portal = open.next_line(page);
    // SAFETY: a line of the mapped page; the descriptor names memory of a call that waits for its end.
    let is_taken = unsafe {
        match known.queue.mode {
            SharingMode::Shared => instructions::enqueue(portal, descriptor),
            // A dedicated queue without room drops descriptors silently.
            SharingMode::Dedicated if before >= known.queue.entries => false,
            SharingMode::Dedicated => {
                instructions::post(portal, descriptor);
                true
            }
        }
    };
    let taken = QueueEntry { number };
    if !is_taken {
        taken.release(process);
    }
    is_taken.then_some(taken)
}

fn best(process: &Process, bit: u64) -> Option<usize> {
    let here = dsa_client::nodes::current_node(nodes());
    let all = known().iter().zip(&process.queues).enumerate();
    let able = all.filter(|(_, (known, open))| known.queue.operations & bit != 0 && open.is_open());
    let load = |(_, (known, open)): &(usize, (&KnownQueue, &OpenQueue))| {
        let queue = &known.queue;
        let is_far = here.is_some() && queue.node.is_some_and(|node| Some(node) != here);
        let under_way = u64::from(open.under_way());
        (is_far, under_way * 256 / u64::from(queue.entries.max(1)))
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
