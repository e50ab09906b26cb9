//! New threads, which inherit the mask of the thread that creates them, with the signals that are blocked
//! only in this library as well.

use crate::libc_functions::next;
use crate::thread_locals::local;
use std::ffi::{c_int, c_void};

/// Start routine of a thread.
type StartRoutine = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// Arguments of a new thread that blocks some of the three signals.
struct ThreadStart {
    blocked: u64,
    start: StartRoutine,
    argument: *mut c_void,
}

/// Start routine: blocks the signals that the creator has blocked, and calls the program's own function. That
/// one may unwind through this frame (`pthread_exit`), which owns nothing by then.
///
/// Its name is known to the preloaded library (`dsa-preload`): threads that begin here are the program's, and
/// all others that begin in this library are engines.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn skipline_dsa_trap_begin_thread(beginning: *mut c_void) -> *mut c_void {
    // SAFETY: the box of `pthread_create`, for this thread alone.
    let ThreadStart { blocked, start, argument } =
        *unsafe { Box::from_raw(beginning.cast::<ThreadStart>()) };
    local().blocked.set(blocked);
    start(argument)
}

/// `pthread_create` of the C library. The thread inherits the signals that its creator has blocked in this
/// library.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: StartRoutine,
    argument: *mut c_void,
) -> c_int {
    let blocked = local().blocked.get();
    if blocked == 0 || is_engine(start) {
        return create(thread, attributes, start, argument);
    }
    let beginning = Box::into_raw(Box::new(ThreadStart { blocked, start, argument }));
    let result = create(thread, attributes, skipline_dsa_trap_begin_thread, beginning.cast());
    if result != 0 {
        // SAFETY: no thread has it.
        drop(unsafe { Box::from_raw(beginning) });
    }
    result
}

/// Whether a start routine is in this library: the program cannot see which signals an engine blocks.
fn is_engine(start: StartRoutine) -> bool {
    let base = |address: *const c_void| {
        // SAFETY: all bits zero are a valid value, which the C library fills in.
        unsafe {
            let mut found: libc::Dl_info = std::mem::zeroed();
            (libc::dladdr(address, &raw mut found) != 0).then_some(found.dli_fbase)
        }
    };
    let own = base(skipline_dsa_trap_begin_thread as *const () as *const c_void);
    own.is_some() && base(start as *const () as *const c_void) == own
}

fn create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: StartRoutine,
    argument: *mut c_void,
) -> c_int {
    next!(c"pthread_create"
        as fn(*mut libc::pthread_t, *const libc::pthread_attr_t, StartRoutine, *mut c_void) -> c_int;
        thread, attributes, start, argument)
}
