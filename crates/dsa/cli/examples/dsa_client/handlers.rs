//! The program's own handlers of the signals that portals raise, too.

use crate::client_queue::{ClientPortal, CompletionRecord, PAGE, copy, pages, works};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The last signal of a handler: signal, code, address.
static SEEN: (AtomicI32, AtomicI32, AtomicU64) =
    (AtomicI32::new(0), AtomicI32::new(0), AtomicU64::new(0));
static COUNT: AtomicU32 = AtomicU32::new(0);
static STACK: AtomicU64 = AtomicU64::new(0);
/// The queue that the handler submits to.
static PORTAL: AtomicPtr<ClientPortal> = AtomicPtr::new(std::ptr::null_mut());
/// Length of UD2.
const UD2_BYTES: i64 = 2;

/// Installs a handler of three arguments.
pub fn install(signal: c_int, further_flags: c_int) {
    // SAFETY: the handler has the type that the flags say.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | further_flags;
        assert_eq!(libc::sigaction(signal, &raw const action, std::ptr::null_mut()), 0);
        let mut now: libc::sigaction = std::mem::zeroed();
        assert_eq!(libc::sigaction(signal, std::ptr::null(), &raw mut now), 0);
        assert_eq!((now.sa_sigaction, now.sa_flags), (action.sa_sigaction, action.sa_flags));
    }
}

/// Notes what it sees, submits, and repairs what was wrong.
unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let here = 0_u8;
    STACK.store(&raw const here as u64, Ordering::Relaxed);
    // SAFETY: the kernel's information, or that of the library.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr()) };
    SEEN.0.store(signal, Ordering::Relaxed);
    SEEN.1.store(code, Ordering::Relaxed);
    SEEN.2.store(address as u64, Ordering::Relaxed);
    COUNT.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the portal lives as long as the program.
    if let Some(portal) = unsafe { PORTAL.load(Ordering::Acquire).as_ref() } {
        works(portal);
    }
    // SAFETY: the context is that of the kernel; the address has a page of this program.
    unsafe {
        match signal {
            _ if code <= 0 => {}
            libc::SIGILL => {
                let context = &mut *context.cast::<libc::ucontext_t>();
                let number = usize::try_from(libc::REG_RIP).unwrap_or_default();
                context.uc_mcontext.gregs[number] += UD2_BYTES;
            }
            _ => repair(address),
        }
    }
}

/// Puts a page of memory where one was missing.
unsafe fn repair(address: *mut c_void) {
    let page = (address as usize & !(PAGE - 1)) as *mut c_void;
    let (rights, how) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
    );
    // SAFETY: the caller's.
    unsafe { libc::mmap(page, PAGE, rights, how, -1, 0) };
}

fn seen() -> (c_int, c_int, u64) {
    (SEEN.0.load(Ordering::Relaxed), SEEN.1.load(Ordering::Relaxed), SEEN.2.load(Ordering::Relaxed))
}

/// An undefined instruction; its address.
#[inline(never)]
fn undefined() -> u64 {
    let address: u64;
    // SAFETY: the handler goes on behind it.
    unsafe {
        std::arch::asm!("lea {0}, [rip + 2f]", "2:", "ud2", out(reg) address);
    }
    address
}

/// A page of a file that ends before it: an access is SIGBUS.
fn beyond_the_end() -> *mut u8 {
    let file = tempfile::tempfile().expect("can be created");
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    // SAFETY: a new mapping, where the kernel likes.
    let mapped = unsafe {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), PAGE, rights, libc::MAP_SHARED, fd, 0)
    };
    assert!(mapped != libc::MAP_FAILED);
    mapped.cast()
}

/// Handlers of all three see what the kernel says, while descriptors are submitted, also by them.
pub fn own(arguments: &[String]) {
    let portal = Box::leak(Box::new(ClientPortal::open(&arguments[0])));
    PORTAL.store(portal, Ordering::Release);
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL] {
        install(signal, 0);
    }
    for _ in 0..50 {
        works(portal);
        let forbidden = pages(1, libc::PROT_NONE).wrapping_add(40);
        // SAFETY: the handler repairs it.
        unsafe { forbidden.write_volatile(1) };
        assert_eq!(seen(), (libc::SIGSEGV, 2, forbidden as u64), "SEGV_ACCERR");
        works(portal);
        let beyond = beyond_the_end().wrapping_add(24);
        // SAFETY: as above.
        unsafe { beyond.cast::<u64>().write_volatile(1) };
        assert_eq!(seen(), (libc::SIGBUS, 2, beyond as u64), "BUS_ADRERR");
        works(portal);
        let address = undefined();
        assert_eq!(seen(), (libc::SIGILL, 2, address), "ILL_ILLOPN");
    }
    // SAFETY: the handler returns behind the call.
    assert_eq!(unsafe { libc::raise(libc::SIGSEGV) }, 0);
    assert_eq!(seen().1, libc::SI_TKILL);
    assert_eq!(COUNT.load(Ordering::Relaxed), 151);
}

static ONE_ARGUMENT: AtomicI32 = AtomicI32::new(0);

/// A handler that `signal` has installed.
pub fn one_argument(arguments: &[String]) {
    extern "C" fn count(signal: c_int) {
        ONE_ARGUMENT.fetch_add(signal, Ordering::Relaxed);
    }
    let portal = ClientPortal::open(&arguments[0]);
    let handler = count as extern "C" fn(c_int) as *const () as usize;
    // SAFETY: the handler touches an atomic only.
    unsafe {
        libc::signal(libc::SIGBUS, handler);
        assert_eq!(libc::signal(libc::SIGBUS, handler), handler);
    }
    works(&portal);
    // SAFETY: as above.
    unsafe { libc::raise(libc::SIGBUS) };
    assert_eq!(ONE_ARGUMENT.load(Ordering::Relaxed), libc::SIGBUS);
    works(&portal);
}

