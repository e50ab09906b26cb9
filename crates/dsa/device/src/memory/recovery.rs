//! The point at which a thread resumes after a fault.
//!
//! The handler of a signal reads the thread's own variable, also in a library that was loaded before
//! the program (LD_PRELOAD): see [`crate::thread_variables`].

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicPtr, Ordering};

/// Stack and instruction at which a guarded call resumes after a fault.
#[repr(C)]
pub(super) struct Recovery {
    pub stack: u64,
    /// Address of the instruction; 0: no guarded call is running.
    pub instruction: u64,
}

crate::thread_variables!(fn variable() -> AtomicPtr<Recovery> = "skipline_dsa_recovery", 8);

/// The recovery of this thread's guarded call; null outside of one.
#[inline]
pub(super) fn current() -> *mut Recovery {
    variable().load(Ordering::Relaxed)
}

/// Sets the recovery of this thread. Returns the one before.
#[inline]
pub(super) fn replace(next: *mut Recovery) -> *mut Recovery {
    // Only this thread and its handlers access it, so two accesses do.
    let own = variable();
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
        let other =
            std::thread::spawn(|| (std::ptr::from_ref(variable()) as usize, current().is_null()));
        let (address, is_null) = other.join().expect("the thread only looks");
        assert!(is_null, "a thread begins without a recovery");
        assert_ne!(address, std::ptr::from_ref(variable()) as usize);
        assert_eq!(replace(outer), &raw mut own);
    }
}
