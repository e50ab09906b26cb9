//! `skd_ring_*`: bursts of copies on one queue, without a client.
#![allow(unsafe_code)]

use crate::boundary::{
    SkdFailure, count_of, guarded, insert, missing, remove, required_out, text, with_exclusive,
};
use crate::handles::{self, HandleTable};
use crate::sized::{OutStructure, Sized32};
use dsa_client::copy_ring::{CopyRing, RingCopy};
use dsa_client::portal::SubmissionMethod;
use dsa_client::queues::{self, find};
use libc::{c_char, c_int, c_void};
use std::path::Path;
use std::slice;

use units::narrow::{fit, usize_from};

/// Bursts of copies on one queue. One thread at a time may use one.
pub struct RingHandle(());

/// A copy of a burst.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RingCopyOfC {
    /// First byte that is read.
    pub source: *const c_void,
    /// First byte that is written.
    pub destination: *mut c_void,
    /// Number of bytes.
    pub bytes: u32,
    /// Number by which the program knows the copy.
    pub tag: u32,
}

/// A copy that has ended.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RingEndOfC {
    /// Number by which the program knows the copy.
    pub tag: u32,
    /// 0 if all bytes are copied; 1 if the copy has failed or was lost: nothing writes to its
    /// destination any more, and the program repeats it.
    pub has_failed: u32,
}

/// The state of a ring. skd_ring_status_new() makes one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RingStatusOfC {
    /// Bytes of this structure.
    pub size: u32,
    /// 1 if the queue was disabled while bursts were under way, or closed because it ended none of them for
    /// 30 s; else 0. It takes none any more.
    pub is_gone: u32,
    /// Most copies of a burst.
    pub most_copies: u32,
    /// 0.
    pub reserved: u32,
    /// Bursts that the queue has taken.
    pub bursts: u64,
    /// Their copies.
    pub copies: u64,
    /// Copies that the device reported as failed, or did not attempt.
    pub failed: u64,
    /// Copies in bursts that were lost.
    pub lost: u64,
    /// Drains that were submitted to find lost bursts.
    pub drains: u64,
}

// SAFETY: `repr(C)`, a `u32` first, and any bytes form one.
unsafe impl Sized32 for RingStatusOfC {
    const NAME: &'static str = "skd_ring_status";
}

static RINGS: HandleTable<CopyRing> = HandleTable::new(handles::RING);

/// Opens a queue by its name, for at most `most_bursts` bursts under way, of at most `most_copies`
/// copies each; fewer if the queue takes fewer. A dedicated queue has no other user meanwhile. On
/// success `*ring` has to be closed with skd_ring_close().
///
/// -ENODEV for a queue that is not enabled for user programs, or takes no copies; the error of the
/// system if it cannot be opened (-EACCES, -EBUSY, -EPERM).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_ring_open(
    queue: *const c_char,
    most_bursts: u32,
    most_copies: u32,
    ring: *mut *mut RingHandle,
) -> c_int {
    guarded(|| {
        let out = required_out(ring, "ring")?;
        // SAFETY: the caller vouches for its text.
        let name = unsafe { text(queue, "queue") }?.ok_or_else(|| missing("queue"))?;
        let found = find(Path::new(queues::SYSFS))?.into_iter().find(|queue| queue.name == name);
        let no_queue = || {
            let text = format!("{name} is not a work queue that is enabled for user programs");
            SkdFailure::new(libc::ENODEV, text)
        };
        let (devices, how) = (Path::new(queues::DEVICES), SubmissionMethod::Automatic);
        let limits = (most_bursts, most_copies);
        let ring = CopyRing::open(found.ok_or_else(no_queue)?, devices, how, limits)?;
        insert((&RINGS, handles::RING), ring, out)
    })
}

