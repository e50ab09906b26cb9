//! Owners of slices, and their use of a memory.
#![allow(unsafe_code)]

use crate::boundary::{CallFailure, ErrorText, array, guarded, required, required_out};
use crate::memory::MemoryHandle;
use libc::{c_char, c_int};
use slices::memory::{ClaimError, SliceOwner};
use units::SliceId;

/// Counts of the lines and objects of a memory.
#[repr(C)]
pub struct CMemoryStatistics {
    /// Number of all lines of 64 bytes.
    lines: u64,
    /// Number of lines in slices that an owner has claimed; no owner can use the others.
    claimed_lines: u64,
    /// Number of allocated lines, whole or divided into objects.
    used_lines: u64,
    /// Number of allocated objects; each line of a buffer counts as one.
    objects: u64,
    /// Bytes of used lines beyond the requested sizes: free slots, sizes rounded up, links.
    unused_bytes_of_used_lines: u64,
    /// Size in bytes of the lists beside the lines.
    list_bytes: u64,
}

impl From<slices::memory::MemoryStatistics> for CMemoryStatistics {
    fn from(now: slices::memory::MemoryStatistics) -> Self {
        Self {
            lines: now.lines,
            claimed_lines: now.claimed_lines,
            used_lines: now.used_lines,
            objects: now.objects,
            unused_bytes_of_used_lines: now.unused_bytes_of_used_lines,
            list_bytes: now.list_bytes,
        }
    }
}

fn claim_failure(error: &ClaimError) -> CallFailure {
    let errno = match error {
        ClaimError::Nothing => libc::EINVAL,
        ClaimError::NoSlice { .. } => libc::ERANGE,
        ClaimError::Taken { .. } | ClaimError::InUse(_) => libc::EBUSY,
        ClaimError::TooMany => libc::ENOSPC,
        ClaimError::NoOwner => libc::ENOENT,
    };
    CallFailure::from_error(errno, error)
}

/// The owner of a number from C.
pub fn owner(number: c_int) -> Result<SliceOwner, CallFailure> {
    u16::try_from(number).map(SliceOwner).map_err(|_| claim_failure(&ClaimError::NoOwner))
}

/// Makes a new owner of `count` slices and returns its number. Owners' slices are disjoint.
///
/// -EBUSY if another owner has one of them, -ERANGE if there is no such slice, -EINVAL without
/// slices, -ENOSPC after 65535 owners.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_claim(
    memory: *mut MemoryHandle,
    slices: *const u16,
    count: usize,
    error: *mut c_char,
    error_bytes: usize,
) -> c_int {
    // SAFETY: the caller vouches for all pointers.
    let text = unsafe { ErrorText::new(error, error_bytes) };
    guarded(text, || {
        // SAFETY: the caller's handle and array.
        let (memory, slices) =
            unsafe { (required(memory, "memory")?, array(slices, count, "slices")?) };
        let slices: Vec<SliceId> = slices.iter().copied().map(SliceId).collect();
        let claimed = memory.with_lists(|memory| memory.claim(&slices));
        claimed.map(|owner| owner.0.into()).map_err(|error| claim_failure(&error))
    })
}

/// Releases an owner's slices; its number is not used again.
///
/// -EBUSY if objects of the owner are still allocated, -ENOENT if there is no such owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_release(memory: *mut MemoryHandle, owner: c_int) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let (memory, owner) = (unsafe { required(memory, "memory") }?, self::owner(owner)?);
        let released = memory.with_lists(|memory| memory.release(owner));
        released.map_err(|error| claim_failure(&error))?;
        Ok(0)
    })
}

/// Writes the counts of all owners together.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_get_statistics(
    memory: *const MemoryHandle,
    statistics: *mut CMemoryStatistics,
) -> c_int {
    guarded(ErrorText::none(), || {
        let out = required_out(statistics, "statistics")?;
        // SAFETY: the caller's handle.
        let now = unsafe { required(memory, "memory") }?.with_lists(|memory| memory.statistics());
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(now.into()) };
        Ok(0)
    })
}

/// Writes the counts of one owner: `claimed_lines` are those of its slices; `lines` and `list_bytes`
/// are the memory's.
///
/// -ENOENT if there is no such owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_get_owner_statistics(
    memory: *const MemoryHandle,
    owner: c_int,
    statistics: *mut CMemoryStatistics,
) -> c_int {
    guarded(ErrorText::none(), || {
        let (out, owner) = (required_out(statistics, "statistics")?, self::owner(owner)?);
        // SAFETY: the caller's handle.
        let memory = unsafe { required(memory, "memory") }?;
        let now = memory.with_lists(|memory| memory.owner_statistics(owner));
        let now = now.map_err(|error| claim_failure(&error))?;
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(now.into()) };
        Ok(0)
    })
}
