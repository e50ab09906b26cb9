//! The handlers of SIGSEGV and SIGBUS, which find the guarded call that a fault belongs to.
//!
//! They are installed with the first guarded call, unless the program calls [`leave_handlers_to_caller`]
//! before: then its own handlers call [`recover`] first, and go on if that returns false.

use super::recovery;
use std::ffi::{c_int, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Actions that were set before the handlers of this crate, for SIGSEGV and SIGBUS.
static BEFORE: [AtomicPtr<libc::sigaction>; 2] =
    [AtomicPtr::new(std::ptr::null_mut()), AtomicPtr::new(std::ptr::null_mut())];
static SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

static INSTALLED: AtomicBool = AtomicBool::new(false);
static INSTALLING: Once = Once::new();

/// Installs the handlers, once for the process.
#[inline]
pub(super) fn install() {
    install_with(put_ours);
}

/// Keeps this crate from installing signal handlers: the caller's handlers for SIGSEGV and SIGBUS have to
/// call [`recover`]. It has to be called before the first descriptor is executed, and does not remove
/// handlers that are installed already. A handler that executes descriptors itself needs a stack for two
/// frames of the kernel (`AT_MINSIGSTKSZ`, 3.4 KB with AVX-512) and 4 KiB more, since an operand of the
/// descriptor may fault.
pub fn leave_handlers_to_caller() {
    install_with(|| {});
}

#[inline]
fn install_with(how: fn()) {
    if !INSTALLED.load(Ordering::Acquire) {
        INSTALLING.call_once(how);
        INSTALLED.store(true, Ordering::Release);
    }
}

#[allow(unsafe_code)]
fn put_ours() {
    for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
        // SAFETY: a zeroed sigaction is valid; its fields are set before use, and the old action is
        // kept for ever, as the handler may read it at any time.
        unsafe {
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_fault as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut ours.sa_mask);
            let kept = Box::into_raw(Box::new(std::mem::zeroed::<libc::sigaction>()));
            libc::sigaction(signal, std::ptr::null(), kept);
            before.store(kept, Ordering::Release);
            libc::sigaction(signal, &raw const ours, std::ptr::null_mut());
        }
    }
}

#[allow(unsafe_code)]
unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the arguments are those of the kernel.
    unsafe {
        if !recover(signal, info, context) {
            as_before(signal, info, context);
        }
    }
}

/// Ends the guarded call of this thread whose memory access raised the signal: sets the interrupted
/// context to behind the call, where the thread goes on when the handler returns. Does nothing and
/// returns `false` for a signal that is not such a fault. It takes no lock, allocates nothing, and makes
/// no system call.
///
/// # Safety
/// The arguments are those that the kernel passes to a handler with `SA_SIGINFO`, in that handler.
#[allow(unsafe_code, clippy::cast_possible_wrap)]
pub unsafe fn recover(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) -> bool {
    let recovery = recovery::current();
    // SAFETY: the kernel passes what the signal's information is; a recovery that is set is there.
    let is_ours = unsafe {
        // Above zero: the kernel reports a fault. Signals that programs send have zero or less.
        SIGNALS.contains(&signal)
            && (*info).si_code > 0
            && recovery.as_ref().is_some_and(|own| own.instruction != 0)
    };
    if !is_ours {
        return false;
    }
    recovery::replace(std::ptr::null_mut());
    // SAFETY: the kernel passes the interrupted context of this thread, which returns into
    // `call_guarded`, whose stack frame is still there.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        registers[libc::REG_RSP as usize] = (*recovery).stack as i64;
        registers[libc::REG_RIP as usize] = (*recovery).instruction as i64;
    }
    true
}

/// Carries out the action that was set before, as the kernel would have done.
#[allow(unsafe_code)]
unsafe fn as_before(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(number) = SIGNALS.iter().position(|own| *own == signal) else { return };
    // SAFETY: an action that was stored is never freed.
    let before = unsafe { BEFORE[number].load(Ordering::Acquire).as_ref() };
    // SAFETY: the information is the kernel's.
    let is_sent = unsafe { (*info).si_code } <= 0;
    match before {
        // A fault that the kernel itself reports cannot be ignored.
        Some(before) if before.sa_sigaction == libc::SIG_IGN && is_sent => {}
        Some(before) if ![libc::SIG_IGN, libc::SIG_DFL].contains(&before.sa_sigaction) => {
            if before.sa_flags & libc::SA_RESETHAND != 0 {
                // The next one meets the default action.
                BEFORE[number].store(std::ptr::null_mut(), Ordering::Release);
            }
            // SAFETY: the action has been one of this process.
            unsafe { call(before, signal, info, context) };
        }
        // SAFETY: only the action of this signal changes, to the default. A fault comes again, as its
        // instruction does; a signal that was sent is sent again, and both end the process.
        _ => unsafe {
            libc::signal(signal, libc::SIG_DFL);
            if is_sent {
                libc::raise(signal);
            }
        },
    }
}

/// Calls a handler with the signals blocked that its action names.
#[allow(unsafe_code)]
unsafe fn call(
    before: &libc::sigaction,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: masks are the action's and a set of one signal; the mask ends with our handler. The
    // handler has the type that its flags say.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const before.sa_mask, std::ptr::null_mut());
        if before.sa_flags & libc::SA_NODEFER != 0 {
            let mut own: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut own);
            libc::sigaddset(&raw mut own, signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const own, std::ptr::null_mut());
        }
        if before.sa_flags & libc::SA_SIGINFO == 0 {
            let handler: extern "C" fn(c_int) = std::mem::transmute(before.sa_sigaction);
            handler(signal);
        } else {
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(before.sa_sigaction);
            handler(signal, info, context);
        }
    }
}
