//! `skd_batch_*`: lists of operations that one descriptor submits to a device.
#![allow(unsafe_code)]

use crate::boundary::{
    SkdFailure, count_of, guarded, insert, remove, required_out, with_exclusive, with_shared,
};
use crate::client::{ClientHandle, with_client};
use crate::handles::{self, HandleTable};
use crate::job::{JobHandle, JobWork, begin};
use crate::operation::{OperationOfC, path};
use crate::sized;
use dsa_client::batch::OffloadBatch;
use libc::c_int;

/// A list of operations to submit together. They run in any order, except for fences.
pub struct BatchHandle(());

static BATCHES: HandleTable<OffloadBatch> = HandleTable::new(handles::BATCH);
const BATCH_TABLE: (&HandleTable<OffloadBatch>, u64) = (&BATCHES, handles::BATCH);

/// Creates a batch without operations. It has to be given back with skd_batch_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_create(batch: *mut *mut BatchHandle) -> c_int {
    guarded(|| insert(BATCH_TABLE, OffloadBatch::new(), required_out(batch, "batch")?))
}

/// Gives a batch back; NULL does nothing. Jobs that were begun with it continue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_free(batch: *mut BatchHandle) -> c_int {
    guarded(|| {
        if !batch.is_null() {
            drop(remove(BATCH_TABLE, batch, "batch", |_| Ok(()))?);
        }
        Ok(0)
    })
}

/// Adds an operation, and returns its number in the batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_add(
    batch: *mut BatchHandle,
    operation: *const OperationOfC,
) -> c_int {
    // SAFETY: the caller's structure.
    unsafe { add(batch, operation, false) }
}

/// Adds an operation that begins when all operations before it have ended, and returns its number in the
/// batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_add_behind_fence(
    batch: *mut BatchHandle,
    operation: *const OperationOfC,
) -> c_int {
    // SAFETY: the caller's structure.
    unsafe { add(batch, operation, true) }
}

/// # Safety
/// As for [`sized::read_structure`].
unsafe fn add(
    batch: *mut BatchHandle,
    operation: *const OperationOfC,
    is_behind_fence: bool,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller promises the same.
        let operation = unsafe { sized::read_structure(operation, "operation") }?.read()?;
        with_exclusive(BATCH_TABLE, batch, "batch", |batch| {
            let number = count_of(batch.len())?;
            if is_behind_fence {
                batch.add_behind_fence(operation);
            } else {
                batch.add(operation);
            }
            Ok(number)
        })
    })
}

/// Removes all operations from a batch, which can be filled again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_clear(batch: *mut BatchHandle) -> c_int {
    guarded(|| {
        with_exclusive(BATCH_TABLE, batch, "batch", |batch| {
            *batch = OffloadBatch::new();
            Ok(0)
        })
    })
}

/// Returns the number of operations in a batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_count(batch: *const BatchHandle) -> c_int {
    guarded(|| with_shared(BATCH_TABLE, batch, "batch", |batch| count_of(batch.len())))
}

/// Begins all operations of a batch as one job. It goes to a device if its bytes together reach the
/// threshold of asynchronous operations. On success `*job` has to be given back with skd_job_free();
/// skd_job_member() returns the result of each operation.
///
/// -EINVAL for a batch without operations, or if the arguments of any of them are not valid on a
/// device; otherwise as skd_submit(). On an error nothing is begun.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_submit(
    client: *const ClientHandle,
    batch: *const BatchHandle,
    path: c_int,
    job: *mut *mut JobHandle,
) -> c_int {
    guarded(|| {
        let (out, path) = (required_out(job, "job")?, self::path(path)?);
        with_shared(BATCH_TABLE, batch, "batch", |batch| {
            if batch.is_empty() {
                return Err(SkdFailure::invalid(
                    "the batch has no operations; it needs one or more",
                ));
            }
            with_client(client, |client| {
                // SAFETY: the caller vouches for the memory of all operations.
                let begun = unsafe { client.submit_batch(batch, path) }?;
                begin(JobWork::List(begun), batch.len(), out)
            })
        })
    })
}
