//! A lock that is nearly free for the first thread that takes it: threads may share a memory, but most
//! memories have one thread.
//!
//! The first thread that takes the lock owns it. That thread only sets a flag while it is inside; no
//! other thread may enter yet, so that no atomic exchange is needed. The first call of another thread
//! revokes the ownership: it stores the revocation, makes all threads of the process pass a barrier
//! (membarrier(2)), after which the owner sees the revocation or its flag is seen, and waits until the
//! owner has left. From then on all threads take a mutex of pthreads, which sanitizers know.
#![allow(unsafe_code)]

use std::arch::asm;
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

/// The lock of a value.
pub struct Lock<T> {
    /// Thread pointer of the owner; [`UNOWNED`], or [`REVOKED`].
    owner: AtomicUsize,
    inside: AtomicBool,
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    value: UnsafeCell<T>,
}

const UNOWNED: usize = 0;
/// A value that no thread pointer has: these are aligned.
const REVOKED: usize = 1;

// SAFETY: one thread at a time has the value, which may be handed from thread to thread.
unsafe impl<T: Send> Sync for Lock<T> {}
// SAFETY: as above; the mutex is not locked where a value is moved.
unsafe impl<T: Send> Send for Lock<T> {}

/// Address of the thread's control block, which is unique among living threads.
#[inline(always)]
fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: the first word of a thread's control block is its address (System V ABI, TLS).
    unsafe {
        asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly, pure));
    }
    pointer
}

impl<T> Lock<T> {
    pub fn new(value: T) -> Self {
        // A sanitizer understands a mutex, but not ownership: under a sanitizer the lock is never owned.
        let owned = has_barriers() && !thread_sanitizer_runs();
        Self {
            owner: AtomicUsize::new(if owned { UNOWNED } else { REVOKED }),
            inside: AtomicBool::new(false),
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            value: UnsafeCell::new(value),
        }
    }

    /// Runs `body` with the value.
    #[inline(always)]
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        let _guard = LockGuard { lock: self, by_owner: self.take() };
        // SAFETY: the lock is held until `body` is done.
        body(unsafe { &mut *self.value.get() })
    }

    /// Runs `body` with the value, if this thread is the owner; needs no function call. `None`
    /// otherwise.
    #[inline(always)]
    pub fn with_owned<R>(&self, body: impl FnOnce(&mut T) -> Option<R>) -> Option<R> {
        if !self.enter_as_owner(thread_pointer()) {
            return None;
        }
        // SAFETY: this thread is inside.
        let result = body(unsafe { &mut *self.value.get() });
        self.inside.store(false, Ordering::Release);
        result
    }

    #[inline(always)]
    fn enter_as_owner(&self, mine: usize) -> bool {
        if self.owner.load(Ordering::Relaxed) != mine {
            return false;
        }
        self.inside.store(true, Ordering::Relaxed);
        // The processor may still swap the two: the revoking thread's barrier is for both.
        compiler_fence(Ordering::SeqCst);
        if self.owner.load(Ordering::Relaxed) == mine {
            return true;
        }
        self.inside.store(false, Ordering::Release);
        false
    }

    /// Takes the lock and returns whether this thread is its owner.
    #[inline(always)]
    fn take(&self) -> bool {
        let mine = thread_pointer();
        self.enter_as_owner(mine) || self.take_shared(mine)
    }

    #[cold]
    #[inline(never)]
    fn take_shared(&self, mine: usize) -> bool {
        let (order, failed) = (Ordering::AcqRel, Ordering::Acquire);
        if self.owner.compare_exchange(UNOWNED, mine, order, failed).is_ok() {
            return self.take();
        }
        self.lock_mutex();
        if self.owner.load(Ordering::Acquire) != REVOKED {
            self.revoke();
        }
        false
    }

    /// Ends the ownership; the caller has the mutex, so that no other thread revokes.
    fn revoke(&self) {
        self.owner.store(REVOKED, Ordering::SeqCst);
        barrier();
        while self.inside.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }

    /// Takes the mutex, even if this thread is the owner: a thread that revokes has the mutex, and a
    /// child of fork() does not have that thread. Ends the ownership of another thread.
    pub fn take_for_fork(&self) {
        self.lock_mutex();
        let mine = thread_pointer();
        let (order, failed) = (Ordering::AcqRel, Ordering::Acquire);
        match self.owner.compare_exchange(UNOWNED, mine, order, failed) {
            Err(other) if other != REVOKED && other != mine => self.revoke(),
            _ => {}
        }
    }

    /// Releases the mutex in the parent and in the child.
    ///
    /// # Safety
    /// This thread has called [`Self::take_for_fork`], in the parent.
    pub unsafe fn leave_after_fork(&self) {
        // SAFETY: that locked it.
        unsafe { self.leave(false) };
    }

    /// Releases the lock; `by_owner` is the result of [`Self::take`].
    ///
    /// # Safety
    /// This thread has it.
    #[inline(always)]
    unsafe fn leave(&self, by_owner: bool) {
        if by_owner {
            self.inside.store(false, Ordering::Release);
        } else {
            // SAFETY: this thread locked it.
            unsafe { libc::pthread_mutex_unlock(self.mutex.get()) };
        }
    }

    /// The value, for a thread between [`Self::take_for_fork`] and [`Self::leave_after_fork`].
    pub fn value(&self) -> *mut T {
        self.value.get()
    }

    fn lock_mutex(&self) {
        // SAFETY: the mutex is initialised, does not move while it is shared, and is not held by this
        // thread: no function of the interface calls another one.
        let answer = unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        debug_assert_eq!(answer, 0);
    }
}

