//! The point at which a thread resumes after a fault.
//!
//! The handler of a signal reads the thread's own variable, also in a library that was loaded before
//! the program (LD_PRELOAD). A `thread_local!` of a library is found by `__tls_get_addr`, which may
//! allocate at its first call. This variable has the initial-exec model instead: two instructions find
//! it. Stable Rust cannot express that, so it is defined in assembly. A library that has it can only
//! be loaded at the start of a process, or with `dlopen` while the C library has spare static storage,
//! of which this takes 8 bytes.
//!
//! Source: "ELF Handling for Thread-Local Storage" (Drepper), section 4.4.6, initial exec for x86-64.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicPtr, Ordering};

/// Stack and instruction at which a guarded call resumes after a fault.
#[repr(C)]
pub(super) struct Recovery {
    pub stack: u64,
    /// Address of the instruction; 0: no guarded call is running.
    pub instruction: u64,
}

std::arch::global_asm!(
    ".pushsection .tbss.skipline_dsa_recovery, \"awT\", @nobits",
    ".balign 8",
    ".globl skipline_dsa_recovery",
    ".hidden skipline_dsa_recovery",
    ".type skipline_dsa_recovery, @object",
    ".size skipline_dsa_recovery, 8",
    "skipline_dsa_recovery:",
    ".zero 8",
    ".popsection",
);

/// The address of this thread's variable.
#[inline]
fn variable() -> *mut *mut Recovery {
    let address;
    // SAFETY: the instructions read the variable's offset and the thread's base, and change nothing.
    unsafe {
        std::arch::asm!(
            "mov {address}, qword ptr [rip + skipline_dsa_recovery@GOTTPOFF]",
            "add {address}, qword ptr fs:[0]",
            address = out(reg) address,
            options(pure, nomem, nostack),
        );
    }
    address
}

/// The recovery of this thread's guarded call; null outside of one.
#[inline]
pub(super) fn current() -> *mut Recovery {
    // SAFETY: the variable is this thread's, aligned, and begins as null.
    unsafe { AtomicPtr::from_ptr(variable()) }.load(Ordering::Relaxed)
}

/// Sets the recovery of this thread. Returns the one before.
#[inline]
pub(super) fn replace(next: *mut Recovery) -> *mut Recovery {
    // SAFETY: as above. Only this thread and its handlers access it, so two accesses do.
    let own = unsafe { AtomicPtr::from_ptr(variable()) };
    let before = own.load(Ordering::Relaxed);
    own.store(next, Ordering::Relaxed);
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_variable_of_its_own() {
        let mut own = Recovery { stack: 1, instruction: 0 };
        let outer = replace(&raw mut own);
        let other = std::thread::spawn(|| (variable() as usize, current().is_null()));
        let (address, is_null) = other.join().expect("the thread only looks");
        assert!(is_null, "a thread begins without a recovery");
        assert_ne!(address, variable() as usize);
        assert_eq!(replace(outer), &raw mut own);
    }
}
