//! The handler of SIGILL, SIGBUS and SIGSEGV, which the program shares.
//!
//! It emulates an instruction that this library is for. Any other signal goes to the program's action
//! ([`signals::actions`]).

use crate::context::TrapContext;
use crate::emulate::{self, Emulation};
use crate::private_libc;
use crate::signals::{self, actions};
use crate::thread_locals::local;
use std::ffi::{c_int, c_void};

/// Installs the handler for the three signals where it is not, and stores the actions that were set before.
///
/// A library may set an action by a system call, or by a function of the C library that it has found itself,
/// as AddressSanitizer does: then the handler is installed again.
pub fn install() {
    dsa::memory::leave_handlers_to_caller();
    for (number, signal) in signals::OWN.into_iter().enumerate() {
        // SAFETY: a zeroed action is valid; its fields are set before use.
        unsafe {
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_signal as *const () as usize;
            // One of the three may arrive while another is handled: accesses of the emulation fault.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigfillset(&raw mut ours.sa_mask);
            for own in signals::OWN {
                libc::sigdelset(&raw mut ours.sa_mask, own);
            }
            let mut before: libc::sigaction = std::mem::zeroed();
            private_libc::sigaction(signal, std::ptr::null(), &raw mut before);
            if before.sa_sigaction == ours.sa_sigaction {
                continue;
            }
            private_libc::sigaction(signal, &raw const ours, &raw mut before);
            actions::store(number, &before);
        }
    }
}

unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's information on this signal; a fault of a guarded access is this thread's.
    if unsafe { dsa::memory::recover(signal, info, context) } {
        return;
    }
    // SAFETY: the kernel's information.
    if local().executes.get() != 0 && unsafe { (*info).si_code } <= 0 {
        // A handler of the program may jump away, and what is under way has locks.
        let number = signals::OWN.iter().position(|own| *own == signal).unwrap_or_default();
        local().postponed.set(local().postponed.get() | 1 << number);
        return;
    }
    // SAFETY: each thread has its own errno.
    let errno = unsafe { &mut *libc::__errno_location() };
    let kept = *errno;
    // SAFETY: above zero the kernel reports what an instruction did; the context is that of its thread.
    let (is_raised, mut registers) =
        unsafe { ((*info).si_code > 0, TrapContext::new(context.cast::<libc::ucontext_t>())) };
    let outer = local().handles_on_alternate.replace(registers.is_on_alternate_stack().into());
    let emulated =
        if is_raised { emulate::instruction(signal, &mut registers) } else { Emulation::NotOurs };
    local().handles_on_alternate.set(outer);
    match emulated {
        Emulation::Done => {}
        // SAFETY: as above.
        Emulation::NotOurs => unsafe { actions::deliver(signal, true, info, context) },
        // SAFETY: as above; the information describes a fault, with an address or without.
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
            actions::deliver(libc::SIGSEGV, comes_again, &raw mut fault, context);
        },
    }
    *errno = kept;
    if emulated == Emulation::Done {
        signals::raise_postponed();
    }
}

/// The code of a signal that the kernel raises without an address.
const SI_KERNEL: c_int = 0x80;
/// The code of a fault at an address that is not mapped.
const SEGV_MAPERR: c_int = 1;
