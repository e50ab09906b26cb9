//! `skl_memory_open` and what asks or changes a memory as a whole.
#![allow(unsafe_code)]

use crate::boundary::{
    ErrorText, Failure, array, errno_of, exclusive, guarded, required, required_out,
};
use crate::physical_address;
use crate::slice_map::SliceMapHandle;
use libc::{c_char, c_int, c_void};
use slices::memory::{ClaimError, MemoryError, Owner, PlacementError, SliceMemory};
use slices::recovery::PageSize;
use std::ffi::CString;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use units::SliceId;

/// Memory whose lines are handed out by slice. One thread at a time may call its functions; other
/// threads may use what was handed out at the same time. Children of the process do not inherit
/// huge pages: they are refused new memory, and may close the handle.
pub struct MemoryHandle {
    pub(crate) memory: SliceMemory,
    /// Why slices are not known, as C reads it.
    reason: Option<CString>,
    /// Value of [`FORKS`] in the process that mapped the memory.
    forks: u32,
}

/// How often this process came from another one since the library was first asked for memory. Huge
/// pages are not inherited: copying on write would move the parent's.
static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

fn watch_forks() {
    static WATCHED: Once = Once::new();
    // SAFETY: the handler does what a handler of signals may do, and is unregistered with the library.
    WATCHED.call_once(|| _ = unsafe { libc::pthread_atfork(None, None, Some(count_fork)) });
}

impl MemoryHandle {
    /// The memory, if this process has its pages: to touch those of a parent would end it.
    pub(crate) fn present(&mut self) -> Result<&mut SliceMemory, Failure> {
        if self.reason.is_none() && self.forks != FORKS.load(Ordering::Relaxed) {
            let text = "a parent's memory; children open their own after fork()";
            return Err(Failure::new(libc::ENXIO, text));
        }
        Ok(&mut self.memory)
    }
}

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
    /// Bytes of used lines that were not asked for: free places, sizes rounded up, links. The 18 bytes
    /// that are kept beside each of all lines come on top.
    unused_bytes_of_used_lines: u64,
}

fn placement_errno(error: &PlacementError) -> c_int {
    match error {
        PlacementError::Unknown(error) => physical_address::errno(error),
        PlacementError::NotHuge(_) => libc::EINVAL,
        PlacementError::Moved(_) => libc::ESTALE,
        PlacementError::NotCovered(_) => libc::ERANGE,
        PlacementError::NoMemory(_) => libc::ENOMEM,
    }
}

fn open_failure(error: &MemoryError) -> Failure {
    let errno = match error {
        MemoryError::Huge(error) => error.answer.errno().unwrap_or(libc::ENOMEM),
        MemoryError::Plain(error) => errno_of(error),
        MemoryError::Placement(error) => placement_errno(error),
    };
    Failure::of(errno, error)
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

fn page_size(bytes: usize) -> Result<PageSize, Failure> {
    [PageSize::TwoMiB, PageSize::OneGiB]
        .into_iter()
        .find(|size| 1 << size.bits() == bytes)
        .ok_or_else(|| {
            Failure::new(
                libc::EINVAL,
                format!("pages of {bytes} bytes; allowed: 2097152, 1073741824"),
            )
        })
}

/// Maps at least `bytes` of huge pages of `page_bytes` (2 MiB or 1 GiB) and sorts their lines by
/// slice. On success `*memory` is to be closed with skl_memory_close().
///
/// Without huge pages, or where the kernel hides physical addresses, it fails (-ENOMEM, -EPERM); with
/// `plain_allowed` it returns 1 instead: a memory that regards no slices, and the reason as text in
/// `error`. In either case -ERANGE if the table does not cover the pages, and -ENOMEM if there is too
/// little memory of any kind; 18 bytes for each line are needed beside the pages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_open(
    map: *const SliceMapHandle,
    bytes: usize,
    page_bytes: usize,
    plain_allowed: c_int,
    memory: *mut *mut MemoryHandle,
    error: *mut c_char,
    error_bytes: usize,
) -> c_int {
    // SAFETY: the caller vouches for all pointers.
    let text = unsafe { ErrorText::new(error, error_bytes) };
    guarded(text, || {
        let out = required_out(memory, "memory")?;
        // SAFETY: the caller's handle.
        let map = &unsafe { required(map, "map") }?.map;
        let size = page_size(page_bytes)?;
        let open = if plain_allowed == 0 { SliceMemory::new } else { SliceMemory::or_plain };
        watch_forks();
        let forks = FORKS.load(Ordering::Relaxed);
        let memory = open(map, bytes, size).map_err(|error| open_failure(&error))?;
        let reason = memory.plain_because().map(|reason| {
            text.write(reason);
            CString::new(reason).unwrap_or_default()
        });
        let plain = c_int::from(reason.is_some());
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(Box::into_raw(Box::new(MemoryHandle { memory, reason, forks }))) };
        Ok(plain)
    })
}

