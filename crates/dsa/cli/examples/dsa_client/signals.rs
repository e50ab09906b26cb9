//! Signals of the program's own: who gets them, and when.

use crate::client_queue::{ClientPortal, CompletionRecord};
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The queue that the handler submits to, and what it submits.
static PORTAL: AtomicPtr<ClientPortal> = AtomicPtr::new(std::ptr::null_mut());
static RECORD: AtomicU64 = AtomicU64::new(0);
static HANDLED: AtomicU32 = AtomicU32::new(0);
/// The thread that is to handle signals, and how many another one has.
static THREAD: AtomicI32 = AtomicI32::new(0);
static ELSEWHERE: AtomicU32 = AtomicU32::new(0);

fn no_op(record: u64) -> Descriptor {
    Descriptor::of(Opcode::NoOp).recording(record)
}

fn handle(signal: c_int, handler: extern "C" fn(c_int)) {
    // SAFETY: the handler touches atomics and a portal only.
    unsafe { libc::signal(signal, handler as *const () as usize) };
}

/// Changes the mask of this thread by one signal.
fn mask(how: c_int, signal: c_int) {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the call fills the set in.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        assert_eq!(libc::pthread_sigmask(how, set.as_ptr(), std::ptr::null_mut()), 0);
    }
}

/// A handler that submits, and interrupts submissions.
pub fn interrupted_submissions(arguments: &[String]) {
    const SIGNALS: u32 = 300;
    extern "C" fn submit(_: c_int) {
        // SAFETY: the portal lives as long as the program.
        if let Some(portal) = unsafe { PORTAL.load(Ordering::Acquire).as_ref() } {
            let _ = portal.enqueue(&no_op(RECORD.load(Ordering::Relaxed)));
        }
        HANDLED.fetch_add(1, Ordering::Release);
    }
    let portal = Box::leak(Box::new(ClientPortal::open(&arguments[0])));
    RECORD.store(Box::leak(CompletionRecord::new()).address(), Ordering::Relaxed);
    PORTAL.store(portal, Ordering::Release);
    handle(libc::SIGALRM, submit);
    // SAFETY: a call without arguments.
    let own = unsafe { libc::pthread_self() };
    let sender = std::thread::spawn(move || {
        for sent in 1..=SIGNALS {
            // SAFETY: the thread waits for the end of this one.
            assert_eq!(unsafe { libc::pthread_kill(own, libc::SIGALRM) }, 0);
            while HANDLED.load(Ordering::Acquire) < sent {
                std::hint::spin_loop();
            }
        }
    });
    let record = CompletionRecord::new();
    while !sender.is_finished() {
        let _ = portal.enqueue(&no_op(record.address()));
    }
    sender.join().expect("ends");
    portal.enqueue_patiently(&Descriptor::of(Opcode::Drain).recording(record.address()));
    assert_eq!(record.ended(), 1);
}

/// Signals to the process are not for engines: a handler runs in the program's thread, and `sigwait` gets
/// what the program has blocked.
pub fn own_signals(arguments: &[String]) {
    extern "C" fn look(_: c_int) {
        // SAFETY: a call without arguments.
        if unsafe { libc::gettid() } != THREAD.load(Ordering::Relaxed) {
            ELSEWHERE.fetch_add(1, Ordering::Relaxed);
        }
        HANDLED.fetch_add(1, Ordering::Release);
    }
    let _portal = ClientPortal::open(&arguments[0]);
    // SAFETY: a call without arguments.
    THREAD.store(unsafe { libc::gettid() }, Ordering::Relaxed);
    handle(libc::SIGALRM, look);
    for sent in 1..=200 {
        mask(libc::SIG_BLOCK, libc::SIGALRM);
        // SAFETY: the handler runs when the signal is not blocked any more.
        unsafe { libc::kill(libc::getpid(), libc::SIGALRM) };
        mask(libc::SIG_UNBLOCK, libc::SIGALRM);
        assert_eq!(HANDLED.load(Ordering::Acquire), sent);
    }
    assert_eq!(ELSEWHERE.load(Ordering::Relaxed), 0);

    mask(libc::SIG_BLOCK, libc::SIGUSR1);
    let (mut set, mut got) = (MaybeUninit::uninit(), 0);
    // SAFETY: the call fills the set in; the signal is blocked, and waits.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGUSR1);
        libc::kill(libc::getpid(), libc::SIGUSR1);
        assert_eq!(libc::sigwait(set.as_ptr(), &raw mut got), 0);
    }
    assert_eq!(got, libc::SIGUSR1);
}

/// A call of what is no code: the handler sees that address as the fault and as the instruction.
pub fn wild_jump(arguments: &[String]) {
    const NO_CODE: u64 = 0x1000;
    unsafe extern "C" fn look(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let number = usize::try_from(libc::REG_RIP).unwrap_or_default();
        // SAFETY: what the kernel says of the fault.
        let (at, instruction) = unsafe {
            let context = &*context.cast::<libc::ucontext_t>();
            ((*info).si_addr() as u64, context.uc_mcontext.gregs[number].cast_unsigned())
        };
        let code = if (at, instruction) == (NO_CODE, NO_CODE) { 7 } else { 8 };
        // SAFETY: it ends this program.
        unsafe { libc::_exit(code) };
    }
    let _portal = ClientPortal::open(&arguments[0]);
    // SAFETY: the handler ends this program, as the call would without it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = look as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut());
        std::arch::asm!("call {0}", in(reg) NO_CODE, clobber_abi("C"));
    }
}
