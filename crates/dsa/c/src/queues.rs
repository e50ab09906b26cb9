//! `skd_queue_*`: the queues of a client, and the queues of the system.
#![allow(unsafe_code)]

use crate::boundary::{SkdFailure, count_of, guarded, text_array, write_text};
use crate::client::{ClientHandle, with_client};
use crate::sized::{OutStructure, Sized32};
use dsa_client::queues::{SYSFS, SharingMode, UserQueue, find};
use libc::{c_char, c_int};
use std::path::Path;

/// The queue is for one process, which submits by posted writes (MOVDIR64B).
pub const SKD_DEDICATED: u32 = 0;
/// The queue is for all processes, which submit by ENQCMD.
pub const SKD_SHARED: u32 = 1;

/// A work queue. Made by skd_queue_new().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct QueueOfC {
    /// Bytes of this structure.
    pub size: u32,
    /// SKD_DEDICATED, SKD_SHARED.
    pub mode: u32,
    /// Name of the queue, such as `wq0.1`.
    pub name: [c_char; 24],
    /// Name of the device, such as `dsa0`.
    pub device: [c_char; 24],
    /// Name that the administrator has given the queue.
    pub label: [c_char; 64],
    /// Number of descriptors that the queue has room for.
    pub entries: u32,
    /// Largest batch, in descriptors; 0 and 1 if the queue takes no batches.
    pub most_batch: u32,
    /// Largest transfer of a descriptor, in bytes.
    pub most_transfer_bytes: u64,
    /// Operations that the queue takes: bit n is set for the operation of code n.
    pub operations: u64,
    /// NUMA node of the device; -1 if the system does not report it.
    pub node: c_int,
    /// 1 if descriptors are submitted by an instruction, 0 if by a system call, or if the queue is not
    /// open.
    pub is_mapped: u32,
    /// Number of descriptors of this client that have not ended.
    pub under_way: u32,
    /// 1 if the queue and its device are enabled now, else 0.
    pub is_enabled: u32,
}

// SAFETY: `repr(C)`, a `u32` first, and any bytes form one.
unsafe impl Sized32 for QueueOfC {
    const NAME: &'static str = "skd_queue";
}

impl QueueOfC {
    fn new(queue: &UserQueue, is_mapped: bool, under_way: u32) -> Self {
        Self {
            size: Self::stated(),
            mode: if queue.mode == SharingMode::Dedicated { SKD_DEDICATED } else { SKD_SHARED },
            name: text_array(&queue.name),
            device: text_array(&queue.device),
            label: text_array(&queue.label),
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

/// Returns the number of queues that a client has open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_queues(client: *const ClientHandle) -> c_int {
    guarded(|| with_client(client, |client| count_of(client.portals().len())))
}

/// Describes one of the queues that a client has open, by its number: 0 to skd_queues() - 1.
///
/// -ENOENT if the client has no queue of that number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_queue_of(
    client: *const ClientHandle,
    number: u32,
    queue: *mut QueueOfC,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structure.
        let out = unsafe { OutStructure::required(queue, "queue") }?;
        with_client(client, |client| {
            let portals = client.portals();
            let missing = || no_queue(number, portals.len());
            let portal = portals.get(number as usize).ok_or_else(missing)?;
            out.write(QueueOfC::new(portal.queue(), portal.is_mapped(), portal.under_way()));
            Ok(0)
        })
    })
}

/// Writes why an enabled queue was left out when the client was opened without names of queues. Such
/// queues are numbered from 0 on. Writes at most `text_bytes` bytes, always terminated, and returns
/// the bytes of the whole sentence.
///
/// -ENOENT if no queue of that number was left out.
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
                || SkdFailure::new(libc::ENOENT, format!("{} queues are left out", left_out.len()));
            let why = left_out.get(number as usize).ok_or_else(none)?.to_string();
            // SAFETY: the caller's array.
            unsafe { write_text(&why, text, text_bytes) }
        })
    })
}

/// Describes one of the queues that the system has enabled for user programs, by its number from 0 on,
/// whether or not this process may open it.
///
/// -ENOENT if the system has no queue of that number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_queue_of_system(number: u32, queue: *mut QueueOfC) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structure.
        let out = unsafe { OutStructure::required(queue, "queue") }?;
        let found = find(Path::new(SYSFS))?;
        let missing = || no_queue(number, found.len());
        let queue = found.get(number as usize).ok_or_else(missing)?;
        out.write(QueueOfC::new(queue, false, 0));
        Ok(0)
    })
}

/// The failure for a number of a queue that does not exist.
pub fn no_queue(number: u32, count: usize) -> SkdFailure {
    let text = match count {
        0 => format!("queue {number} does not exist: no queue does"),
        _ => format!("queue {number} does not exist; allowed: 0 to {}", count - 1),
    };
    SkdFailure::new(libc::ENOENT, text)
}
