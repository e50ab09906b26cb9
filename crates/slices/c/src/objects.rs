//! `skl_memory_allocate` and the other functions that allocate and free memory.
#![allow(unsafe_code)]

use crate::boundary::{CallFailure, ErrorText, count_of, guarded, required, required_out};
use crate::memory::MemoryHandle;
use crate::owners::owner;
use libc::{c_int, c_void, iovec};
use slices::memory::{AllocationError, SliceMemory, SliceOwner};
use units::LINE_BYTES;

/// Bytes of a line, and most bytes of an object.
pub const SKL_LINE_BYTES: usize = 64;

/// A line of a linked buffer.
#[repr(C)]
pub struct LinkedLine {
    /// The next line; NULL in the last one.
    next: *mut LinkedLine,
    /// The buffer's bytes in this line.
    bytes: [u8; 56],
}

const _: () = assert!(SKL_LINE_BYTES as u64 == LINE_BYTES);
const _: () = assert!(size_of::<LinkedLine>() == SKL_LINE_BYTES);

impl From<AllocationError> for CallFailure {
    fn from(error: AllocationError) -> Self {
        let errno = match error {
            AllocationError::Exhausted { .. } | AllocationError::NoMemory(_) => libc::ENOMEM,
            AllocationError::NoSlice { .. } => libc::ERANGE,
            AllocationError::NotAllocated(_) => libc::EINVAL,
            AllocationError::TooLarge(_) => libc::EMSGSIZE,
            AllocationError::NoOwner => libc::ENOENT,
        };
        Self::from_error(errno, &error)
    }
}

/// Allocates an object of up to SKL_LINE_BYTES in the owner's slices. The object is aligned to its
/// size, rounded up to 8, 16, 32 or 64 bytes, and lies in one line, which objects of the same size
/// share.
///
/// -ENOMEM if the owner's slices are full, -EMSGSIZE if it is larger than a line (use a scattered or
/// a linked buffer), -ENOENT if there is no such owner, -ENXIO in a child of the process that opened
/// the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_allocate(
    memory: *mut MemoryHandle,
    owner: c_int,
    bytes: usize,
    object: *mut *mut c_void,
) -> c_int {
    // The fast path is not `guarded`: nothing in it panics.
    // SAFETY: the caller's handle.
    let handle = unsafe { memory.as_ref() };
    if let (Some(handle), Ok(owner), false) = (handle, u16::try_from(owner), object.is_null())
        && bytes == SKL_LINE_BYTES
        && handle.is_present()
        && let Some(line) = handle.with_owned(|memory| memory.take_line(SliceOwner(owner)))
    {
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { object.write(line as *mut c_void) };
        return 0;
    }
    // SAFETY: the caller vouches for all pointers.
    unsafe { allocate_slowly(memory, owner, bytes, object) }
}

/// # Safety
/// As [`skl_memory_allocate`].
#[inline(never)]
unsafe fn allocate_slowly(
    memory: *mut MemoryHandle,
    owner: c_int,
    bytes: usize,
    object: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller vouches for all pointers.
    unsafe {
        allocate_with(memory, owner, object, |memory, owner| memory.allocate(owner, bytes as u64))
    }
}

/// Writes the address that `body` allocates in a memory for an owner to `object`.
///
/// # Safety
/// The pointers are a caller's of the interface.
unsafe fn allocate_with(
    memory: *mut MemoryHandle,
    owner: c_int,
    object: *mut *mut c_void,
    body: impl FnOnce(&mut SliceMemory, SliceOwner) -> Result<u64, AllocationError>,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let memory = unsafe { required(memory, "memory") }?;
        let out = required_out(object, "object")?;
        let owner = self::owner(owner)?;
        let address = memory.with_pages(|memory| body(memory, owner))?;
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(address as *mut c_void) };
        Ok(0)
    })
}

/// Allocates an object for `count` elements of `bytes` each and fills it with zeros, as calloc(3).
///
/// Errors are those of skl_memory_allocate(); -EMSGSIZE if all elements together exceed a line.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_allocate_zeroed(
    memory: *mut MemoryHandle,
    owner: c_int,
    count: usize,
    bytes: usize,
    object: *mut *mut c_void,
) -> c_int {
    let all = count.saturating_mul(bytes) as u64;
    // SAFETY: the caller vouches for all pointers.
    unsafe {
        allocate_with(memory, owner, object, |memory, owner| memory.allocate_zeroed(owner, all))
    }
}