/// Closes a ring; NULL does nothing. Bursts under way may still be executed: their memory is left
/// to the device.
///
/// -EBADF if it was closed before, -EBUSY while another thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_ring_close(ring: *mut RingHandle) -> c_int {
    guarded(|| {
        if !ring.is_null() {
            drop(remove((&RINGS, handles::RING), ring, "ring", |_| Ok(()))?);
        }
        Ok(0)
    })
}

/// Returns the number of bursts that can be submitted now; 0 if the queue is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_ring_room(ring: *const RingHandle) -> c_int {
    guarded(|| with_exclusive((&RINGS, handles::RING), ring, "ring", |ring| count_of(ring.room())))
}

/// Submits a burst of copies, which begin and end in any order. Their memory has to stay until they
/// have ended. Allocates nothing.
///
/// -EAGAIN if there is no room for a burst, -ENODEV if the queue is gone; -EINVAL for no copies, or
/// more than a burst of this ring may have; -ECHILD in a child of the process that opened the ring.
/// On an error nothing is submitted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_ring_submit(
    ring: *mut RingHandle,
    copies: *const RingCopyOfC,
    count: u32,
) -> c_int {
    guarded(|| {
        if copies.is_null() {
            return Err(missing("copies"));
        }
        // SAFETY: the caller's array.
        let copies = unsafe { slice::from_raw_parts(copies, usize_from(count.into())) };
        let copies = copies.iter().map(|copy| RingCopy {
            from: copy.source.addr() as u64,
            to: copy.destination.addr() as u64,
            bytes: copy.bytes,
            tag: copy.tag,
        });
        with_exclusive((&RINGS, handles::RING), ring, "ring", |ring| {
            // SAFETY: the caller of the library vouches for the memory of the copies.
            match unsafe { ring.submit(copies) }? {
                true => Ok(0),
                false if ring.is_gone() => {
                    let text =
                        format!("{} was disabled, or ended nothing for 30 s", ring.queue().name);
                    Err(SkdFailure::new(libc::ENODEV, text))
                }
                false => Err(SkdFailure::new(libc::EAGAIN, "the ring has no room for a burst")),
            }
        })
    })
}

/// Writes the copies that have ended to an array of `most` elements, and returns their number. They
/// are in the order of submission, in whole bursts: `most` is at least the copies of a burst.
/// Allocates nothing.
///
/// A burst that does not end is looked at more closely after 5 ms: it is lost if the queue or its
/// device was disabled, or if a drain that was submitted later has ended. A queue that is enabled and ends
/// nothing for 30 s is closed: the driver then waits for what is under way, this call with it, and the rest
/// is lost. A child of a fork that has not executed another program keeps the queue open: the driver does
/// not wait then, and the device may still write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_ring_poll(
    ring: *mut RingHandle,
    ends: *mut RingEndOfC,
    most: u32,
) -> c_int {
    guarded(|| {
        let out = required_out(ends, "ends")?;
        with_exclusive((&RINGS, handles::RING), ring, "ring", |ring| {
            let mut number = 0;
            count_of(ring.poll(usize_from(most.into()), |tag, has_failed| {
                let end = RingEndOfC { tag, has_failed: has_failed.into() };
                // SAFETY: the caller's array has `most` elements, of which these are fewer.
                unsafe { out.add(number).write(end) };
                number += 1;
            }))
        })
    })
}

/// Reads the state of a ring and its counts since it was opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_ring_get_status(
    ring: *const RingHandle,
    status: *mut RingStatusOfC,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structure.
        let out = unsafe { OutStructure::required(status, "status") }?;
        with_exclusive((&RINGS, handles::RING), ring, "ring", |ring| {
            let counts = ring.counts();
            out.write(RingStatusOfC {
                size: RingStatusOfC::stated(),
                is_gone: ring.is_gone().into(),
                most_copies: fit(ring.most_copies()),
                reserved: 0,
                bursts: counts.bursts,
                copies: counts.copies,
                failed: counts.failed,
                lost: counts.lost,
                drains: ring.drains(),
            });
            Ok(0)
        })
    })
}
