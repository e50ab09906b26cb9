//! Allocation of many whole lines at once, for the header's `skl_cache`.
#![allow(unsafe_code)]

use crate::boundary::{ErrorText, array, guarded, required, required_out};
use crate::memory::MemoryHandle;
use crate::owners::owner;
use libc::{c_int, c_void};

/// Allocates `count` lines of SKL_LINE_BYTES in the owner's slices, all or none. Each is freed by
/// skl_memory_free() or skl_memory_free_lines().
///
/// Errors are those of skl_memory_allocate().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_allocate_lines(
    memory: *mut MemoryHandle,
    owner: c_int,
    lines: *mut *mut c_void,
    count: usize,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle.
        let memory = unsafe { required(memory, "memory") }?;
        let lines = required_out(lines, "lines")?;
        let owner = self::owner(owner)?;
        // SAFETY: the caller's array has `count` elements.
        let put = |index: usize, line: u64| unsafe { lines.add(index).write(line as *mut c_void) };
        memory.with_pages(|memory| memory.allocate_many(owner, count, put))?;
        Ok(0)
    })
}

/// Frees `count` objects or lines.
///
/// -EINVAL if no allocated object begins at one of the addresses; those before it are freed then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_free_lines(
    memory: *mut MemoryHandle,
    lines: *const *mut c_void,
    count: usize,
) -> c_int {
    guarded(ErrorText::none(), || {
        // SAFETY: the caller's handle and array; pointers are addresses.
        let (memory, lines) =
            unsafe { (required(memory, "memory")?, array(lines.cast::<u64>(), count, "lines")?) };
        memory.with_lists(|memory| memory.free_many(lines))?;
        Ok(0)
    })
}
