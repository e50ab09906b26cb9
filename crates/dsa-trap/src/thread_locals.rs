//! Variables of each thread that signal handlers use.
//!
//! They are reached through the initial-exec model: `__tls_get_addr`, which Rust's own variables of a
//! shared library go through, may allocate, and a handler may have interrupted an allocation.

use std::arch::{asm, global_asm};
use std::cell::Cell;

/// The variables; all bits zero at the start of a thread.
#[repr(C)]
pub struct Local {
    /// Bit n: the program has blocked signal n of the three in this thread.
    pub blocked: Cell<u64>,
    /// Address that UMONITOR has named.
    pub monitored: Cell<u64>,
    /// Address of the mark of the program's handler that runs; 0: none does.
    pub handler: Cell<u64>,
    /// 1: that handler is on the alternate stack.
    pub on_alternate: Cell<u64>,
    /// What was blocked before the first handler began.
    pub before: Cell<u64>,
    /// The alternate stack that the thread seems to have, if it has one of this library's.
    pub stack: Cell<u64>,
    /// Its bytes; 0: the thread has the one that it seems to have.
    pub stack_bytes: Cell<u64>,
    /// The one of this library's.
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

/// Those of this thread.
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
