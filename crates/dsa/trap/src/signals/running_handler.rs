//! The handler of the program that is running in a thread.
//!
//! While a handler runs, the signals of its action's mask are blocked. It may never return, but jump
//! behind a call of `sigsetjmp`, whose own change of the mask is not seen. So a handler's frame has a
//! mark: if the mark is gone, or is on a part of the stack that was left, the handler is not running any
//! more.

use crate::thread_locals::local;

/// Value that marks a frame, XORed with its address.
const MARK: u64 = 0x6f72_6b73_6970_6c6e;

/// State of the thread before a handler began, restored at its end.
pub struct OuterHandler {
    blocked: u64,
    handler: u64,
    on_alternate: u64,
}

/// The mark of a handler that begins.
pub struct HandlerMark(u64);

impl HandlerMark {
    /// A mark that is not set.
    pub fn new() -> Self {
        Self(0)
    }

    /// Sets the mark of a handler that begins and blocks some of the three signals. `stack` is the thread's
    /// alternate stack. Returns the state before.
    pub fn begin(&mut self, blocked: u64, stack: &libc::stack_t) -> OuterHandler {
        let (local, address) = (local(), &raw mut self.0);
        if local.handler.get() == 0 {
            local.before.set(local.blocked.get());
        }
        let outer = OuterHandler {
            blocked: local.blocked.get(),
            handler: local.handler.get(),
            on_alternate: local.on_alternate.get(),
        };
        // SAFETY: the mark is this one; the compiler does not see who reads it.
        unsafe { address.write_volatile(MARK ^ address as u64) };
        local.handler.set(address as u64);
        local.on_alternate.set(has(stack, address as u64).into());
        local.blocked.set(outer.blocked | blocked);
        outer
    }

    /// Clears the mark when the handler returns, and restores the state before.
    pub fn end(&mut self, outer: &OuterHandler) {
        // SAFETY: as in `begin`.
        unsafe { (&raw mut self.0).write_volatile(0) };
        let local = local();
        local.blocked.set(outer.blocked);
        local.handler.set(outer.handler);
        local.on_alternate.set(outer.on_alternate);
    }
}

/// Forgets handlers that were left by a jump. `stack_pointer` is that of the thread now.
pub fn forget_left(stack_pointer: u64, stack: &libc::stack_t) {
    let local = local();
    let address = local.handler.get();
    if address == 0 {
        return;
    }
    let is_alternate = has(stack, stack_pointer);
    let was_alternate = local.on_alternate.get() != 0;
    let is_below = if is_alternate == was_alternate {
        stack_pointer <= address
    } else {
        // A handler on the alternate stack may not have been left by code that runs on another one.
        is_alternate
    };
    let mark: *const u64 = std::ptr::with_exposed_provenance(units::narrow::usize_from(address));
    // SAFETY: what is above the stack pointer of a stack is memory of this thread.
    let runs = is_below && unsafe { mark.read_volatile() } == MARK ^ address;
    if !runs {
        local.handler.set(0);
        local.blocked.set(local.before.get());
    }
}

/// Whether an address is on an alternate stack.
fn has(stack: &libc::stack_t, address: u64) -> bool {
    let start = stack.ss_sp as u64;
    stack.ss_flags & libc::SS_DISABLE == 0
        && (start..start + stack.ss_size as u64).contains(&address)
}
