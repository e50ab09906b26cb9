//! A guarded call, which a memory fault ends.
//!
//! A handler of SIGSEGV and SIGBUS tests whether the faulting thread is inside [`guarded`]. If it is, the
//! interrupted context is set back to the beginning of the call, and the call returns "fault". All other
//! faults go to the handler that was installed before: a crash stays a crash.
//!
//! Frames between the call and the fault are dropped without running destructors, so the work of a
//! guarded call owns nothing: it moves bytes.
//!
//! Limits, which come with signals: a fault in a handler that has interrupted a guarded call is taken
//! for that call's. A handler that is installed later, and does not chain to this one, ends recovery. In
//! a thread that blocks SIGSEGV the kernel ends the process. Memory that a fault handler of the program would
//! map on demand counts as absent.

use super::handlers;
use super::recovery::{self, Recovery};
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Runs `work`; `None` if it faulted. Its effects until the fault remain. It must own nothing that has to be
/// dropped, take no lock, and not panic.
#[allow(unsafe_code)]
pub(crate) fn guarded<R: Copy>(work: impl FnOnce() -> R) -> Option<R> {
    struct Call<F, R> {
        work: MaybeUninit<F>,
        result: MaybeUninit<R>,
    }

    extern "C" fn run<F: FnOnce() -> R, R>(call: *mut c_void) {
        // SAFETY: the pointer is that of the call below, whose work is taken once.
        let call = unsafe { &mut *call.cast::<Call<F, R>>() };
        // SAFETY: as above.
        let work = unsafe { call.work.assume_init_read() };
        call.result.write(work());
    }

    fn runner<F: FnOnce() -> R, R>(_: &F) -> extern "C" fn(*mut c_void) {
        run::<F, R>
    }

    handlers::install();
    let runner = runner(&work);
    let mut call = Call { work: MaybeUninit::new(work), result: MaybeUninit::uninit() };
    let mut recovery = Recovery { stack: 0, instruction: 0 };
    // A handler may run a guarded call inside of one.
    let outer = recovery::replace(&raw mut recovery);
    // SAFETY: recovery and call live until the call has returned, in one way or the other.
    let faulted = unsafe { call_guarded(&raw mut recovery, runner, (&raw mut call).cast()) };
    recovery::replace(outer);
    // SAFETY: the work has returned, so its result is there.
    (faulted == 0).then(|| unsafe { call.result.assume_init() })
}

/// Calls `run(call)`. Returns 0 when it returns, and 1 if a handler has set the context to `recovery`. It
/// saves the registers that a function has to keep, and stores the stack and the instruction to resume
/// at.
#[unsafe(naked)]
#[allow(unsafe_code)]
unsafe extern "C" fn call_guarded(
    recovery: *mut Recovery,
    run: extern "C" fn(*mut c_void),
    call: *mut c_void,
) -> u32 {
    std::arch::naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push rdi",
        "mov [rdi], rsp",
        "lea rax, [rip + 2f]",
        "mov [rdi + 8], rax",
        "mov rdi, rdx",
        "call rsi",
        "xor eax, eax",
        "jmp 3f",
        "2:",
        "cld",
        "mov eax, 1",
        "3:",
        // From here on there is no frame to go back to.
        "pop rdi",
        "mov qword ptr [rdi + 8], 0",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_returns_what_it_computes() {
        assert_eq!(guarded(|| 6 * 7), Some(42));
    }

    #[test]
    #[allow(unsafe_code)]
    fn a_fault_ends_the_work_and_nothing_else() {
        let null = std::ptr::null::<u8>().wrapping_add(64);
        for _ in 0..100 {
            // SAFETY: the fault that this is for is caught.
            assert_eq!(guarded(|| unsafe { null.read_volatile() }), None);
            assert_eq!(guarded(|| 1), Some(1));
        }
    }

    #[test]
    #[allow(unsafe_code)]
    fn an_address_that_is_none_is_a_fault_too() {
        let beyond = std::ptr::without_provenance::<u8>(1 << 60);
        // SAFETY: as above.
        assert_eq!(guarded(|| unsafe { beyond.read_volatile() }), None);
    }

    #[test]
    fn a_call_inside_of_one_leaves_that_its_own() {
        let inner = || guarded(|| 1);
        // SAFETY: as above.
        #[allow(unsafe_code)]
        let outer = guarded(|| (inner(), unsafe { bytes_of_null() }));
        assert_eq!(outer, None);
    }

    #[allow(unsafe_code)]
    unsafe fn bytes_of_null() -> u8 {
        // SAFETY: the caller's guard catches the fault.
        unsafe { std::ptr::null::<u8>().wrapping_add(64).read_volatile() }
    }

    #[test]
    fn threads_fault_each_for_itself() {
        let threads = (0..8).map(|_| {
            std::thread::spawn(|| (0..2_000).all(|_| super::super::read::<8>(8).is_none()))
        });
        let threads: Vec<_> = threads.collect();
        assert!(threads.into_iter().all(|thread| thread.join().expect("no thread ended")));
    }
}
