//! Values that are made at their first use and never freed, so that a signal handler may hold them.

use std::sync::atomic::{AtomicPtr, Ordering};

/// Returns the value of a pointer. If the pointer is null, makes the value first.
pub fn load_or_leak<T>(pointer: &AtomicPtr<T>, new: impl FnOnce() -> *mut T) -> &'static T {
    let mut known = pointer.load(Ordering::Acquire);
    if known.is_null() {
        let made = new();
        known = match pointer.compare_exchange(
            std::ptr::null_mut(),
            made,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => made,
            Err(other) => other,
        };
    }
    // SAFETY: a box that was leaked.
    unsafe { &*known }
}
