//! Memories of a process that forks.
//!
//! A child does not inherit huge pages: copying on write would move the parent's. In the child no lock
//! may belong to a thread that the child does not have: all locks are taken before fork(), and
//! released after it in parent and child.
#![allow(unsafe_code)]

use crate::lock::Lock;
use slices::memory::SliceMemory;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, OnceLock};

/// Number of forks between the process that first opened a memory and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The locks of all memories.
static LOCKS: OnceLock<Lock<Vec<Registered>>> = OnceLock::new();

#[derive(Clone, Copy, PartialEq)]
struct Registered(*const Lock<SliceMemory>);
// SAFETY: a lock is for all threads.
unsafe impl Send for Registered {}

/// A number that differs between the process that opened a memory and its children.
#[inline(always)]
pub fn generation() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

fn locks() -> &'static Lock<Vec<Registered>> {
    static WATCHED: Once = Once::new();
    let locks = LOCKS.get_or_init(|| Lock::new(Vec::new()));
    WATCHED.call_once(|| {
        // SAFETY: the handlers stay as long as the library, with which they are unregistered.
        unsafe { libc::pthread_atfork(Some(before), Some(after), Some(child)) };
    });
    locks
}

/// Makes forks wait for this lock, which does not move, until [`unregister`].
pub fn register(lock: *const Lock<SliceMemory>) {
    locks().with(|all| all.push(Registered(lock)));
}

/// Ends the effect of [`register`], before the lock is dropped.
pub fn unregister(lock: *const Lock<SliceMemory>) {
    locks().with(|all| all.retain(|&known| known != Registered(lock)));
}

extern "C" fn before() {
    let list = locks();
    list.take_for_fork();
    // SAFETY: this thread has the list's lock until `after`; locks are unregistered before they go.
    unsafe { (*list.value()).iter().for_each(|lock| (*lock.0).take_for_fork()) };
}

extern "C" fn after() {
    let list = locks();
    // SAFETY: `before` took all of them in this thread.
    unsafe {
        (*list.value()).iter().for_each(|lock| (*lock.0).leave_after_fork());
        list.leave_after_fork();
    }
}

extern "C" fn child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    after();
}
