//! Whose calls stay with the C library: this library's, and those of a software device's engines, which would
//! wait for themselves.
//!
//! Engines are threads of the program. What they call, an allocator for example, calls this library too; so
//! threads that begin while this library opens queues, or that run code of the software device, are inside
//! of a large call for ever ([`pthread_create`]).

use crate::local;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The library of `skipline-dsa run`.
const ENGINES: &[u8] = b"/libskipline_dsa_trap.so";

/// Addresses of both libraries, from the first to behind the last; 0 and 0: it is not loaded.
static OWN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static OF_ENGINES: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Learns where the libraries are.
pub fn learn() {
    // SAFETY: the function is called for each library, before the call returns.
    unsafe { libc::dl_iterate_phdr(Some(look_at), std::ptr::null_mut()) };
}

/// Whether the software device's library is loaded: its instructions work, whatever the processor says.
pub fn has_software_device() -> bool {
    OF_ENGINES[1].load(Ordering::Relaxed) != 0
}

/// Whether a call that returns to an address stays with the C library.
#[inline]
pub fn is_inside(address: u64) -> bool {
    [&OWN, &OF_ENGINES].into_iter().any(|[first, end]| {
        (first.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&address)
    })
}

unsafe extern "C" fn look_at(
    library: *mut libc::dl_phdr_info,
    _bytes: usize,
    _data: *mut c_void,
) -> c_int {
    // SAFETY: the C library describes a library that is loaded.
    let (base, name, headers) = unsafe {
        let library = &*library;
        let headers = std::slice::from_raw_parts(library.dlpi_phdr, library.dlpi_phnum.into());
        let name = match library.dlpi_name.is_null() {
            true => c"",
            false => CStr::from_ptr(library.dlpi_name),
        };
        (library.dlpi_addr, name.to_bytes(), headers)
    };
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let first = loaded.clone().map(|header| base + header.p_vaddr).min().unwrap_or_default();
    let end = loaded.map(|header| base + header.p_vaddr + header.p_memsz).max().unwrap_or_default();
    let own = learn as *const () as u64;
    let range = if (first..end).contains(&own) {
        &OWN
    } else if name.ends_with(ENGINES) {
        &OF_ENGINES
    } else {
        return 0;
    };
    range[0].store(first, Ordering::Relaxed);
    range[1].store(end, Ordering::Relaxed);
    0
}

type Work = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    Work,
    *mut c_void,
) -> c_int;

/// The C library's function that begins a thread.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    work: Work,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the C library has this function, with this type.
    let next = unsafe { std::mem::transmute::<*mut c_void, Create>(next_create()) };
    let [first, end] = &OF_ENGINES;
    let engines = first.load(Ordering::Relaxed)..end.load(Ordering::Relaxed);
    if !local::is_inside() && !engines.contains(&(work as *const () as u64)) {
        // SAFETY: the caller's arguments.
        return unsafe { next(thread, attributes, work, argument) };
    }
    let engine = Box::into_raw(Box::new((work, argument)));
    // SAFETY: the caller's arguments; the box is the new thread's.
    let result = unsafe { next(thread, attributes, as_engine, engine.cast()) };
    if result != 0 {
        // SAFETY: there is no new thread.
        drop(unsafe { Box::from_raw(engine) });
    }
    result
}

/// The next function of that name.
fn next_create() -> *mut c_void {
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    let mut next = NEXT.load(Ordering::Relaxed);
    if next.is_null() {
        // SAFETY: the name ends with zero.
        next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) };
        NEXT.store(next, Ordering::Relaxed);
    }
    next
}

unsafe extern "C" fn as_engine(engine: *mut c_void) -> *mut c_void {
    local::stay_inside();
    // SAFETY: the box was made for this thread.
    let (work, argument) = *unsafe { Box::from_raw(engine.cast::<(Work, *mut c_void)>()) };
    // SAFETY: what the caller wanted to run.
    unsafe { work(argument) }
}