/// Gives the memory back to the system, whatever of it is handed out; NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_close(memory: *mut MemoryHandle) {
    if !memory.is_null() {
        // SAFETY: it came from skl_memory_open and is given back once.
        drop(unsafe { Box::from_raw(memory) });
    }
}

/// Why the memory regards no slices, as a text that lives as long as the memory; NULL if it does
/// regard them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_plain_because(memory: *const MemoryHandle) -> *const c_char {
    // SAFETY: the caller's handle.
    let reason = unsafe { memory.as_ref() }.and_then(|memory| memory.reason.as_ref());
    reason.map_or(std::ptr::null(), |reason| reason.as_ptr())
}

/// Reads the physical addresses of the pages again: -ESTALE if the kernel moved one since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_verify(
    memory: *const MemoryHandle,
    error: *mut c_char,
    error_bytes: usize,
) -> c_int {
    // SAFETY: the caller vouches for all pointers.
    let text = unsafe { ErrorText::new(error, error_bytes) };
    guarded(text, || {
        // SAFETY: the caller's handle.
        let memory = &unsafe { required(memory, "memory") }?.memory;
        memory.verify().map_err(|error| Failure::of(placement_errno(&error), &error))?;
        Ok(0)
    })
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
        // SAFETY: the caller's handle, used by this thread alone, and its array.
        let (memory, slices) =
            unsafe { (&mut exclusive(memory, "memory")?.memory, array(slices, count, "slices")?) };
        let slices: Vec<SliceId> = slices.iter().copied().map(SliceId).collect();
        memory.claim(&slices).map(|owner| owner.0.into()).map_err(|error| claim_failure(&error))
    })
}

/// Takes an owner's slices back; its number is not used again.
///
/// -EBUSY if something that it got is handed out, -ENOENT if there is no such owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_release(memory: *mut MemoryHandle, owner: c_int) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle, used by this thread alone.
        let memory = &mut unsafe { exclusive(memory, "memory") }?.memory;
        memory.release(self::owner(owner)?).map_err(|error| claim_failure(&error))?;
        Ok(0)
    })
}

/// The slice of what is handed out at an address: -EINVAL if nothing is, -ENODATA if the memory
/// regards no slices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_slice(
    memory: *const MemoryHandle,
    address: *const c_void,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let memory = &unsafe { required(memory, "memory") }?.memory;
        if memory.plain_because().is_some() {
            return Err(Failure::new(libc::ENODATA, "the memory regards no slices"));
        }
        let slice = memory.slice_of(address as u64).map(|slice| c_int::from(slice.0));
        slice.ok_or_else(|| Failure::new(libc::EINVAL, "nothing is handed out there"))
    })
}

/// How the memory is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_get_statistics(
    memory: *const MemoryHandle,
    statistics: *mut MemoryStatistics,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let now = unsafe { required(memory, "memory") }?.memory.statistics();
        let out = required_out(statistics, "statistics")?;
        let statistics = MemoryStatistics {
            lines: now.lines,
            claimed_lines: now.claimed_lines,
            used_lines: now.used_lines,
            objects: now.objects,
            unused_bytes_of_used_lines: now.unused_bytes_of_used_lines,
        };
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(statistics) };
        Ok(0)
    })
}