impl<T> Drop for Lock<T> {
    fn drop(&mut self) {
        // SAFETY: no thread uses the lock any more.
        unsafe { libc::pthread_mutex_destroy(self.mutex.get()) };
    }
}

/// Releases the lock when it is dropped, even if the body panics.
struct LockGuard<'a, T> {
    lock: &'a Lock<T>,
    by_owner: bool,
}

impl<T> Drop for LockGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: it was taken with that answer.
        unsafe { self.lock.leave(self.by_owner) };
    }
}

/// Commands of membarrier(2).
const EXPEDITED: i32 = 1 << 3;
const REGISTER_EXPEDITED: i32 = 1 << 4;

fn membarrier(command: i32) -> bool {
    // SAFETY: the call changes nothing but the order of memory accesses.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Whether the kernel has the barrier (Linux 4.14) and this process may use it; registers the process.
fn has_barriers() -> bool {
    membarrier(REGISTER_EXPEDITED) && membarrier(EXPEDITED)
}

/// Makes every other thread of the process pass a full barrier.
fn barrier() {
    // The process registered when the lock was made; a child of fork() registers again, which is harmless.
    let passed = membarrier(EXPEDITED) || has_barriers();
    debug_assert!(passed, "the barrier worked before");
}

/// Whether the program was built with ThreadSanitizer: its run-time library has this symbol.
fn thread_sanitizer_runs() -> bool {
    // SAFETY: the name is terminated; the symbol is only looked for.
    let found = unsafe { libc::dlsym(null_mut(), c"__tsan_init".as_ptr()) };
    !found.is_null()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::scope;

    /// A second thread comes while the first one is inside, or about to be, as often as not.
    #[test]
    fn the_owner_and_threads_that_revoke_never_meet() {
        let mut owned = 0;
        for round in 0..300usize {
            let lock = Lock::new([0usize; 2]);
            // Two numbers that are changed apart: equal, unless threads meet.
            let add = |numbers: &mut [usize; 2]| {
                let [one, other] = *numbers;
                assert_eq!(one, other);
                numbers[0] = std::hint::black_box(one + 1);
                compiler_fence(Ordering::SeqCst);
                numbers[1] = other + 1;
            };
            lock.with(add);
            owned += usize::from(lock.owner.load(Ordering::Relaxed) == thread_pointer());
            scope(|threads| {
                for _ in 0..2 {
                    threads.spawn(|| {
                        (0..round * 10).for_each(|_| std::hint::spin_loop());
                        (0..1000).for_each(|_| lock.with(add));
                    });
                }
                (0..3000).for_each(|_| lock.with(add));
            });
            assert_eq!(lock.with(|numbers| *numbers), [5001; 2]);
            assert_eq!(lock.owner.load(Ordering::Relaxed), REVOKED);
        }
        assert!(owned == 300 || !has_barriers());
    }

    impl<T> Lock<T> {
        fn mutex(&self) -> *mut libc::pthread_mutex_t {
            self.mutex.get()
        }
    }

    /// A thread that revokes holds the mutex until the owner has left. If the owner forked meanwhile,
    /// its child would wait for that thread, which it does not have.
    #[test]
    fn nothing_can_be_revoked_while_the_owner_forks() {
        let lock = Lock::new(());
        lock.with(|()| ());
        let shared = &lock;
        let is_free = || {
            let mutex = shared.mutex();
            // SAFETY: the mutex is initialised; it is left again if it was free.
            unsafe {
                let free = libc::pthread_mutex_trylock(mutex) == 0;
                if free {
                    libc::pthread_mutex_unlock(mutex);
                }
                free
            }
        };
        let seen_by_another = || scope(|threads| threads.spawn(is_free).join().expect("looks"));
        assert!(seen_by_another());
        lock.take_for_fork();
        assert!(!seen_by_another());
        // SAFETY: it was taken just now.
        unsafe { lock.leave_after_fork() };
        assert!(seen_by_another());
        let owner = lock.owner.load(Ordering::Relaxed);
        assert!(owner == thread_pointer() || !has_barriers());
    }
}