/// A handler for once: the second fault ends the program.
pub fn reset_hand(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    install(libc::SIGSEGV, libc::SA_RESETHAND);
    works(&portal);
    for _ in 0..2 {
        // SAFETY: the handler repairs it, once.
        unsafe { pages(1, libc::PROT_NONE).write_volatile(1) };
        works(&portal);
        println!("repaired");
    }
}

/// A handler on a stack of its own, which is large enough to stay.
pub fn alternate_stack(arguments: &[String]) {
    const BYTES: usize = 8 * PAGE;
    let portal = ClientPortal::open(&arguments[0]);
    // A stack that grows beyond it meets a page without rights.
    let memory = pages(BYTES / PAGE + 1, libc::PROT_NONE);
    // SAFETY: the pages are there.
    let stack = unsafe { memory.add(PAGE) };
    // SAFETY: as above; no thread uses the stack yet.
    unsafe {
        assert_eq!(libc::mprotect(stack.cast(), BYTES, libc::PROT_READ | libc::PROT_WRITE), 0);
        let new = libc::stack_t { ss_sp: stack.cast(), ss_flags: 0, ss_size: BYTES };
        assert_eq!(libc::sigaltstack(&raw const new, std::ptr::null_mut()), 0);
    }
    install(libc::SIGSEGV, libc::SA_ONSTACK);
    works(&portal);
    // SAFETY: the handler repairs it.
    unsafe { pages(1, libc::PROT_NONE).write_volatile(1) };
    let used = STACK.load(Ordering::Relaxed);
    assert!((stack as u64..stack as u64 + BYTES as u64).contains(&used));
    works(&portal);
}

/// QUEUE BYTES: an alternate stack of a size that the kernel takes, with memory behind it that nothing may
/// write to; the program sees the stack that it has set.
pub fn small_stack(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    let bytes: usize = arguments[1].parse().expect("a number");
    let memory = pages(17, libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: the pages are there.
    let stack = unsafe {
        memory.write_bytes(0xab, 16 * PAGE);
        memory.add(16 * PAGE)
    };
    let new = libc::stack_t { ss_sp: stack.cast(), ss_flags: 0, ss_size: bytes };
    // SAFETY: a stack that no thread uses yet; the calls fill another one in.
    let seen = unsafe {
        let mut seen: libc::stack_t = std::mem::zeroed();
        assert_eq!(libc::sigaltstack(&raw const new, std::ptr::null_mut()), 0);
        assert_eq!(libc::sigaltstack(std::ptr::null(), &raw mut seen), 0);
        seen
    };
    assert_eq!((seen.ss_sp, seen.ss_size, seen.ss_flags), (new.ss_sp, bytes, 0));
    install(libc::SIGSEGV, libc::SA_ONSTACK);
    works(&portal);
    // SAFETY: the handler repairs it.
    unsafe { pages(1, libc::PROT_NONE).write_volatile(1) };
    assert_eq!(seen_count(), 1);
    works(&portal);
    // SAFETY: as above.
    let below = unsafe { std::slice::from_raw_parts(memory, 16 * PAGE) };
    assert!(below.iter().all(|byte| *byte == 0xab), "what is below the stack is written to");
    let none = libc::stack_t { ss_flags: libc::SS_DISABLE, ..new };
    // SAFETY: no handler runs.
    assert_eq!(unsafe { libc::sigaltstack(&raw const none, std::ptr::null_mut()) }, 0);
    works(&portal);
}

fn seen_count() -> u32 {
    COUNT.load(Ordering::Relaxed)
}

/// A signal that a process sends is no fault.
pub fn sent(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    install(libc::SIGILL, 0);
    works(&portal);
    // SAFETY: the handler returns.
    unsafe { libc::kill(libc::getpid(), libc::SIGILL) };
    while COUNT.load(Ordering::Relaxed) == 0 {
        std::hint::spin_loop();
    }
    assert_eq!((seen().0, seen().1), (libc::SIGILL, libc::SI_USER));
    works(&portal);
}

/// QUEUE SIGNAL: after a submission, a fault of the program's own without a handler.
pub fn fault(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    works(&portal);
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL] {
        // SAFETY: the default action, in place of the one of Rust's runtime.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    match arguments[1].as_str() {
        // SAFETY: it ends this program.
        "segv" => unsafe { pages(1, libc::PROT_NONE).write_volatile(1) },
        // SAFETY: as above.
        "bus" => unsafe { beyond_the_end().write_volatile(1) },
        "ill" => {
            undefined();
        }
        "abrt" => std::process::abort(),
        // SAFETY: as above.
        "sent" => assert_eq!(unsafe { libc::raise(libc::SIGSEGV) }, 0),
        other => panic!("no fault {other}"),
    }
}

/// QUEUE CODE: ends with a code while a descriptor may be under way.
pub fn exit(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    let (from, to, record) = (vec![1; 1 << 20], vec![0; 1 << 20], CompletionRecord::new());
    // The memory that the descriptor names outlives it.
    let descriptor = copy(&from, to.leak(), Box::leak(record));
    std::mem::forget(from);
    portal.enqueue_patiently(&descriptor);
    std::process::exit(arguments[1].parse().expect("a number"));
}
