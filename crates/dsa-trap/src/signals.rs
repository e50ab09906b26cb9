//! Handlers of SIGILL, SIGBUS and SIGSEGV, which the program shares.
//!
//! The kernel knows our handler only. What a program sets for one of the three is kept here, and is what
//! happens to a signal that is none of ours. A thread may not block them, since the kernel ends a process
//! whose instruction raises a blocked one; what a program asks to block is kept for it, too.

pub mod actions;
pub mod masks;
mod running;
mod stacks;
mod threads;

use crate::context::Context;
use crate::emulate::{self, Emulated};
use crate::next::next;
use std::ffi::{c_int, c_void};

/// The signals that an instruction raises.
pub const OWN: [c_int; 3] = [libc::SIGILL, libc::SIGBUS, libc::SIGSEGV];

fn position(signal: c_int) -> Option<usize> {
    OWN.iter().position(|own| *own == signal)
}

/// The C library's `sigaction`.
unsafe fn set_action(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    next!(c"sigaction" as fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
        signal, new, old)
}

/// Installs the handlers, and keeps the actions that were there.
pub fn install() {
    dsa::memory::leave_handlers_to_caller();
    for (number, signal) in OWN.into_iter().enumerate() {
        // SAFETY: a zeroed action is valid; its fields are set before use.
        unsafe {
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_signal as *const () as usize;
            // Of the three, one may come while another is handled: the engine's accesses fault.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigfillset(&raw mut ours.sa_mask);
            for own in OWN {
                libc::sigdelset(&raw mut ours.sa_mask, own);
            }
            let mut before: libc::sigaction = std::mem::zeroed();
            set_action(signal, &raw const ours, &raw mut before);
            actions::keep(number, &before);
        }
    }
}

unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's information on this signal; a fault of a guarded access is this thread's.
    if unsafe { dsa::memory::recover(signal, info, context) } {
        return;
    }
    // SAFETY: each thread has its own errno.
    let errno = unsafe { &mut *libc::__errno_location() };
    let kept = *errno;
    // SAFETY: above zero the kernel reports what an instruction did; the context is that of its thread.
    let (is_raised, mut registers) =
        unsafe { ((*info).si_code > 0, Context::of(context.cast::<libc::ucontext_t>())) };
    let emulated =
        if is_raised { emulate::instruction(signal, &mut registers) } else { Emulated::NotOurs };
    match emulated {
        Emulated::Done => {}
        // SAFETY: as above.
        Emulated::NotOurs => unsafe { actions::as_the_program_says(signal, true, info, context) },
        // SAFETY: as above; the information is that of a fault without an address, or with one.
        Emulated::Protection | Emulated::PageFault(_) => unsafe {
            let mut fault: libc::siginfo_t = std::mem::zeroed();
            fault.si_signo = libc::SIGSEGV;
            fault.si_code = SI_KERNEL;
            if let Emulated::PageFault(address) = emulated {
                fault.si_code = SEGV_MAPERR;
                // The address is the first field behind the three numbers.
                (&raw mut fault).cast::<u64>().add(2).write(address);
            }
            let comes_again = signal == libc::SIGSEGV;
            actions::as_the_program_says(libc::SIGSEGV, comes_again, &raw mut fault, context);
        },
    }
    *errno = kept;
}

/// The code of a signal that the kernel raises without an address.
const SI_KERNEL: c_int = 0x80;
/// The code of a fault at an address that is not mapped.
const SEGV_MAPERR: c_int = 1;
