//! The queues of a system, and a process's mapped pages of them.
//!
//! They are found and mapped before `main`: later the program may hold locks that a device in software
//! needs, or have given up the right to open files. Their files are closed at once, since a program may count its
//! open files, or close those that it did not open; the mapping keeps the queue open. Where the system
//! maps no page, the CPU does all: descriptors by `write` would need a file that stays open.

use crate::callers;
use crate::open_queue::{MOST_QUEUES, OpenQueue};
use crate::process::Process;
use crate::settings::Settings;
use dsa::descriptor::Descriptor;
use dsa::hardware::PORTAL_BYTES;
use dsa_client::instructions::{self, Instructions};
use dsa_client::queues::{self, Mode, Queue};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

/// A queue that may be used.
pub struct Known {
    pub queue: Queue,
    file: CString,
    /// What says whether queue and device are enabled.
    pub states: [CString; 2],
}

static KNOWN: OnceLock<Vec<Known>> = OnceLock::new();

/// Those of the system that are to be used.
#[inline]
pub fn known() -> &'static [Known] {
    KNOWN.get().map_or(&[], Vec::as_slice)
}

/// Reads which queues there are, and returns what is wrong with those that the settings name.
pub fn find(settings: &Settings) -> Vec<String> {
    let mut troubles = Vec::new();
    let found = queues::find(Path::new(queues::SYSFS)).unwrap_or_else(|error| {
        troubles.push(error.to_string());
        Vec::new()
    });
    let here = Instructions::here();
    let has_software_device = callers::has_software_device();
    let is_usable = |queue: &Queue| {
        has_software_device
            || match queue.mode {
                Mode::Shared => here.enqueues,
                Mode::Dedicated => here.posts,
            }
    };
    // A dedicated queue is for one process: the first program of a system would take it from all others.
    let is_wanted = |queue: &Queue| match &settings.queues {
        None => queue.mode == Mode::Shared,
        Some(names) => names.contains(&queue.name),
    };
    for name in settings.queues.iter().flatten() {
        if !found.iter().any(|queue| queue.name == *name) {
            troubles.push(format!("{name}: no enabled work queue of type user has this name"));
        }
    }
    let wanted = found.into_iter().filter(|queue| is_wanted(queue) && is_usable(queue));
    let known = wanted.take(MOST_QUEUES).filter_map(of).collect();
    let _ = KNOWN.set(known);
    troubles
}

fn of(queue: Queue) -> Option<Known> {
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).ok();
    Some(Known {
        file: text(&Path::new(queues::DEVICES).join(&queue.name))?,
        states: [
            text(&queue.directory.join("state"))?,
            text(&queue.device_directory.join("state"))?,
        ],
        queue,
    })
}

/// Maps a queue's page; null if the system does not.
pub fn map(known: &Known) -> *mut u8 {
    let (protection, flags) = (libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
    // SAFETY: the name ends with zero; a new mapping, where the kernel likes; the file is this one's own.
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

/// A queue that has taken a descriptor.
#[derive(Clone, Copy)]
pub struct Taken {
    pub number: usize,
}

impl Taken {
    pub fn known(self) -> Option<&'static Known> {
        known().get(self.number)
    }

    /// Says that its descriptor has ended, or never will.
    pub fn ended(self, process: &Process) {
        if let Some(open) = process.queues.get(self.number) {
            open.uncount();
        }
    }
}

/// Submits a descriptor to the queue with the smallest part of it in use, of the node of this CPU if one
/// is there; `None` if none takes it.
pub fn submit(process: &Process, descriptor: &Descriptor, bit: u64, retries: u32) -> Option<Taken> {
    for _ in 0..=retries {
        let taken = submit_to(process, best(process, bit)?, descriptor);
        if taken.is_some() {
            return taken;
        }
        std::hint::spin_loop();
    }
    None
}

/// Submits a descriptor to a queue.
pub fn submit_to(process: &Process, number: usize, descriptor: &Descriptor) -> Option<Taken> {
    let (known, open) = (known().get(number)?, process.queues.get(number)?);
    let page = open.page()?;
    let before = open.count();
    let portal = open.next_line(page);
    // SAFETY: a line of the mapped page; the descriptor names memory of a call that waits for its end.
    let is_taken = unsafe {
        match known.queue.mode {
            Mode::Shared => instructions::enqueue(portal, descriptor),
            // What it has no room for it drops, and does not say so.
            Mode::Dedicated if before >= known.queue.entries => false,
            Mode::Dedicated => {
                instructions::post(portal, descriptor);
                true
            }
        }
    };
    let taken = Taken { number };
    if !is_taken {
        taken.ended(process);
    }
    is_taken.then_some(taken)
}

fn best(process: &Process, bit: u64) -> Option<usize> {
    let here = dsa_client::nodes::here(nodes());
    let all = known().iter().zip(&process.queues).enumerate();
    let able = all.filter(|(_, (known, open))| known.queue.operations & bit != 0 && open.is_open());
    let load = |(_, (known, open)): &(usize, (&Known, &OpenQueue))| {
        let queue = &known.queue;
        let is_far = here.is_some() && queue.node.is_some_and(|node| Some(node) != here);
        let under_way = u64::from(open.under_way());
        (is_far, under_way * 256 / u64::from(queue.entries.max(1)))
    };
    able.min_by_key(load).map(|(number, _)| number)
}

static NODES: OnceLock<Vec<Option<u32>>> = OnceLock::new();

/// Reads which CPU is of which node.
pub fn find_nodes() {
    let _ = NODES.set(dsa_client::nodes::of_cpus());
}

fn nodes() -> &'static [Option<u32>] {
    NODES.get().map_or(&[], Vec::as_slice)
}

/// Largest transfer that every queue takes, in bytes.
pub fn most_transfer_bytes() -> u64 {
    known().iter().map(|known| known.queue.most_transfer_bytes).min().unwrap_or(1 << 21)
}
