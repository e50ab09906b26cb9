//! The functions behind those of this library: the C library's, or another preloaded library's.

use crate::functions::Function;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Entries of this library.
const COUNT: usize = 11;

/// Addresses of the next functions; 0: not known yet.
pub static NEXT: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];

/// Sizes in bytes from which on an entry does not jump to the next function at once.
pub static LIMITS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];

/// Names of the entries, and whose settings they have.
const ENTRIES: [(&CStr, Function); COUNT] = [
    (c"memcpy", Function::Copy),
    (c"memmove", Function::Move),
    (c"memset", Function::Fill),
    (c"memcmp", Function::Compare),
    (c"bcmp", Function::Compare),
    (c"mempcpy", Function::Copy),
    (c"__mempcpy", Function::Copy),
    (c"__memcpy_chk", Function::Copy),
    (c"__memmove_chk", Function::Move),
    (c"__memset_chk", Function::Fill),
    (c"__mempcpy_chk", Function::Copy),
];

/// Numbers of the entries that do the work of all others.
const MEMCPY: usize = 0;
const MEMMOVE: usize = 1;
const MEMSET: usize = 2;
const MEMCMP: usize = 3;

/// Finds the next functions. From here on each call goes to them.
pub extern "C" fn resolve() {
    for ((name, _), next) in ENTRIES.iter().zip(&NEXT) {
        next.store(address(name), Ordering::Release);
    }
    // Programs that were linked before glibc 2.14 mean `memcpy@GLIBC_2.2.5`, which moves. They are given
    // this library's memcpy as well, since it has no version.
    let is_of_the_c_library = NEXT[MEMCPY].load(Ordering::Relaxed) == of_glibc(c"memcpy");
    if is_of_the_c_library {
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

/// The address of a function that only glibc has by this version.
fn of_glibc(name: &CStr) -> usize {
    // SAFETY: as above.
    unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"GLIBC_2.14".as_ptr()) as usize }
}

/// Sets from which size on calls of a function are looked at.
pub fn limit(function: Function, bytes: u64) {
    for ((_, own), limit) in ENTRIES.iter().zip(&LIMITS) {
        if *own == function {
            limit.store(bytes, Ordering::Release);
        }
    }
}

/// Whose settings an entry has.
#[inline]
pub fn function(entry: u32) -> Function {
    ENTRIES.get(entry as usize).map_or(Function::Copy, |(_, function)| *function)
}

/// The next memcpy or memmove, whichever the entry is.
#[inline]
pub unsafe fn copy(function: Function, to: *mut c_void, from: *const c_void, bytes: usize) {
    let entry = if function == Function::Move { MEMMOVE } else { MEMCPY };
    type Copy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;
    // SAFETY: a function of this type, once entries go to large calls; the arguments are the caller's.
    unsafe {
        let next = std::mem::transmute::<usize, Copy>(NEXT[entry].load(Ordering::Relaxed));
        next(to, from, bytes);
    }
}

/// The next memset.
#[inline]
pub unsafe fn fill(to: *mut c_void, byte: c_int, bytes: usize) {
    type Fill = unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void;
    // SAFETY: as above.
    unsafe {
        let next = std::mem::transmute::<usize, Fill>(NEXT[MEMSET].load(Ordering::Relaxed));
        next(to, byte, bytes);
    }
}

/// The next memcmp.
#[inline]
pub unsafe fn compare(first: *const c_void, second: *const c_void, bytes: usize) -> c_int {
    type Compare = unsafe extern "C" fn(*const c_void, *const c_void, usize) -> c_int;
    // SAFETY: as above.
    unsafe {
        let next = std::mem::transmute::<usize, Compare>(NEXT[MEMCMP].load(Ordering::Relaxed));
        next(first, second, bytes)
    }
}
