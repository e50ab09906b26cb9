//! Owners of slices, and how they use a memory.
#![allow(unsafe_code)]

use crate::boundary::{ErrorText, Failure, array, guarded, required, required_out};
use crate::memory::MemoryHandle;
use libc::{c_char, c_int};
use slices::memory::{ClaimError, Owner};
use units::SliceId;

/// How a memory is used.
#[repr(C)]
pub struct MemoryStatistics {
    /// All lines of 64 bytes.
    lines: u64,
    /// Lines in slices that an owner has claimed; no owner can use the others.
    claimed_lines: u64,
    /// Lines that are handed out, whole or in parts.
    used_lines: u64,
    /// Objects that are handed out; each line of a buffer counts as one.
    objects: u64,
    /// Bytes of used lines that were not asked for: free places, sizes rounded up, links.
    unused_bytes_of_used_lines: u64,
    /// Bytes of the lists that are kept beside all lines.
    list_bytes: u64,
}

impl From<slices::memory::MemoryStatistics> for MemoryStatistics {
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

fn claim_failure(error: &ClaimError) -> Failure {
    let errno = match error {
        ClaimError::Nothing => libc::EINVAL,
        ClaimError::NoSlice { .. } => libc::ERANGE,
        ClaimError::Taken { .. } | ClaimError::InUse(_) => libc::EBUSY,
        ClaimError::TooMany => libc::ENOSPC,
        ClaimError::NoOwner => libc::ENOENT,
    };
    Failure::of(errno, error)
}

/// An owner as C has it.
pub fn owner(number: c_int) -> Result<Owner, Failure> {
    u16::try_from(number).map(Owner).map_err(|_| claim_failure(&ClaimError::NoOwner))
}

/// Gives `count` slices to a new owner, whose number it returns. Owners' slices are disjoint.
///
/// -EBUSY if another owner has one of them, -ERANGE if the part has no such slice, -EINVAL without
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
        let claimed = memory.lists(|memory| memory.claim(&slices));
        claimed.map(|owner| owner.0.into()).map_err(|error| claim_failure(&error))
    })
}

/// Takes an owner's slices back; its number is not used again.
///
/// -EBUSY if something that it got is handed out, -ENOENT if there is no such owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_release(memory: *mut MemoryHandle, owner: c_int) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let (memory, owner) = (unsafe { required(memory, "memory") }?, self::owner(owner)?);
        let released = memory.lists(|memory| memory.release(owner));
        released.map_err(|error| claim_failure(&error))?;
        Ok(0)
    })
}

/// How the memory is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_get_statistics(
    memory: *const MemoryHandle,
    statistics: *mut MemoryStatistics,
) -> c_int {
    guarded(ErrorText::none(), || {
        let out = required_out(statistics, "statistics")?;
        // SAFETY: the caller's handle.
        let now = unsafe { required(memory, "memory") }?.lists(|memory| memory.statistics());
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(now.into()) };
        Ok(0)
    })
}

/// How one owner uses the memory: `claimed_lines` are those of its slices; `lines` and `list_bytes`
/// are the memory's.
///
/// -ENOENT if there is no such owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_get_owner_statistics(
    memory: *const MemoryHandle,
    owner: c_int,
    statistics: *mut MemoryStatistics,
) -> c_int {
    guarded(ErrorText::none(), || {
        let (out, owner) = (required_out(statistics, "statistics")?, self::owner(owner)?);
        // SAFETY: the caller's handle.
        let memory = unsafe { required(memory, "memory") }?;
        let now = memory.lists(|memory| memory.owner_statistics(owner));
        let now = now.map_err(|error| claim_failure(&error))?;
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(now.into()) };
        Ok(0)
    })
}
