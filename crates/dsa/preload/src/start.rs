//! The preparations before `main`: settings, queues, limits.
//!
//! Constructors of other libraries, also that of a software device, have run at this point, and no lock
//! is taken: this is the one moment at which the library may allocate. Until then all calls go to the C
//! library.

use crate::excluded_callers;
use crate::functions::MemoryFunction;
use crate::known_queues;
use crate::next_functions;
use crate::process;
use crate::queue_opening;
use crate::report;
use crate::settings;
use crate::tuning;
use dsa_client::instructions::Instructions;
use std::ffi::{CStr, c_char, c_int, c_void};

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Hook = unsafe extern "C" fn();
type Start = unsafe extern "C" fn(
    Main,
    c_int,
    *mut *mut c_char,
    Option<Hook>,
    Option<Hook>,
    Option<Hook>,
    *mut c_void,
) -> c_int;

/// Replaces the C library's function that runs a program: prepares, then calls it.
///
/// # Safety
/// As for the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __libc_start_main(
    main: Main,
    count: c_int,
    arguments: *mut *mut c_char,
    begin: Option<Hook>,
    end: Option<Hook>,
    linker_end: Option<Hook>,
    stack: *mut c_void,
) -> c_int {
    prepare();
    // SAFETY: the name ends with zero; the C library has this function, with this type.
    unsafe {
        let next = libc::dlsym(libc::RTLD_NEXT, c"__libc_start_main".as_ptr());
        let next = std::mem::transmute::<*mut c_void, Start>(next);
        next(main, count, arguments, begin, end, linker_end, stack)
    }
}

fn prepare() {
    let settings = settings::read();
    if !settings.is_on {
        return;
    }
    excluded_callers::find_libraries();
    // The first CPUID may be slow, and may trap.
    let _ = Instructions::detect();
    let troubles = match sanitizer() {
        None => known_queues::find(settings),
        Some(name) => {
            vec![format!(
                "{name} is loaded: a sanitizer checks all calls, which a device would bypass"
            )]
        }
    };
    process::prepare();
    report::begin(settings, troubles);
    if known_queues::known().is_empty() && !report::is_wanted() {
        return;
    }
    known_queues::find_nodes();
    tuning::begin(settings.cpu_share);
    open();
    if settings.opens_in_children {
        // SAFETY: the function is called in children of forks.
        unsafe { libc::pthread_atfork(None, None, Some(open)) };
    }
    for function in MemoryFunction::ALL {
        // Statistics count all calls.
        let least_bytes = settings.least_bytes_tried(function);
        next_functions::set_limit(function, if report::is_wanted() { 0 } else { least_bytes });
    }
}

/// The name of a function of the sanitizer with which the program was built; `None` without a sanitizer.
fn sanitizer() -> Option<&'static str> {
    let all = [c"__asan_init", c"__hwasan_init", c"__msan_init", c"__tsan_init"];
    // SAFETY: the name ends with zero.
    let is_loaded =
        |name: &&CStr| unsafe { !libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).is_null() };
    all.into_iter().find(is_loaded).and_then(|name| name.to_str().ok())
}

extern "C" fn open() {
    if let Some(process) = process::current() {
        queue_opening::open_all(process);
    }
}
