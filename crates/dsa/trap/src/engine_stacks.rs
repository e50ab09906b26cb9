//! Stacks on which threads of the program execute their own descriptors.
//!
//! An operation needs more stack than a thread, or its alternate signal stack, may have left. The kernel
//! delivers a fault of an operand on the stack in use, if the alternate one is off: it is switched off
//! meanwhile where a handler runs on it, as the kernel would begin at its end again, over the frame of the
//! handler.

use crate::private_libc;
use crate::thread_locals::local;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a stack: as many as a thread of an engine has.
const BYTES: usize = dsa::device::STACK_BYTES;
/// Bytes below it without access.
const GUARD_BYTES: usize = 4096;
/// Most stacks that are kept for the next call.
const MOST_KEPT: usize = 32;

/// Addresses of stacks that no thread uses; 0: no stack.
static FREE: [AtomicUsize; MOST_KEPT] = [const { AtomicUsize::new(0) }; MOST_KEPT];

/// A stack in use. Dropped, it is free for another thread.
pub struct EngineStack(usize);

impl EngineStack {
    /// A free stack, or a new one; `None` if the system has no memory for it.
    pub fn take() -> Option<Self> {
        let kept = FREE.iter().map(|place| place.swap(0, Ordering::AcqRel)).find(|it| *it != 0);
        kept.or_else(map).map(Self)
    }

    /// Makes sure that a stack is free for the next call.
    pub fn prepare() {
        drop(Self::take());
    }

    /// Calls a function on the stack. It may not unwind.
    pub fn call<F: FnOnce()>(&self, work: F) {
        extern "C" fn run<F: FnOnce()>(work: *mut c_void) {
            // SAFETY: the option of the call below.
            let Some(work) = (unsafe { (*work.cast::<Option<F>>()).take() }) else { return };
            // Else no system call is made: a program may have given them up (seccomp).
            if local().handles_on_alternate.get() == 0 {
                work();
            } else {
                with_alternate_stack_off(work);
            }
        }

        let mut work = Some(work);
        let top = self.0 + GUARD_BYTES + BYTES;
        // SAFETY: the stack is this call's alone; the closure outlives the call.
        unsafe { call_on(top, run::<F>, (&raw mut work).cast()) };
    }
}

impl Drop for EngineStack {
    fn drop(&mut self) {
        let put = |place: &AtomicUsize| {
            place.compare_exchange(0, self.0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        if !FREE.iter().any(put) {
            let address = std::ptr::with_exposed_provenance_mut(self.0);
            // SAFETY: the mapping of `map`, which nothing uses any more.
            unsafe { private_libc::munmap(address, GUARD_BYTES + BYTES) };
        }
    }
}

fn map() -> Option<usize> {
    // SAFETY: a new mapping, where the kernel likes; its first page loses its rights.
    unsafe {
        let mapped = private_libc::mmap(
            std::ptr::null_mut(),
            GUARD_BYTES + BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        if mapped == libc::MAP_FAILED {
            return None;
        }
        libc::mprotect(mapped, GUARD_BYTES, libc::PROT_NONE);
        Some(mapped.expose_provenance())
    }
}

/// Does `work` while the thread has no alternate stack. The stack in use is another one.
fn with_alternate_stack_off(work: impl FnOnce()) {
    // SAFETY: structures of this function; all bits zero are valid ones.
    unsafe {
        let mut before: libc::stack_t = std::mem::zeroed();
        private_libc::sigaltstack(std::ptr::null(), &raw mut before);
        let off = libc::stack_t { ss_flags: libc::SS_DISABLE, ..before };
        private_libc::sigaltstack(&raw const off, std::ptr::null_mut());
        work();
        private_libc::sigaltstack(&raw const before, std::ptr::null_mut());
    }
}

/// Calls `run(work)` with the stack pointer at `top`.
#[unsafe(naked)]
unsafe extern "C" fn call_on(top: usize, run: extern "C" fn(*mut c_void), work: *mut c_void) {
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    )
}
