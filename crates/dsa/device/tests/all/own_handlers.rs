//! Do guarded calls work with the handlers of a program that keeps them to itself?
//!
//! The handlers of a process are one: the test runs itself again, as a process of its own.

use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::engine::SoftwareEngine;
use dsa::hardware::capabilities::Capabilities;
use dsa::hardware::{Opcode, status};
use dsa::record::Record;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

const PART: Capabilities = Capabilities::VERSION_1;
const CHILD: &str = "DSA_TEST_HAS_OWN_HANDLERS";
const THREADS: u32 = 4;
const FAULTS: u32 = 500;

static RECOVERED: AtomicU32 = AtomicU32::new(0);
static OTHERS: AtomicU32 = AtomicU32::new(0);

/// Counts what it meets. In a signal that is not of a guarded call it makes one, which faults.
extern "C" fn handler(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the arguments are the kernel's.
    if unsafe { dsa::memory::recover(signal, info, context) } {
        RECOVERED.fetch_add(1, Ordering::Relaxed);
    } else {
        OTHERS.fetch_add(1, Ordering::Relaxed);
        assert_eq!(read_of_nothing(), (status::PAGE_FAULT, 0), "a fault inside of a handler");
    }
}

fn read_of_nothing() -> (u8, u64) {
    let mut record = Record::default();
    let crc =
        Descriptor::of(Opcode::Crc).with_first(8).with_size(8).recording((&raw mut record) as u64);
    // SAFETY: it writes its record only.
    let engine = unsafe { SoftwareEngine::new(PART) };
    engine.execute(&crc, &QueueLimits::of(&PART));
    (record.status(), record.fault_address())
}

fn succeed() {
    let no_op = Descriptor::of(Opcode::NoOp);
    // SAFETY: it writes nothing.
    let engine = unsafe { SoftwareEngine::new(PART) };
    let mut record = Record::default();
    engine.execute(&no_op.recording((&raw mut record) as u64), &QueueLimits::of(&PART));
    assert_eq!(record.status(), status::SUCCESS);
}

fn install() {
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL] {
        // SAFETY: a zeroed action is one; the handler has the type of its flags.
        unsafe {
            let mut own: libc::sigaction = std::mem::zeroed();
            own.sa_sigaction = handler as *const () as usize;
            own.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigaction(signal, &raw const own, std::ptr::null_mut());
        }
    }
}

/// Sets an alternate stack on which a handler may execute a descriptor whose operand faults: two frames
/// of the kernel are on it then, and the stack of a thread of the standard library has room for one.
fn give_room() {
    const BYTES: usize = 64 << 10;
    let memory = vec![0_u8; BYTES].leak();
    let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: BYTES };
    // SAFETY: the memory stays.
    let result = unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) };
    assert_eq!(result, 0);
}

fn installed(signal: c_int) -> usize {
    // SAFETY: only the action is read.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action.sa_sigaction
    }
}

fn child() {
    dsa::memory::leave_handlers_to_caller();
    let before = installed(libc::SIGBUS);
    succeed();
    assert_eq!(installed(libc::SIGBUS), before, "nothing was installed");
    install();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..FAULTS {
                    assert_eq!(read_of_nothing(), (status::PAGE_FAULT, 0));
                }
            });
        }
    });
    let each = RECOVERED.load(Ordering::Relaxed) / (THREADS * FAULTS);
    assert!(each >= 1, "each fault came to the handler");
    assert_eq!(OTHERS.load(Ordering::Relaxed), 0);
    give_room();
    // Signals that are sent, and one of another kind, are not those of a guarded call.
    for signal in [libc::SIGSEGV, libc::SIGILL] {
        // SAFETY: the handler returns.
        unsafe { libc::raise(signal) };
    }
    assert_eq!(OTHERS.load(Ordering::Relaxed), 2);
    assert_eq!(
        installed(libc::SIGSEGV),
        handler as *const () as usize,
        "it is still the program's"
    );
}

#[test]
fn a_program_may_own_the_handlers() {
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    let own = std::env::current_exe().expect("a test has a program");
    let run = std::process::Command::new(own)
        .args(["--exact", "own_handlers::a_program_may_own_the_handlers", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .expect("the test starts itself");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{}: {said}", run.status);
}
