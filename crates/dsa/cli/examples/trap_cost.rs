//! What a trapped descriptor costs beside empty signal handlers: `make bench-dsa-trap`.
//!
//! Rounds of both alternate, each in a process of its own: the handler in a plain one, ENQCMD and
//! MOVDIR64B in one that `skipline-dsa run` has started. Only the submission is timed: records are waited
//! for between groups of submissions that fit into the queue.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

use std::arch::asm;
use std::ffi::{c_int, c_void};
use std::process::Command;
use std::time::{Duration, Instant};

const ROUNDS: usize = 15;
const GROUPS: usize = 400;
/// Descriptors of a group: below the threshold of a queue of 16.
const IN_GROUP: usize = 8;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("illegal") => println!("{}", illegal()),
        Some("absent") => println!("{}", absent()),
        Some("enqcmd") => println!("{}", portal("/dev/dsa/wq0.1", enqcmd)),
        Some("movdir64b") => println!("{}", portal("/dev/dsa/wq0.0", movdir64b)),
        _ => compare(),
    }
}

fn compare() {
    let own = std::env::current_exe().expect("this program has a path");
    let tool = own.with_file_name("../skipline-dsa");
    let time = |way: &str, command: &mut Command| -> f64 {
        let output = command.arg(way).output().expect("the program starts");
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse().unwrap_or_else(|_| panic!("{way}: {text} {output:?}"))
    };
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let empty = ["illegal", "absent"].map(|way| time(way, &mut Command::new(&own)));
        let submitted = ["enqcmd", "movdir64b"]
            .map(|way| time(way, Command::new(&tool).args(["run", "--quiet", "--"]).arg(&own)));
        rounds.push((empty, submitted));
    }
    let quartiles = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        let at = |part: usize| values[(values.len() - 1) * part / 4];
        format!("{:.2} ({:.2} to {:.2})", at(2), at(1), at(3))
    };
    let show = |name: &str, value: fn(&([f64; 2], [f64; 2])) -> f64| {
        println!("{name:<34} {}", quartiles(rounds.iter().map(value).collect()));
    };
    show("empty handler of SIGILL, ns", |round| round.0[0]);
    show("empty handler of SIGBUS, ns", |round| round.0[1]);
    show("ENQCMD, ns", |round| round.1[0]);
    show("MOVDIR64B, ns", |round| round.1[1]);
    show("ENQCMD / empty handler of SIGILL", |round| round.1[0] / round.0[0]);
    show("MOVDIR64B / empty handler of SIGBUS", |round| round.1[1] / round.0[1]);
}

/// Nanoseconds of an invalid instruction whose handler does nothing but go on behind it.
fn illegal() -> f64 {
    skip_at(libc::SIGILL);
    let start = Instant::now();
    for _ in 0..GROUPS * IN_GROUP {
        // SAFETY: three bytes, which the handler skips.
        unsafe { asm!("ud2", "nop") };
    }
    per_one(start.elapsed())
}

/// Nanoseconds of a store to a page behind the end of its file, with such a handler: what a portal is.
fn absent() -> f64 {
    skip_at(libc::SIGBUS);
    // SAFETY: calls of the C library with valid arguments; the page is not accessed but by the store,
    // which the handler skips.
    unsafe {
        let file = libc::memfd_create(c"empty".as_ptr(), 0);
        let null = std::ptr::null_mut();
        let page = libc::mmap(null, 4096, libc::PROT_WRITE, libc::MAP_SHARED, file, 0);
        assert_ne!(page, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        let start = Instant::now();
        for _ in 0..GROUPS * IN_GROUP {
            // Three bytes.
            asm!(".byte 0xc6, 0x00, 0x00", in("rax") page);
        }
        per_one(start.elapsed())
    }
}

/// Sets a handler that goes on behind an instruction of three bytes.
fn skip_at(signal: c_int) {
    extern "C" fn skip(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel passes the context of the instruction.
        unsafe {
            (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] += 3;
        }
    }
    // SAFETY: a zeroed action is valid, and its fields are set.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = skip as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

fn per_one(total: Duration) -> f64 {
    total.as_secs_f64() * 1e9 / (GROUPS * IN_GROUP) as f64
}

#[repr(C, align(64))]
struct RawDescriptor([u64; 8]);

#[repr(C, align(32))]
struct RawRecord([u64; 4]);

unsafe fn enqcmd(portal: *mut c_void, descriptor: *const RawDescriptor) {
    // SAFETY: the portal is one, the descriptor is there.
    unsafe { asm!(".byte 0xf2, 0x0f, 0x38, 0xf8, 0x06", in("rax") portal, in("rsi") descriptor) };
}

unsafe fn movdir64b(portal: *mut c_void, descriptor: *const RawDescriptor) {
    // SAFETY: as above.
    unsafe { asm!(".byte 0x66, 0x0f, 0x38, 0xf8, 0x06", in("rax") portal, in("rsi") descriptor) };
}

/// Nanoseconds of the submission of a no-op.
fn portal(path: &str, submit: unsafe fn(*mut c_void, *const RawDescriptor)) -> f64 {
    /// Record address valid, record requested.
    const FLAGS: u64 = 0xc << 32;
    let path = std::ffi::CString::new(path).expect("a path");
    // SAFETY: calls of the C library with valid arguments; records outlive their descriptors, which are
    // waited for.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDWR);
        let null = std::ptr::null_mut();
        let page = libc::mmap(null, 4096, libc::PROT_WRITE, libc::MAP_SHARED, file, 0);
        assert_ne!(page, libc::MAP_FAILED, "{path:?}: {}", std::io::Error::last_os_error());
        let mut total = Duration::ZERO;
        for _ in 0..GROUPS {
            let records: Vec<RawRecord> = (0..IN_GROUP).map(|_| RawRecord([0; 4])).collect();
            let descriptors: Vec<RawDescriptor> = records
                .iter()
                .map(|record| {
                    RawDescriptor([FLAGS, std::ptr::from_ref(record) as u64, 0, 0, 0, 0, 0, 0])
                })
                .collect();
            let start = Instant::now();
            for descriptor in &descriptors {
                submit(page, descriptor);
            }
            total += start.elapsed();
            for record in &records {
                while std::ptr::from_ref(record).cast::<u8>().read_volatile() == 0 {
                    std::thread::yield_now();
                }
            }
        }
        per_one(total)
    }
}
