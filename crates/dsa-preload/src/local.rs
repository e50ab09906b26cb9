//! Whether this thread is inside of a large call.
//!
//! What it calls then, and what a signal handler calls that has interrupted it, goes to the C library.
//! The variable is reached through the initial-exec model, as another one could be allocated when a
//! thread first uses it.

use std::arch::{asm, global_asm};
use std::cell::Cell;
use std::ffi::c_int;

/// The variables; all bits zero at the start of a thread.
#[repr(C)]
struct Local {
    /// 1: inside.
    is_inside: Cell<u64>,
    /// Large calls that tuning has seen.
    turns: Cell<u64>,
}
const _: () = assert!(size_of::<Local>() == 16);

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

fn local() -> &'static Local {
    let address: *const Local;
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

/// Whether this thread is inside.
pub fn is_inside() -> bool {
    local().is_inside.get() != 0
}

/// All calls of this thread stay with the C library.
pub fn stay_inside() {
    local().is_inside.set(1);
}

/// Runs work whose system calls would end a thread that is to be cancelled: it is cancelled later.
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

/// A number that counts up in each thread.
pub fn turn() -> u64 {
    let turns = &local().turns;
    turns.set(turns.get().wrapping_add(1));
    turns.get()
}

/// A thread that is inside of a large call. When it is dropped, errno is what it was before.
pub struct Inside {
    errno: i32,
}

impl Inside {
    /// Goes inside; `None` for a thread that is there already.
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
