//! The functions behind the entry points: those of the C library, or of another preloaded library.

use crate::functions::MemoryFunction;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Number of entry points.
const COUNT: usize = 11;

/// Addresses of the next functions, by entry point; 0 until they are resolved.
pub static NEXT: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];

/// Sizes in bytes, by entry point, from which on a call does not jump to the next function at once.
pub static LIMITS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];

/// The name of each entry point, and the function whose settings apply to it.
const ENTRIES: [(&CStr, MemoryFunction); COUNT] = [
    (c"memcpy", MemoryFunction::Copy),
    (c"memmove", MemoryFunction::Move),
    (c"memset", MemoryFunction::Fill),
    (c"memcmp", MemoryFunction::Compare),
    (c"bcmp", MemoryFunction::Compare),
    (c"mempcpy", MemoryFunction::Copy),
    (c"__mempcpy", MemoryFunction::Copy),
    (c"__memcpy_chk", MemoryFunction::Copy),
    (c"__memmove_chk", MemoryFunction::Move),
    (c"__memset_chk", MemoryFunction::Fill),
    (c"__mempcpy_chk", MemoryFunction::Copy),
];

/// Numbers of the entry points whose next functions process the bytes of all calls.
const MEMCPY: usize = 0;
const MEMMOVE: usize = 1;
const MEMSET: usize = 2;
const MEMCMP: usize = 3;

/// Finds the next functions, and sets all limits so that each call goes to them.
pub extern "C" fn resolve() {
    for ((name, _), next) in ENTRIES.iter().zip(&NEXT) {
        next.store(address(name), Ordering::Release);
    }
    // Programs that were linked before glibc 2.14 call `memcpy@GLIBC_2.2.5`, which is a memmove. The linker
    // gives them the memcpy of this library as well, since it has no version.
    let is_glibc = NEXT[MEMCPY].load(Ordering::Relaxed) == glibc_address(c"memcpy");
    if is_glibc {
        NEXT[MEMCPY].store(NEXT[MEMMOVE].load(Ordering::Relaxed), Ordering::Release);
    }
    for limit in &LIMITS {
        limit.store(u64::MAX, Ordering::Release);
    }
}

fn address(name: &CStr) -> usize {
    // SAFETY: the name ends with zero.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) as usize }
}

/// The address of a function by a version that only glibc has.
fn glibc_address(name: &CStr) -> usize {
    // SAFETY: as above.
    unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"GLIBC_2.14".as_ptr()) as usize }
}

/// Sets the size in bytes from which on calls of a function do not jump to the next function at once.
pub fn set_limit(function: MemoryFunction, bytes: u64) {
    for ((_, function_of_entry), limit) in ENTRIES.iter().zip(&LIMITS) {
        if *function_of_entry == function {
            limit.store(bytes, Ordering::Release);
        }
    }
}

/// The function whose settings apply to an entry point.
#[inline]
pub fn function(entry: u32) -> MemoryFunction {
    ENTRIES.get(entry as usize).map_or(MemoryFunction::Copy, |(_, function)| *function)
}

/// Calls the next memcpy, or the next memmove for that function.
#[inline]
pub unsafe fn copy(function: MemoryFunction, to: *mut c_void, from: *const c_void, bytes: usize) {
    let entry = if function == MemoryFunction::Move { MEMMOVE } else { MEMCPY };
    type Copy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;
    // SAFETY: a function of this type, once entries go to large calls; the arguments are the caller's.
    unsafe {
        let next = std::mem::transmute::<usize, Copy>(NEXT[entry].load(Ordering::Relaxed));
        next(to, from, bytes);
    }
}

/// Calls the next memset.
#[inline]
pub unsafe fn fill(to: *mut c_void, byte: c_int, bytes: usize) {
    type Fill = unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void;
    // SAFETY: as above.
    unsafe {
        let next = std::mem::transmute::<usize, Fill>(NEXT[MEMSET].load(Ordering::Relaxed));
        next(to, byte, bytes);
    }
}

/// Calls the next memcmp.
#[inline]
pub unsafe fn compare(first: *const c_void, second: *const c_void, bytes: usize) -> c_int {
    type Compare = unsafe extern "C" fn(*const c_void, *const c_void, usize) -> c_int;
    // SAFETY: as above.
    unsafe {
        let next = std::mem::transmute::<usize, Compare>(NEXT[MEMCMP].load(Ordering::Relaxed));
        next(first, second, bytes)
    }
}
