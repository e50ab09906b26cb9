//! Thread-local variables that signal handlers use.

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
    /// 1: the thread executes a descriptor in place of an engine.
    pub executes: Cell<u64>,
    /// Bit n: signal n of the three was sent meanwhile.
    pub postponed: Cell<u64>,
    /// 1: the handler of this library runs on the alternate stack.
    pub handles_on_alternate: Cell<u64>,
    /// 1: the thread starts engines.
    pub starts_engines: Cell<u64>,
}

dsa::thread_variables!(pub fn local() -> Local = "skipline_dsa_trap_local", 96);
