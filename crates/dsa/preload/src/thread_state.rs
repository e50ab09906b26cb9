//! State of a thread: whether it is inside a large call.
//!
//! Calls that it makes then, and those of a signal handler that has interrupted it, go to the C library. The
//! variables use the initial-exec model, since other models may allocate when a thread first uses a variable.

use std::arch::{asm, global_asm};
use std::cell::Cell;
use std::ffi::c_int;

/// The variables of a thread. All bits are zero at its start.
#[repr(C)]
struct ThreadState {
    /// 1 inside a large call, else 0.
    is_inside: Cell<u64>,
    /// Number of large calls for which tuning has chosen between device and CPU.
    turns: Cell<u64>,
}
const _: () = assert!(size_of::<ThreadState>() == 16);

global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".p2align 4",
    ".hidden skipline_dsa_preload_local",
    ".globl skipline_dsa_preload_local",
    ".type skipline_dsa_preload_local, @object",
    ".size skipline_dsa_preload_local, 16",
    "skipline_dsa_preload_local:",
    ".zero 16",
    ".text",
);

fn local() -> &'static ThreadState {
    let address: *const ThreadState;
    // SAFETY: the variable has this layout, and lives as long as its thread; the reference is not sent
    // to another one, as cells cannot be.
    unsafe {
        asm!(
            "mov {address}, qword ptr [rip + skipline_dsa_preload_local@GOTTPOFF]",
            "add {address}, qword ptr fs:[0]",
            address = out(reg) address,
            options(nostack, pure, readonly),
        );
        &*address
    }
}

/// Whether this thread is inside a large call.
pub fn is_inside() -> bool {
    local().is_inside.get() != 0
}

/// Makes all further calls of this thread stay with the C library.
pub fn stay_inside() {
    local().is_inside.set(1);
}

/// Runs work with cancellation disabled: its system calls would end a thread with a pending cancellation,
/// which takes effect later.
pub fn without_cancellation<R>(work: impl FnOnce() -> R) -> R {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    const DISABLED: c_int = 1;
    let mut before = 0;
    // SAFETY: both calls change a mark of this thread.
    unsafe { pthread_setcancelstate(DISABLED, &raw mut before) };
    let result = work();
    // SAFETY: as above.
    unsafe { pthread_setcancelstate(before, &raw mut before) };
    result
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
