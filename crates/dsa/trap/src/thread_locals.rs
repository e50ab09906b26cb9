//! Thread-local variables that signal handlers use.
//!
//! They have the initial-exec model: `__tls_get_addr`, which accesses Rust's `thread_local!` variables of a
//! shared library, may allocate, and a handler may have interrupted an allocation.

use std::arch::{asm, global_asm};
use std::cell::Cell;

/// The variables of a thread. All are zero when it starts.
#[repr(C)]
pub struct Local {
    /// Bit n: the program has blocked signal n of the three in this thread.
    pub blocked: Cell<u64>,
    /// Address of the last UMONITOR; 0: none.
    pub monitored: Cell<u64>,
    /// Address of the mark of the program's handler that is running; 0: none is running.
    pub handler: Cell<u64>,
    /// 1: that handler runs on the alternate stack.
    pub on_alternate: Cell<u64>,
    /// Value of `blocked` before the first handler began.
    pub before: Cell<u64>,
    /// Address of the alternate stack that the program has set, if this library has replaced it.
    pub stack: Cell<u64>,
    /// Size in bytes of that stack; 0: the stack is not replaced.
    pub stack_bytes: Cell<u64>,
    /// Address of the stack that this library has allocated; 0: none.
    pub own_stack: Cell<u64>,
}
const _: () = assert!(size_of::<Local>() == 64);

global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".p2align 4",
    ".hidden skipline_dsa_trap_local",
    ".globl skipline_dsa_trap_local",
    ".type skipline_dsa_trap_local, @object",
    ".size skipline_dsa_trap_local, 64",
    "skipline_dsa_trap_local:",
    ".zero 64",
    ".text",
);

/// The variables of this thread.
pub fn local() -> &'static Local {
    let address: *const Local;
    // SAFETY: the variable has this layout, and lives as long as its thread; the reference is not sent
    // to another one, as cells cannot be.
    unsafe {
        asm!(
            "mov {address}, qword ptr [rip + skipline_dsa_trap_local@GOTTPOFF]",
            "add {address}, qword ptr fs:[0]",
            address = out(reg) address,
            options(nostack, pure, readonly),
        );
        &*address
    }
}