/// Changes the size of the object at `*object`, as realloc(3): it keeps as much of its content as
/// fits. If it has to move, it moves to another place in the owner's slices, whose address is then in
/// `*object`. If `*object` is NULL, a new object is allocated.
///
/// Errors are those of skl_memory_allocate(); also -EINVAL if no allocated object begins there. The
/// object stays unchanged then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_reallocate(
    memory: *mut MemoryHandle,
    owner: c_int,
    bytes: usize,
    object: *mut *mut c_void,
) -> c_int {
    // SAFETY: not NULL then, and the caller's.
    let before = if object.is_null() { 0 } else { (unsafe { object.read() }) as u64 };
    let resize = |memory: &mut SliceMemory, owner| match before {
        0 => memory.allocate(owner, bytes as u64),
        before => memory.reallocate(owner, before, bytes as u64),
    };
    // SAFETY: the caller vouches for all pointers.
    unsafe { allocate_with(memory, owner, object, resize) }
}

/// Frees an object or a line of a scattered buffer. NULL does nothing.
///
/// -EINVAL if no allocated object begins there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_free(memory: *mut MemoryHandle, object: *mut c_void) -> c_int {
    // The fast path is not `guarded`: nothing in it panics.
    // SAFETY: the caller's handle.
    if let Some(handle) = unsafe { memory.as_ref() }
        && let Some(()) = handle.with_owned(|memory| memory.free_line(object as u64).then_some(()))
    {
        return 0;
    }
    // SAFETY: the caller vouches for all pointers.
    unsafe { free_slowly(memory, object) }
}

/// # Safety
/// As [`skl_memory_free`].
#[inline(never)]
unsafe fn free_slowly(memory: *mut MemoryHandle, object: *mut c_void) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let memory = unsafe { required(memory, "memory") }?;
        if !object.is_null() {
            memory.with_lists(|memory| memory.free(object as u64))?;
        }
        Ok(0)
    })
}

/// Allocates a buffer of `bytes` as lines anywhere in the owner's slices: one `parts` entry for each
/// line, as readv(2) and writev(2) take them; the last one may be shorter. Returns the number of
/// entries. Each is freed by skl_memory_free(). Those calls take at most IOV_MAX entries at once, 1024
/// on Linux or 64 KiB: pass more in several calls.
///
/// -ENOSPC if `count` is too small for `bytes`, -EOVERFLOW if `bytes` takes more lines than an int
/// counts, -ENOMEM if the owner's slices are full or memory is short, -ENOENT if there is no such
/// owner, -ENXIO in a child of the process that opened the memory; no line is allocated then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_allocate_scattered(
    memory: *mut MemoryHandle,
    owner: c_int,
    bytes: usize,
    parts: *mut iovec,
    count: usize,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let memory = unsafe { required(memory, "memory") }?;
        let parts = required_out(parts, "parts")?;
        let wanted = bytes.div_ceil(SKL_LINE_BYTES).max(1);
        if count < wanted {
            return Err(CallFailure::new(libc::ENOSPC, "too few parts"));
        }
        let handed_out = count_of(wanted)?;
        let owner = self::owner(owner)?;
        let lines = memory.with_pages(|memory| memory.allocate_scattered(owner, bytes as u64))?;
        for (index, &line) in lines.iter().enumerate() {
            let iov_len = (bytes - index * SKL_LINE_BYTES).min(SKL_LINE_BYTES);
            // SAFETY: there are as many lines as were compared with `count`.
            unsafe { parts.add(index).write(iovec { iov_base: line as *mut c_void, iov_len }) };
        }
        Ok(handed_out)
    })
}

/// Allocates a buffer for `bytes` as a chain of lines in the owner's slices.
///
/// -ENOMEM if the owner's slices are full or memory is short, -ENOENT if there is no such owner,
/// -ENXIO in a child of the process that opened the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_allocate_linked(
    memory: *mut MemoryHandle,
    owner: c_int,
    bytes: usize,
    first: *mut *mut LinkedLine,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let memory = unsafe { required(memory, "memory") }?;
        let out = required_out(first, "first")?;
        let owner = self::owner(owner)?;
        let line = memory.with_pages(|memory| memory.allocate_linked(owner, bytes as u64))?;
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(line as *mut LinkedLine) };
        Ok(0)
    })
}

/// Frees a linked buffer, by its first line. NULL does nothing.
///
/// -EINVAL if a link was overwritten, -ENOMEM if memory is short, -ENXIO in a child of the process
/// that opened the memory; no line is freed then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_free_linked(
    memory: *mut MemoryHandle,
    first: *mut LinkedLine,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let memory = unsafe { required(memory, "memory") }?;
        memory.with_pages(|memory| memory.free_linked(first as u64))?;
        Ok(0)
    })
}
