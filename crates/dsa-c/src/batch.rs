//! `skd_batch_*`: operations that one descriptor gives to a device as a list.
#![allow(unsafe_code)]

use crate::boundary::{
    Failure, count_of, guarded, insert, remove, required_out, with_exclusive, with_shared,
};
use crate::client::{ClientHandle, with_client};
use crate::handles::{self, Table};
use crate::job::{JobHandle, Work, begin};
use crate::operation::{OperationOfC, path};
use crate::sized;
use dsa_client::batch::Batch;
use libc::c_int;

/// A list that is being put together. Members run in any order, but for fences.
pub struct BatchHandle(());

static BATCHES: Table<Batch> = Table::new(handles::BATCH);
const OF: (&Table<Batch>, u64) = (&BATCHES, handles::BATCH);

/// A list without members, to be given back with skd_batch_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_create(batch: *mut *mut BatchHandle) -> c_int {
    guarded(|| insert(OF, Batch::new(), required_out(batch, "batch")?))
}

/// Gives a list back; NULL does nothing. Jobs that were begun with it go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_free(batch: *mut BatchHandle) -> c_int {
    guarded(|| {
        if !batch.is_null() {
            drop(remove(OF, batch, "batch", |_| Ok(()))?);
        }
        Ok(0)
    })
}

/// Adds an operation: its number in the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_add(
    batch: *mut BatchHandle,
    operation: *const OperationOfC,
) -> c_int {
    // SAFETY: the caller's structure.
    unsafe { add(batch, operation, false) }
}

/// Adds an operation that begins when all before it have ended: its number in the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_add_behind_fence(
    batch: *mut BatchHandle,
    operation: *const OperationOfC,
) -> c_int {
    // SAFETY: the caller's structure.
    unsafe { add(batch, operation, true) }
}

/// # Safety
/// As for [`sized::given`].
unsafe fn add(
    batch: *mut BatchHandle,
    operation: *const OperationOfC,
    is_behind_fence: bool,
) -> c_int {
    guarded(|| {
        // SAFETY: handed on.
        let operation = unsafe { sized::given(operation, "operation") }?.read()?;
        with_exclusive(OF, batch, "batch", |batch| {
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

/// Takes all operations out of a list, which can be filled again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_clear(batch: *mut BatchHandle) -> c_int {
    guarded(|| {
        with_exclusive(OF, batch, "batch", |batch| {
            *batch = Batch::new();
            Ok(0)
        })
    })
}

/// Operations of a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_count(batch: *const BatchHandle) -> c_int {
    guarded(|| with_shared(OF, batch, "batch", |batch| count_of(batch.len())))
}

/// Begins all operations of a list as one job. It goes to a device if its bytes together reach the
/// threshold of asynchronous operations. On success `*job` is to be given back with skd_job_free();
/// skd_job_member() says how each operation has ended.
///
/// -EINVAL for a list without operations, and for arguments of any of them that no device takes;
/// else as skd_submit(). Nothing is begun then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_batch_submit(
    client: *const ClientHandle,
    batch: *const BatchHandle,
    path: c_int,
    job: *mut *mut JobHandle,
) -> c_int {
    guarded(|| {
        let (out, path) = (required_out(job, "job")?, self::path(path)?);
        with_shared(OF, batch, "batch", |batch| {
            if batch.is_empty() {
                return Err(Failure::invalid("the batch has no operations; it needs one or more"));
            }
            with_client(client, |client| {
                // SAFETY: the caller vouches for the memory of all operations.
                let begun = unsafe { client.submit_batch(batch, path) }?;
                begin(Work::List(begun), batch.len(), out)
            })
        })
    })
}
