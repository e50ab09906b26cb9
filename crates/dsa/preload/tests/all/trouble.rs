//! Calls in difficult circumstances: signals, faults, children, threads, errno, open files.

use crate::functions::{Copy, Numbers, both};
use crate::inside::{How, Report, inside};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

const BYTES: usize = 100_000;
const PAGE: usize = 4096;

/// The signal that a child ended with.
pub fn signal_of(child: libc::pid_t) -> Option<c_int> {
    let status = status_of(child);
    libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status))
}

fn status_of(child: libc::pid_t) -> c_int {
    let mut status = 0;
    // SAFETY: waits for the child.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status
}

/// Copies, and looks whether all bytes are there.
fn is_copied(from: &[u8], to: &mut [u8]) -> bool {
    to.copy_from_slice(from);
    to == from
}

/// Pages, of which none but the first can be accessed.
fn guarded_pages() -> *mut u8 {
    // SAFETY: a new mapping, where the kernel likes; then its later pages.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let pages = libc::mmap(std::ptr::null_mut(), 8 * PAGE, protection, flags, -1, 0);
        assert_ne!(pages, libc::MAP_FAILED);
        let later = pages.cast::<u8>().wrapping_add(PAGE);
        assert_eq!(libc::mprotect(later.cast(), 7 * PAGE, libc::PROT_NONE), 0);
        pages.cast()
    }
}

#[test]
fn a_bad_address_ends_the_program_by_its_signal() {
    inside!(a_bad_address_ends_the_program_by_its_signal, How::default(), |report| assert!(
        report.calls("memcpy", "cpu") > 0,
        "{}",
        report.0
    ));
    let from = Numbers(1).bytes(8 * PAGE);
    let pages = guarded_pages();
    let [memcpy, _] = both!(c"memcpy" as Copy);
    // SAFETY: the child makes one call.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the fault is what this is for.
        unsafe {
            memcpy(pages.cast(), from.as_ptr().cast(), 8 * PAGE);
            libc::_exit(0);
        }
    }
    assert_eq!(signal_of(child), Some(libc::SIGSEGV));
}

static GUARDED: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static FAULTS: AtomicUsize = AtomicUsize::new(0);

/// Makes the page accessible that was not, as collectors of garbage do.
unsafe extern "C" fn on_fault(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel's information on a fault; the pages are the test's own.
    unsafe {
        let address = (*info).si_addr() as usize;
        let start = GUARDED.load(Ordering::Relaxed) as usize;
        if !(start..start + 8 * PAGE).contains(&address) {
            libc::_exit(3);
        }
        FAULTS.fetch_add(1, Ordering::Relaxed);
        let page = address & !(PAGE - 1);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        libc::mprotect(page as *mut c_void, PAGE, protection);
    }
}

#[test]
fn a_program_s_own_handler_of_faults_is_called_and_the_call_goes_on() {
    inside!(
        a_program_s_own_handler_of_faults_is_called_and_the_call_goes_on,
        How::default(),
        |report| assert!(report.because("page fault") > 0, "{}", report.0)
    );
    let from = Numbers(2).bytes(8 * PAGE);
    let pages = guarded_pages();
    GUARDED.store(pages, Ordering::Relaxed);
    handle(libc::SIGSEGV, on_fault as *const () as usize, libc::SA_SIGINFO);
    let [memcpy, _] = both!(c"memcpy" as Copy);
    // SAFETY: the handler makes the pages accessible.
    let result = unsafe { memcpy(pages.cast(), from.as_ptr().cast(), 8 * PAGE) };
    assert_eq!(result, pages.cast());
    assert_eq!(FAULTS.load(Ordering::Relaxed), 7);
    // SAFETY: the pages can be read now.
    assert!(unsafe { std::slice::from_raw_parts(pages, 8 * PAGE) } == from);
}

fn handle(signal: c_int, handler: usize, flags: c_int) {
    // SAFETY: a zeroed action is valid; the handler has the type that the flags say.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags | libc::SA_RESTART;
        assert_eq!(libc::sigaction(signal, &raw const action, std::ptr::null_mut()), 0);
    }
}

static HANDLED: AtomicU32 = AtomicU32::new(0);
static WRONG: AtomicU32 = AtomicU32::new(0);
/// Whether a handler is using the two buffers.
static HAS_BUFFERS: AtomicBool = AtomicBool::new(false);
static FROM: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static TO: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

unsafe extern "C" fn on_alarm(_: c_int) {
    // The alarm goes to any thread of the process, also while another one has the buffers.
    if HAS_BUFFERS.swap(true, Ordering::Acquire) {
        return;
    }
    // SAFETY: buffers that are there as long as the timer runs.
    let (from, to) = unsafe {
        let from = std::slice::from_raw_parts(FROM.load(Ordering::Relaxed), BYTES);
        (from, std::slice::from_raw_parts_mut(TO.load(Ordering::Relaxed), BYTES))
    };
    to.fill(0);
    let is_wrong = !is_copied(from, to);
    WRONG.fetch_add(is_wrong.into(), Ordering::Relaxed);
    HANDLED.fetch_add(1, Ordering::Relaxed);
    HAS_BUFFERS.store(false, Ordering::Release);
}

