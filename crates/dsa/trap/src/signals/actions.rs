//! The program's actions for the three signals.

use super::running_handler::{self, HandlerMark};
use super::{OWN, masks, position, set_action};
use crate::private_libc;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

/// An action, behind a lock that a signal handler can take: a thread that holds the lock has all signals
/// blocked.
struct StoredAction {
    locked: AtomicBool,
    action: UnsafeCell<MaybeUninit<libc::sigaction>>,
}

// SAFETY: the action is accessed with the lock only.
unsafe impl Sync for StoredAction {}

static ACTIONS: [StoredAction; OWN.len()] = [const {
    StoredAction { locked: AtomicBool::new(false), action: UnsafeCell::new(MaybeUninit::zeroed()) }
}; OWN.len()];

impl StoredAction {
    fn with<R>(&self, access: impl FnOnce(&mut libc::sigaction) -> R) -> R {
        masks::without_signals(|| {
            while self.locked.swap(true, Ordering::Acquire) {
                std::hint::spin_loop();
            }
            // SAFETY: the lock is held; an action is valid when it is all zero, too.
            let result = access(unsafe { (*self.action.get()).assume_init_mut() });
            self.locked.store(false, Ordering::Release);
            result
        })
    }
}

/// Releases the locks in a forked child: a thread of the parent may have held one, and the child does not
/// have that thread.
pub fn unlock_in_child() {
    for kept in &ACTIONS {
        kept.locked.store(false, Ordering::Release);
    }
}

/// Stores the program's action for one of the three signals. Returns the action before.
pub fn store(number: usize, action: &libc::sigaction) -> libc::sigaction {
    ACTIONS[number].with(|kept| std::mem::replace(kept, *action))
}

/// Carries out the program's action for a signal. `comes_again`: the instruction raises the signal once
/// more, if the handler returns to it.
///
/// # Safety
/// The arguments are those of the kernel's handler.
pub unsafe fn deliver(
    signal: c_int,
    comes_again: bool,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    let Some(number) = position(signal) else { return };
    // SAFETY: information and context are the kernel's.
    let is_sent = unsafe {
        let interrupted = &*context.cast::<libc::ucontext_t>();
        let number = usize::try_from(libc::REG_RSP).unwrap_or_default();
        let stack_pointer = interrupted.uc_mcontext.gregs[number].cast_unsigned();
        running_handler::forget_left(stack_pointer, &interrupted.uc_stack);
        (*info).si_code <= 0
    };
    let action = ACTIONS[number].with(|kept| {
        let action = *kept;
        if action.sa_flags & libc::SA_RESETHAND != 0 {
            kept.sa_sigaction = libc::SIG_DFL;
        }
        action
    });
    match action.sa_sigaction {
        // A signal that an instruction raises can be neither ignored nor left pending.
        libc::SIG_IGN if is_sent => {}
        libc::SIG_IGN | libc::SIG_DFL => take_default(signal, is_sent || !comes_again),
        _ if !is_sent && masks::blocks(number) => take_default(signal, !comes_again),
        // SAFETY: the handler is the program's own, of the type that the flags say.
        _ => unsafe { call(&action, signal, info, context) },
    }
}

/// Sets the kernel's default action, which ends the process when the instruction raises the signal once
/// more, or when the signal is sent again (`is_sent`).
fn take_default(signal: c_int, is_sent: bool) {
    // SAFETY: a zeroed action is the default one.
    unsafe {
        let action: libc::sigaction = std::mem::zeroed();
        private_libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        if is_sent {
            libc::raise(signal);
        }
    }
}

/// Calls a handler of the program with the signals blocked that the kernel would have blocked.
unsafe fn call(
    action: &libc::sigaction,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the context has the mask of the interrupted thread; both sets are the action's and ours.
    unsafe {
        let interrupted = &*context.cast::<libc::ucontext_t>();
        let mut mask = interrupted.uc_sigmask;
        for other in 1..=libc::SIGRTMAX() {
            if libc::sigismember(&raw const action.sa_mask, other) == 1 {
                libc::sigaddset(&raw mut mask, other);
            }
        }
        let itself = (action.sa_flags & libc::SA_NODEFER == 0).then_some(signal);
        let mut mark = HandlerMark::new();
        let outer = mark.begin(masks::blocked_by(&action.sa_mask, itself), &interrupted.uc_stack);
        masks::strip(&mut mask);
        masks::set(&mask);
        if action.sa_flags & libc::SA_SIGINFO == 0 {
            let handler: extern "C" fn(c_int) = std::mem::transmute(action.sa_sigaction);
            handler(signal);
        } else {
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(action.sa_sigaction);
            handler(signal, info, context);
        }
        mark.end(&outer);
    }
}

/// `sigaction` of the C library. It stores the actions for the three signals instead of setting them.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { change_of_program(signal, new, old) }
}

/// Changes the action of a signal for the program.
unsafe fn change_of_program(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let number = position(signal).filter(|_| crate::run::current().is_some());
    // SAFETY: the caller's pointers are null or valid.
    unsafe {
        let Some(number) = number else {
            let mut stripped = new.as_ref().copied();
            if crate::run::current().is_some()
                && let Some(action) = &mut stripped
            {
                masks::strip(&mut action.sa_mask);
            }
            let new = stripped.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            return set_action(signal, new, old);
        };
        let before = match new.as_ref() {
            Some(action) => store(number, action),
            None => ACTIONS[number].with(|kept| *kept),
        };
        if let Some(old) = old.as_mut() {
            *old = before;
        }
    }
    0
}

/// `signal` of the C library, by [`sigaction`].
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: a zeroed action is valid; the C library's function sets these flags as well.
    unsafe {
        let mut new: libc::sigaction = std::mem::zeroed();
        let mut old: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESTART;
        libc::sigaddset(&raw mut new.sa_mask, signal);
        if change_of_program(signal, &raw const new, &raw mut old) == 0 {
            old.sa_sigaction
        } else {
            libc::SIG_ERR
        }
    }
}

/// `signal` of the C library in programs of strict POSIX or System V, by [`sigaction`].
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sysv_signal(
    signal: c_int,
    handler: libc::sighandler_t,
) -> libc::sighandler_t {
    // SAFETY: a zeroed action is valid.
    unsafe {
        let mut new: libc::sigaction = std::mem::zeroed();
        let mut old: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESETHAND | libc::SA_NODEFER;
        if change_of_program(signal, &raw const new, &raw mut old) == 0 {
            old.sa_sigaction
        } else {
            libc::SIG_ERR
        }
    }
}
