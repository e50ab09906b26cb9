//! A call that a memory fault ends.
//!
//! A handler of SIGSEGV and SIGBUS looks whether the faulting thread is inside [`guarded`]. If it is,
//! the interrupted context is set back to where the call began, and the call returns "fault". All other
//! faults go to the handler that was there before: a crash stays a crash.
//!
//! Frames between the call and the fault are dropped without running destructors, so the work of a
//! guarded call owns nothing: it moves bytes.
//!
//! Limits, which come with signals: a fault in a handler that has interrupted a guarded call is taken
//! for that call's. A handler that is installed later, and does not chain to this one, ends recovery. In
//! a thread that blocks SIGSEGV the kernel ends the process. Memory that a handler of the program's own
//! would bring in is not there.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Where to go on after a fault.
#[repr(C)]
struct Recovery {
    stack: u64,
    /// Zero: not now.
    instruction: u64,
}

thread_local! {
    static RECOVERY: Cell<*mut Recovery> = const { Cell::new(std::ptr::null_mut()) };
}

/// Runs `work`; `None` if it accessed memory that it may not. What it had done until then stays done.
/// It must own nothing that has to be dropped, take no lock, and not panic.
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

    install_handlers();
    let runner = runner(&work);
    let mut call = Call { work: MaybeUninit::new(work), result: MaybeUninit::uninit() };
    let mut recovery = Recovery { stack: 0, instruction: 0 };
    // A handler may run a guarded call inside of one.
    let outer = RECOVERY.replace(&raw mut recovery);
    // SAFETY: recovery and call live until the call has returned, in one way or the other.
    let faulted = unsafe { call_guarded(&raw mut recovery, runner, (&raw mut call).cast()) };
    RECOVERY.set(outer);
    // SAFETY: the work has returned, so its result is there.
    (faulted == 0).then(|| unsafe { call.result.assume_init() })
}

/// Calls `run(call)`. Returns 0 when it returns, and 1 if a handler has set the context to `recovery`.
/// It saves what a function has to keep, and names the stack and the instruction to go on with.
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

/// Handlers that were there before ours, for SIGSEGV and SIGBUS.
static BEFORE: [AtomicPtr<libc::sigaction>; 2] =
    [AtomicPtr::new(std::ptr::null_mut()), AtomicPtr::new(std::ptr::null_mut())];
static SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Installs the handlers, once for the process.
#[inline]
fn install_handlers() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    static INSTALLING: Once = Once::new();
    if !INSTALLED.load(Ordering::Acquire) {
        INSTALLING.call_once(install);
        INSTALLED.store(true, Ordering::Release);
    }
}

#[allow(unsafe_code)]
fn install() {
    for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
        // SAFETY: a zeroed sigaction is valid; its fields are set before use, and the old action is
        // kept for ever, as the handler may read it at any time.
        unsafe {
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_fault as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut ours.sa_mask);
            let kept = Box::into_raw(Box::new(std::mem::zeroed::<libc::sigaction>()));
            libc::sigaction(signal, std::ptr::null(), kept);
            before.store(kept, Ordering::Release);
            libc::sigaction(signal, &raw const ours, std::ptr::null_mut());
        }
    }
}

/// Goes on behind the guarded call of this thread; without one, what was there before decides.
#[allow(unsafe_code, clippy::cast_possible_wrap)]
unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let recovery = RECOVERY.get();
    // SAFETY: the kernel passes what the signal's information is; a recovery that is set is there.
    let is_ours = unsafe {
        // Above zero: the kernel reports a fault. Signals that programs send have zero or less.
        (*info).si_code > 0 && recovery.as_ref().is_some_and(|own| own.instruction != 0)
    };
    if !is_ours {
        // SAFETY: the arguments are those of the kernel.
        unsafe { as_before(signal, info, context) };
        return;
    }
    RECOVERY.set(std::ptr::null_mut());
    // SAFETY: the kernel passes the interrupted context of this thread, which returns into
    // `call_guarded`, whose stack frame is still there.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        registers[libc::REG_RSP as usize] = (*recovery).stack as i64;
        registers[libc::REG_RIP as usize] = (*recovery).instruction as i64;
    }
}

/// Does what the kernel would have done with the action that was there before.
#[allow(unsafe_code)]
unsafe fn as_before(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(number) = SIGNALS.iter().position(|own| *own == signal) else { return };
    // SAFETY: an action that was stored is never freed.
    let before = unsafe { BEFORE[number].load(Ordering::Acquire).as_ref() };
    // SAFETY: the information is the kernel's.
    let is_sent = unsafe { (*info).si_code } <= 0;
    match before {
        // What the kernel itself reports cannot be ignored.
        Some(before) if before.sa_sigaction == libc::SIG_IGN && is_sent => {}
        Some(before) if ![libc::SIG_IGN, libc::SIG_DFL].contains(&before.sa_sigaction) => {
            if before.sa_flags & libc::SA_RESETHAND != 0 {
                // The next one meets the default action.
                BEFORE[number].store(std::ptr::null_mut(), Ordering::Release);
            }
            // SAFETY: the action has been one of this process.
            unsafe { call(before, signal, info, context) };
        }
        // SAFETY: only the action of this signal changes, to the default. A fault comes again, as its
        // instruction does; a signal that was sent is sent again, and both end the process.
        _ => unsafe {
            libc::signal(signal, libc::SIG_DFL);
            if is_sent {
                libc::raise(signal);
            }
        },
    }
}

/// Calls a handler with the signals blocked that its action says.
#[allow(unsafe_code)]
unsafe fn call(
    before: &libc::sigaction,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: masks are the action's and a set of one signal; the mask ends with our handler. The
    // handler has the type that its flags say.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const before.sa_mask, std::ptr::null_mut());
        if before.sa_flags & libc::SA_NODEFER != 0 {
            let mut own: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut own);
            libc::sigaddset(&raw mut own, signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const own, std::ptr::null_mut());
        }
        if before.sa_flags & libc::SA_SIGINFO == 0 {
            let handler: extern "C" fn(c_int) = std::mem::transmute(before.sa_sigaction);
            handler(signal);
        } else {
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(before.sa_sigaction);
            handler(signal, info, context);
        }
    }
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