#[test]
fn handlers_of_signals_that_interrupt_large_calls_make_large_calls() {
    inside!(
        handlers_of_signals_that_interrupt_large_calls_make_large_calls,
        How::default(),
        |report| {
            assert!(report.calls("memcpy", "device") > 0, "{}", report.0);
            assert!(report.because("inside another") > 0, "{}", report.0);
        }
    );
    let (mut from, mut to) = (Numbers(3).bytes(BYTES), vec![0; BYTES]);
    FROM.store(from.as_mut_ptr(), Ordering::Relaxed);
    TO.store(to.as_mut_ptr(), Ordering::Relaxed);
    handle(libc::SIGALRM, on_alarm as *const () as usize, 0);
    let period = libc::timeval { tv_sec: 0, tv_usec: 300 };
    let mut timer = libc::itimerval { it_interval: period, it_value: period };
    // SAFETY: a timer of this process.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
    let own = Numbers(4).bytes(BYTES);
    let mut copy = vec![0; BYTES];
    while HANDLED.load(Ordering::Relaxed) < soak::amount(200, 4_000) {
        copy.fill(0);
        assert!(is_copied(&own, &mut copy));
    }
    timer.it_interval.tv_usec = 0;
    timer.it_value.tv_usec = 0;
    // SAFETY: as above.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
    assert_eq!(WRONG.load(Ordering::Relaxed), 0);
}

#[test]
fn a_child_of_a_fork_has_queues_of_its_own_if_it_is_to() {
    inside!(
        a_child_of_a_fork_has_queues_of_its_own_if_it_is_to,
        How { settings: &[("SKIPLINE_DSA_PRELOAD_CHILDREN", "on")], ..How::default() },
        |report| assert_eq!(processes_with_large_copies(&report, "device"), 2, "{}", report.0)
    );
    copies_in_parent_and_child();
}

#[test]
fn a_child_of_a_fork_leaves_its_calls_to_the_c_library() {
    inside!(a_child_of_a_fork_leaves_its_calls_to_the_c_library, How::default(), |report| {
        assert_eq!(processes_with_large_copies(&report, "device"), 1, "{}", report.0);
        assert_eq!(processes_with_large_copies(&report, "cpu"), 1, "{}", report.0);
    });
    copies_in_parent_and_child();
}

fn processes_with_large_copies(report: &Report, by: &str) -> usize {
    report.0.matches(&format!("memcpy {by} 65536 ")).count()
}

fn copies_in_parent_and_child() {
    let (from, mut to) = (Numbers(5).bytes(BYTES), vec![0; BYTES]);
    assert!(is_copied(&from, &mut to));
    // SAFETY: no other thread of the test holds a lock; engines are the software device's.
    let child = unsafe { libc::fork() };
    if child == 0 {
        to.fill(0);
        let right = is_copied(&from, &mut to);
        // Statistics are written.
        std::process::exit(i32::from(!right));
    }
    assert_eq!(status_of(child), 0);
    to.fill(0);
    assert!(is_copied(&from, &mut to));
}

#[test]
fn threads_call_at_the_same_time() {
    inside!(threads_call_at_the_same_time, How::default(), |report| assert!(
        report.calls("memcpy", "device") > 100,
        "{}",
        report.0
    ));
    std::thread::scope(|scope| {
        for seed in 0..6 {
            scope.spawn(move || {
                let mut numbers = Numbers(seed);
                for _ in 0..soak::amount(40, 800) {
                    let bytes = 5000 + numbers.below(BYTES);
                    let from = numbers.bytes(bytes);
                    assert!(is_copied(&from, &mut vec![0; from.len()]));
                }
            });
        }
    });
}

#[test]
fn a_call_keeps_errno_and_opens_no_file_for_the_program() {
    inside!(a_call_keeps_errno_and_opens_no_file_for_the_program, How::default(), |report| {
        assert!(report.calls("memcpy", "device") > 0, "{}", report.0);
    });
    let files = || std::fs::read_dir("/proc/self/fd").expect("is there").count();
    let before = files();
    let (from, mut to) = (Numbers(6).bytes(BYTES), vec![0; BYTES]);
    for _ in 0..20 {
        // SAFETY: each thread has its own errno.
        unsafe { *libc::__errno_location() = 12345 };
        let right = is_copied(&from, &mut to);
        // SAFETY: as above.
        assert_eq!(unsafe { *libc::__errno_location() }, 12345);
        assert!(right);
    }
    assert_eq!(files(), before);
}

#[test]
fn a_device_that_is_reset_leaves_all_to_the_c_library() {
    let plan = tempfile::NamedTempFile::new().expect("can be created");
    std::fs::write(plan.path(), "seed = 1\nreset.after_descriptors = 10\n").expect("is written");
    inside!(
        a_device_that_is_reset_leaves_all_to_the_c_library,
        How { options: &["--inject", plan.path().to_str().expect("is text")], ..How::default() },
        |report| assert!(report.because("queues full") > 0, "{}", report.0)
    );
    let (from, mut to) = (Numbers(7).bytes(BYTES), vec![0; BYTES]);
    for _ in 0..40 {
        to.fill(0);
        assert!(is_copied(&from, &mut to));
    }
}
