//! The CPUs of the program, which its engines may all use.
//!
//! A thread begins with the CPUs of its creator. A program that polls has often pinned the creator to one
//! CPU, and engines on that CPU would wait for the thread that polls for their records.

use std::mem::{MaybeUninit, size_of};
use std::sync::OnceLock;

type Cpus = libc::cpu_set_t;

static AT_START: OnceLock<Cpus> = OnceLock::new();

/// Stores the CPUs that the program begins with.
pub fn store_initial() {
    if let Some(own) = get() {
        // The first value is kept.
        let _ = AT_START.set(own);
    }
}

/// Runs `work`, which starts threads, on all CPUs that the program began with.
pub fn with_all<R>(work: impl FnOnce() -> R) -> R {
    let before = AT_START.get().and_then(|all| {
        let before = get()?;
        set(all).then_some(before)
    });
    let done = work();
    if let Some(before) = before {
        set(&before);
    }
    done
}

fn get() -> Option<Cpus> {
    let mut own = MaybeUninit::<Cpus>::zeroed();
    // SAFETY: a set of that size, of which all bits zero are one; the call writes into it only.
    unsafe {
        let done = libc::sched_getaffinity(0, size_of::<Cpus>(), own.as_mut_ptr());
        (done == 0).then(|| own.assume_init())
    }
}

fn set(cpus: &Cpus) -> bool {
    // SAFETY: a set of that size; only this thread changes.
    unsafe { libc::sched_setaffinity(0, size_of::<Cpus>(), cpus) == 0 }
}
