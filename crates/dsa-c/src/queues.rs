//! `skd_queue_*`: the queues of a client, and those of the system.
#![allow(unsafe_code)]

use crate::boundary::{Failure, count_of, guarded, put, write_text};
use crate::client::{ClientHandle, with_client};
use crate::sized::{Out, Sized32};
use dsa_client::queues::{Mode, Queue, SYSFS, find};
use libc::{c_char, c_int};
use std::path::Path;

/// A queue of one process, by posted writes.
pub const SKD_DEDICATED: u32 = 0;
/// A queue of all processes, by ENQCMD.
pub const SKD_SHARED: u32 = 1;

/// A work queue. Made by skd_queue_new().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct QueueOfC {
    /// Bytes of this structure.
    pub size: u32,
    /// SKD_DEDICATED, SKD_SHARED.
    pub mode: u32,
    /// Its name, like `wq0.1`.
    pub name: [c_char; 24],
    /// The name of its device, like `dsa0`.
    pub device: [c_char; 24],
    /// The name that its administrator gave it.
    pub label: [c_char; 64],
    /// Descriptors that it holds.
    pub entries: u32,
    /// Largest batch, in descriptors; 0 and 1: none.
    pub most_batch: u32,
    /// Largest transfer of a descriptor, in bytes.
    pub most_transfer_bytes: u64,
    /// Operations that it takes: bit n for the operation of code n.
    pub operations: u64,
    /// NUMA node of its device; -1 if the system names none.
    pub node: c_int,
    /// Whether descriptors get to it by an instruction, and not by a system call; 0 of a queue that
    /// is not open.
    pub is_mapped: u32,
    /// Descriptors of this client that have not ended.
    pub under_way: u32,
    /// Whether it and its device are enabled now.
    pub is_enabled: u32,
}

// SAFETY: as it has to be.
unsafe impl Sized32 for QueueOfC {
    const NAME: &'static str = "skd_queue";
}

impl QueueOfC {
    fn of(queue: &Queue, is_mapped: bool, under_way: u32) -> Self {
        Self {
            size: Self::stated(),
            mode: if queue.mode == Mode::Dedicated { SKD_DEDICATED } else { SKD_SHARED },
            name: put(&queue.name),
            device: put(&queue.device),
            label: put(&queue.label),
            entries: queue.entries,
            most_batch: queue.most_batch,
            most_transfer_bytes: queue.most_transfer_bytes,
            operations: queue.operations,
            node: queue.node.and_then(|node| c_int::try_from(node).ok()).unwrap_or(-1),
            is_mapped: is_mapped.into(),
            under_way,
            is_enabled: queue.is_enabled().into(),
        }
    }
}

/// Queues that a client has open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_queues(client: *const ClientHandle) -> c_int {
    guarded(|| with_client(client, |client| count_of(client.portals().len())))
}

/// One of the queues that a client has open, by number: from 0 to skd_queues() less one.
///
/// -ENOENT if there is none of that number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_queue_of(
    client: *const ClientHandle,
    number: u32,
    queue: *mut QueueOfC,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structure.
        let out = unsafe { Out::required(queue, "queue") }?;
        with_client(client, |client| {
            let portals = client.portals();
            let there = || no_queue(number, portals.len());
            let portal = portals.get(number as usize).ok_or_else(there)?;
            out.write(QueueOfC::of(portal.queue(), portal.is_mapped(), portal.under_way()));
            Ok(0)
        })
    })
}

/// Writes why an enabled queue that no name asked for was left out when the client was opened, by
/// number from 0 on: at most `text_bytes` bytes, always terminated. Returns the bytes of the whole
/// sentence.
///
/// -ENOENT if there is none of that number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_left_out(
    client: *const ClientHandle,
    number: u32,
    text: *mut c_char,
    text_bytes: usize,
) -> c_int {
    guarded(|| {
        with_client(client, |client| {
            let left_out = client.left_out();
            let none =
                || Failure::new(libc::ENOENT, format!("{} queues are left out", left_out.len()));
            let why = left_out.get(number as usize).ok_or_else(none)?.to_string();
            // SAFETY: the caller's array.
            unsafe { write_text(&why, text, text_bytes) }
        })
    })
}

/// One of the queues that the system has enabled for user programs, by number from 0 on, whether or not
/// this process may open it.
///
/// -ENOENT if there is none of that number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_queue_of_system(number: u32, queue: *mut QueueOfC) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structure.
        let out = unsafe { Out::required(queue, "queue") }?;
        let found = find(Path::new(SYSFS))?;
        let there = || no_queue(number, found.len());
        let queue = found.get(number as usize).ok_or_else(there)?;
        out.write(QueueOfC::of(queue, false, 0));
        Ok(0)
    })
}

/// What a number of a queue is refused with.
pub fn no_queue(number: u32, count: usize) -> Failure {
    let text = match count {
        0 => format!("there is no queue {number}: there are none"),
        _ => format!("there is no queue {number}; allowed: 0 to {}", count - 1),
    };
    Failure::new(libc::ENOENT, text)
}
