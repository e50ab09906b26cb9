//! `skd_raw_submit`, `skd_record_text`: descriptors that the program writes itself.
#![allow(unsafe_code)]

use crate::boundary::{SkdFailure, guarded, missing, required_out, write_text};
use crate::client::{ClientHandle, with_client};
use crate::job::{JobHandle, JobWork, begin};
use crate::queues::no_queue;
use crate::raw_job::{RawJob, no_record};
use dsa::descriptor::Descriptor;
use dsa::hardware::{RECORD_BYTES, flags};
use dsa::record::Record;
use dsa_client::client::OffloadClient;
use dsa_client::record_description::{Limits, describe};
use libc::{c_char, c_int, c_void};

/// The failure for a queue that has not taken a descriptor.
fn not_taken(client: &OffloadClient, queue: usize) -> SkdFailure {
    let queue = client.portals()[queue].queue();
    if queue.is_enabled() {
        let text = format!("{} is full: wait for the end of a job", queue.name);
        return SkdFailure::new(libc::EAGAIN, text);
    }
    SkdFailure::new(libc::ENODEV, format!("{} is disabled", queue.name))
}

/// Checks a descriptor, and clears its record. Refused are descriptors whose end could not be seen, or that
/// would act for another process.
fn check(descriptor: &Descriptor) -> Result<(), SkdFailure> {
    let at = descriptor.record();
    if descriptor.pasid_word() != 0 {
        return Err(SkdFailure::invalid(
            "bytes 0 to 3 of the descriptor are not 0: the system sets PASID and privilege",
        ));
    }
    if !descriptor.has(flags::RECORD_ADDRESS_VALID | flags::REQUEST_RECORD) {
        return Err(SkdFailure::invalid(
            "flags 2 and 3 of the descriptor have to be set: without a completion record its end \
             cannot be seen",
        ));
    }
    if !at.is_multiple_of(RECORD_BYTES as u64) {
        return Err(SkdFailure::invalid(format!(
            "the completion record at {at:#x} (bytes 8 to 15 of the descriptor) is not aligned to 32 bytes"
        )));
    }
    if !dsa::memory::store(at, &[0; RECORD_BYTES]) {
        return Err(no_record(at));
    }
    Ok(())
}

/// Submits a descriptor of 64 bytes, in the layout of the hardware, to a queue of a client, by its
/// number. On success `*job` has to be given back with skd_job_free(); its outcome has the
/// completion record. The descriptor is not divided, not resumed after page faults, and not executed
/// by the CPU. Its record is cleared before the submission. Statistics do not count it. If the job is
/// abandoned, the descriptor keeps its entry of a dedicated queue.
///
/// -EINVAL for a record that is not aligned to 32 bytes, or not requested (flags 2 and 3), and for
/// bytes 0 to 3 that are not 0; -EFAULT for a record that this process may not write; -ENOENT if the
/// client has no queue of that number; -EAGAIN if the queue is full, -ENODEV if it is disabled;
/// -ECHILD in a child of the process that opened the client. On an error nothing is submitted. The
/// job fails with -EBADMSG for any status but success (the sentence has status and field), and with
/// -ENODEV if the queue was disabled before the descriptor ended, or has dropped it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_raw_submit(
    client: *const ClientHandle,
    queue: u32,
    descriptor: *const c_void,
    job: *mut *mut JobHandle,
) -> c_int {
    guarded(|| {
        let out = required_out(job, "job")?;
        if descriptor.is_null() {
            return Err(missing("descriptor"));
        }
        // SAFETY: the caller's 64 bytes.
        let descriptor = Descriptor(unsafe { descriptor.cast::<[u8; 64]>().read_unaligned() });
        with_client(client, |client| {
            let queues = client.portals().len();
            if queue as usize >= queues {
                return Err(no_queue(queue, queues));
            }
            if client.is_forked() {
                return Err(SkdFailure::new(
                    libc::ECHILD,
                    "this process came of a fork, and has no portal; a client that it opens itself has",
                ));
            }
            check(&descriptor)?;
            let begun = RawJob::begin(client, queue as usize, descriptor);
            begin(JobWork::Raw(begun.ok_or_else(|| not_taken(client, queue as usize))?), 1, out)
        })
    })
}

/// Describes a completion record of 32 bytes and its descriptor of 64 bytes in a sentence, with the
/// field at fault. Writes at most `text_bytes` bytes, always terminated, and returns the bytes of the
/// whole sentence.
///
/// Limits in the sentence are those of Sapphire Rapids: 2 GiB, 1024 descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_record_text(
    descriptor: *const c_void,
    record: *const c_void,
    text: *mut c_char,
    text_bytes: usize,
) -> c_int {
    guarded(|| {
        if descriptor.is_null() || record.is_null() {
            return Err(missing(if record.is_null() { "record" } else { "descriptor" }));
        }
        // SAFETY: the caller's 64 and 32 bytes.
        let (descriptor, record) = unsafe {
            (
                descriptor.cast::<[u8; 64]>().read_unaligned(),
                record.cast::<[u8; 32]>().read_unaligned(),
            )
        };
        let limits = Limits { most_transfer_bytes: 1 << 31, most_batch: 1024 };
        let words = describe(&Descriptor(descriptor), &Record(record), limits);
        // SAFETY: the caller's array.
        unsafe { write_text(&words, text, text_bytes) }
    })
}
