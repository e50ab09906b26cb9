//! State of a thread: whether it is inside a large call.
//!
//! Calls that it makes then, and those of a signal handler that has interrupted it, go to the C library.

use std::cell::Cell;

/// The variables of a thread. All bits are zero at its start.
#[repr(C)]
struct ThreadState {
    /// 1 inside a large call, [`ENGINE`] in a thread of a software device, else 0.
    is_inside: Cell<u64>,
    /// Number of large calls for which tuning has chosen between device and CPU.
    turns: Cell<u64>,
}

dsa::thread_variables!(fn local() -> ThreadState = "skipline_dsa_preload_local", 16);

/// The mark of threads whose calls are never the program's.
const ENGINE: u64 = 2;

/// Whether this thread is inside a large call.
pub fn is_inside() -> bool {
    local().is_inside.get() != 0
}

/// Makes all further calls of this thread stay with the C library, as those of an engine.
pub fn become_engine() {
    local().is_inside.set(ENGINE);
}

/// Whether this thread is an engine of a software device.
pub fn is_engine() -> bool {
    local().is_inside.get() == ENGINE
}

/// Counts a large call of this thread, and returns the count.
pub fn next_turn() -> u64 {
    let turns = &local().turns;
    turns.set(turns.get().wrapping_add(1));
    turns.get()
}

/// A guard of a thread inside a large call. When it is dropped, the thread has left the call, and errno
/// has its value of before.
pub struct Inside {
    errno: i32,
}

impl Inside {
    /// Enters a large call; `None` if this thread is inside one already.
    pub fn enter() -> Option<Self> {
        let is_inside = &local().is_inside;
        if is_inside.get() != 0 {
            return None;
        }
        is_inside.set(1);
        // A signal that comes from here on finds the mark.
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
        // SAFETY: each thread has its own errno.
        Some(Self { errno: unsafe { *libc::__errno_location() } })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.errno };
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
        local().is_inside.set(0);
    }
}
