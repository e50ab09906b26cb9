//! Callers whose calls stay with the C library: this library, and the engines of a software device, which
//! would wait for themselves.
//!
//! Engines are threads of the program. Functions that they call, an allocator for example, call this
//! library too. So threads that begin while this library opens queues, or that run code of the software
//! device, count as inside a large call for ever ([`pthread_create`]).

use crate::thread_state;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// File name of the library of `skipline-dsa run`.
const ENGINES: &[u8] = b"/libskipline_dsa_trap.so";

/// First address of this library, and the address after its last; both 0 until [`find_libraries`].
static THIS_LIBRARY: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// The same of the library of a software device; both 0 if it is not loaded.
static ENGINE_LIBRARY: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Where threads of the program begin in the library of a software device, which has to prepare them; null
/// if it is not loaded.
static BEGIN_THREAD: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Finds the addresses of both libraries.
pub fn find_libraries() {
    // SAFETY: the name ends with zero.
    let begin =
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"skipline_dsa_trap_begin_thread".as_ptr()) };
    BEGIN_THREAD.store(begin, Ordering::Relaxed);
    // SAFETY: the function is called for each library, before the call returns.
    unsafe { libc::dl_iterate_phdr(Some(note_library), std::ptr::null_mut()) };
}

/// Whether the library of a software device is loaded, which emulates the instructions that submit
/// descriptors.
pub fn has_software_device() -> bool {
    ENGINE_LIBRARY[1].load(Ordering::Relaxed) != 0
}

/// Whether a call that returns to an address is not the program's, as one of the two libraries or an engine
/// made it: it stays with the C library, and is not counted.
#[inline]
pub fn is_of_device(address: u64) -> bool {
    thread_state::is_engine() || is_in_library(address)
}

fn is_in_library(address: u64) -> bool {
    [&THIS_LIBRARY, &ENGINE_LIBRARY].into_iter().any(|[first, end]| {
        (first.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&address)
    })
}

unsafe extern "C" fn note_library(
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
    let own = find_libraries as *const () as u64;
    let range = if (first..end).contains(&own) {
        &THIS_LIBRARY
    } else if name.ends_with(ENGINES) {
        &ENGINE_LIBRARY
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

/// Replaces the C library's function: marks threads that begin inside a large call, or run code of engines.
///
/// # Safety
/// As for the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    work: Work,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the C library has this function, with this type.
    let next = unsafe { std::mem::transmute::<*mut c_void, Create>(next_create()) };
    if !thread_state::is_inside() && !is_engine(work) {
        // SAFETY: the caller's arguments.
        return unsafe { next(thread, attributes, work, argument) };
    }
    let engine = Box::into_raw(Box::new((work, argument)));
    // SAFETY: the caller's arguments; the box is the new thread's.
    let result = unsafe { next(thread, attributes, run_as_engine, engine.cast()) };
    if result != 0 {
        // SAFETY: there is no new thread.
        drop(unsafe { Box::from_raw(engine) });
    }
    result
}

/// Whether a thread that begins with this function is an engine of a software device.
fn is_engine(work: Work) -> bool {
    let [first, end] = &ENGINE_LIBRARY;
    let engines = first.load(Ordering::Relaxed)..end.load(Ordering::Relaxed);
    let begin = BEGIN_THREAD.load(Ordering::Relaxed) as u64;
    let work = work as *const () as u64;
    engines.contains(&work) && work != begin
}

/// The address of the next `pthread_create`.
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

unsafe extern "C" fn run_as_engine(engine: *mut c_void) -> *mut c_void {
    thread_state::become_engine();
    // SAFETY: the box was made for this thread.
    let (work, argument) = *unsafe { Box::from_raw(engine.cast::<(Work, *mut c_void)>()) };
    // SAFETY: the function and the argument of the caller.
    unsafe { work(argument) }
}
