//! The program's actions, masks, alternate stacks and threads, as far as SIGILL, SIGBUS and SIGSEGV are
//! concerned.
//!
//! The kernel knows the handler of this library only ([`crate::handler`]). The action that a program sets
//! for one of the three signals is stored here, and is carried out for each signal that no instruction of
//! a portal has raised. A thread may not block the three, since the kernel ends a process whose
//! instruction raises a blocked one. If a thread blocks one of these signals, it sees it as blocked, but
//! the library still receives it.

pub mod actions;
pub mod masks;
mod running_handler;
pub mod stacks;
mod threads;

use crate::libc_functions::next;
use crate::thread_locals::local;
use std::ffi::c_int;

/// The signals that an instruction may raise and that this library handles.
pub const OWN: [c_int; 3] = [libc::SIGILL, libc::SIGBUS, libc::SIGSEGV];

fn position(signal: c_int) -> Option<usize> {
    OWN.iter().position(|own| *own == signal)
}

/// Calls the C library's own `sigaction`.
///
/// # Safety
/// As the C library's.
pub unsafe fn set_action(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    next!(c"sigaction" as fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
        signal, new, old)
}

/// Raises the signals that were sent to this thread while it executed a descriptor.
pub fn raise_postponed() {
    let postponed = local().postponed.replace(0);
    for (number, signal) in OWN.into_iter().enumerate() {
        if postponed >> number & 1 != 0 {
            // SAFETY: this handler takes it.
            unsafe { libc::raise(signal) };
        }
    }
}
