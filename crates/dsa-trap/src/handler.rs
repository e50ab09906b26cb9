//! The handler of SIGILL, SIGBUS and SIGSEGV, which the program shares.
//!
//! It emulates an instruction that this library is for. Any other signal goes to the program's action
//! ([`signals::actions`]).

use crate::context::TrapContext;
use crate::emulate::{self, Emulation};
use crate::signals::{self, actions};
use std::ffi::{c_int, c_void};

/// Installs the handlers, and keeps the actions that were there.
pub fn install() {
    dsa::memory::leave_handlers_to_caller();
    for (number, signal) in signals::OWN.into_iter().enumerate() {
        // SAFETY: a zeroed action is valid; its fields are set before use.
        unsafe {
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_signal as *const () as usize;
            // Of the three, one may come while another is handled: the engine's accesses fault.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigfillset(&raw mut ours.sa_mask);
            for own in signals::OWN {
                libc::sigdelset(&raw mut ours.sa_mask, own);
            }
            let mut before: libc::sigaction = std::mem::zeroed();
            signals::set_action(signal, &raw const ours, &raw mut before);
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
        unsafe { ((*info).si_code > 0, TrapContext::new(context.cast::<libc::ucontext_t>())) };
    let emulated =
        if is_raised { emulate::instruction(signal, &mut registers) } else { Emulation::NotOurs };
    match emulated {
        Emulation::Done => {}
        // SAFETY: as above.
        Emulation::NotOurs => unsafe { actions::as_the_program_says(signal, true, info, context) },
        // SAFETY: as above; the information is that of a fault without an address, or with one.
        Emulation::Protection | Emulation::PageFault(_) => unsafe {
            let mut fault: libc::siginfo_t = std::mem::zeroed();
            fault.si_signo = libc::SIGSEGV;
            fault.si_code = SI_KERNEL;
            if let Emulation::PageFault(address) = emulated {
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
