//! Signal masks without the three signals: the library stores which of them a thread has blocked, and
//! never blocks them in the kernel.

use super::{OWN, running_handler, stacks};
use crate::libc_functions::next;
use crate::private_libc;
use crate::thread_locals::local;
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// Whether the program has blocked one of the three in this thread.
pub fn blocks(number: usize) -> bool {
    local().blocked.get() >> number & 1 != 0
}

/// Removes the three signals from a set.
pub fn strip(set: &mut libc::sigset_t) {
    for own in OWN {
        // SAFETY: the set is one.
        unsafe { libc::sigdelset(set, own) };
    }
}

/// The three signals of a set as bits: bit n for signal n of the three.
fn own_bits(set: &libc::sigset_t) -> u64 {
    // SAFETY: the set is one.
    let has = |own: c_int| unsafe { libc::sigismember(set, own) } == 1;
    OWN.iter().enumerate().map(|(number, own)| u64::from(has(*own)) << number).sum()
}

/// The signals of the three that a handler blocks, as bits: those of its action's set, and its own
/// `signal`, if any.
pub fn blocked_by(set: &libc::sigset_t, signal: Option<c_int>) -> u64 {
    own_bits(set) | signal.and_then(super::position).map_or(0, |number| 1 << number)
}

/// Forgets handlers that the caller has left by a jump.
fn forget_left_handlers() {
    if local().handler.get() == 0 {
        return;
    }
    let stack = stacks::current();
    running_handler::forget_left(&raw const stack as u64, &stack);
}

/// Sets the mask of this thread in the kernel.
pub fn set(mask: &libc::sigset_t) {
    // SAFETY: the set is one.
    unsafe { private_libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

/// Runs `work` with all signals blocked but the three.
pub fn without_signals<R>(work: impl FnOnce() -> R) -> R {
    let mut before = MaybeUninit::uninit();
    // SAFETY: sets of this function; the call fills the second one in.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        strip(&mut all);
        private_libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, before.as_mut_ptr());
        let result = work();
        private_libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        result
    }
}

/// The next library's `pthread_sigmask`, for the program.
unsafe fn change(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    next!(c"pthread_sigmask" as fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int;
        how, new, old)
}

/// `pthread_sigmask` of the C library. It stores the three signals of the mask instead of blocking them.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { change_of_program(how, new, old) }
}

/// Changes the mask of this thread for the program.
unsafe fn change_of_program(
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    if crate::run::current().is_none() {
        // SAFETY: the caller's arguments.
        return unsafe { change(how, new, old) };
    }
    // SAFETY: the caller's pointers are null or valid.
    unsafe {
        let mut stripped = new.as_ref().copied();
        let asked = new.as_ref().map_or(0, own_bits);
        if let Some(set) = &mut stripped {
            strip(set);
        }
        let new_set = stripped.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let result = change(how, new_set, old);
        if result != 0 {
            return result;
        }
        forget_left_handlers();
        let before = local().blocked.get();
        if let Some(old) = old.as_mut() {
            for (number, own) in OWN.into_iter().enumerate() {
                if before >> number & 1 != 0 {
                    libc::sigaddset(old, own);
                }
            }
        }
        if !new.is_null() {
            local().blocked.set(match how {
                libc::SIG_BLOCK => before | asked,
                libc::SIG_UNBLOCK => before & !asked,
                _ => asked,
            });
        }
    }
    0
}

/// `sigprocmask` of the C library, by [`pthread_sigmask`].
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigprocmask(
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's arguments.
    let error = unsafe { change_of_program(how, new, old) };
    if error == 0 {
        return 0;
    }
    // SAFETY: each thread has its own errno.
    unsafe { *libc::__errno_location() = error };
    -1
}
