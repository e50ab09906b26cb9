//! The CPUs of the program, which its engines may all use.
//!
//! A thread begins with the CPUs of its creator. A program that polls has pinned that one to a CPU, and
//! engines would wait there for what it polls for.

use std::mem::{MaybeUninit, size_of};
use std::sync::OnceLock;

type Cpus = libc::cpu_set_t;

static AT_START: OnceLock<Cpus> = OnceLock::new();

/// Notes the CPUs that the program begins with.
pub fn note() {
    if let Some(own) = get() {
        // What was noted first stays.
        let _ = AT_START.set(own);
    }
}

/// Does `work`, which starts threads, with all CPUs that the program began with.
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
