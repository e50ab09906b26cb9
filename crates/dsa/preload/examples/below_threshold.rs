//! Measures the cost of a call below the threshold with the library, beside the C library's own function:
//! medians of interleaved pairs in one run. It ends with 1 if one of them is more than 2 ns dearer.
//!
//! The program runs itself again with the library preloaded.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Instant;

const LIBRARY: &str = "libskipline_dsa_preload.so";
const MOST_NS: f64 = 2.0;
const PAIRS: usize = 401;
const CALLS: u32 = 4000;
const SIZES: [usize; 6] = [8, 64, 256, 1024, 2048, 4095];

type Copy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;
type Fill = unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void;
type Compare = unsafe extern "C" fn(*const c_void, *const c_void, usize) -> c_int;

fn main() -> ExitCode {
    // SAFETY: the name ends with zero.
    let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"memcpy".as_ptr()) };
    if first == of_libc(c"memcpy") {
        return again();
    }
    println!("function bytes libc_ns library_ns difference_ns (medians of {PAIRS} pairs)");
    let mut is_met = true;
    for bytes in SIZES {
        is_met &= row("memcpy", bytes, both(c"memcpy"), copies);
        is_met &= row("memmove", bytes, both(c"memmove"), copies);
        is_met &= row("memset", bytes, both(c"memset"), fills);
        is_met &= row("memcmp", bytes, both(c"memcmp"), comparisons);
    }
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs this program with the library, which is in its directory or in the one above.
fn again() -> ExitCode {
    if std::env::var_os("LD_PRELOAD").is_some() {
        eprintln!("LD_PRELOAD does not have the library in front");
        return ExitCode::from(2);
    }
    let own = std::env::current_exe().expect("a program has a path");
    let Some(library) =
        own.ancestors().skip(1).take(2).map(|it| it.join(LIBRARY)).find(|it| it.is_file())
    else {
        eprintln!("there is no {LIBRARY} beside this program: make bench-dsa-preload builds both");
        return ExitCode::from(2);
    };
    // Without queues each size is below the limit; compare and jump are those of a machine that has some.
    let error = Command::new(own).env("LD_PRELOAD", library).exec();
    eprintln!("{error}");
    ExitCode::from(2)
}

fn of_libc(name: &CStr) -> *mut c_void {
    // SAFETY: names end with zero; the C library is loaded.
    unsafe {
        let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        libc::dlsym(library, name.as_ptr())
    }
}

/// The C library's function, and the library's.
fn both(name: &CStr) -> [*mut c_void; 2] {
    // SAFETY: the name ends with zero.
    [of_libc(name), unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }]
}

/// Measures in turn, prints medians, and says whether the limit is kept.
fn row(
    name: &str,
    bytes: usize,
    functions: [*mut c_void; 2],
    calls: fn(*mut c_void, usize),
) -> bool {
    let time = |function: *mut c_void| {
        let begun = Instant::now();
        calls(function, bytes);
        begun.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    let _warm = functions.map(time);
    let pair = |number: usize| {
        // Which goes first changes, so that neither has the caches of the other.
        if number.is_multiple_of(2) {
            [time(functions[0]), time(functions[1])]
        } else {
            let library = time(functions[1]);
            [time(functions[0]), library]
        }
    };
    let pairs: Vec<[f64; 2]> = (0..PAIRS).map(pair).collect();
    let middle = |of: fn(&[f64; 2]) -> f64| median(pairs.iter().map(of).collect());
    let difference = middle(|[libc, library]| library - libc);
    println!("{name} {bytes} {:.2} {:.2} {difference:.2}", middle(|it| it[0]), middle(|it| it[1]));
    difference <= MOST_NS
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn copies(function: *mut c_void, bytes: usize) {
    let (from, mut to) = (vec![1_u8; bytes], vec![0_u8; bytes]);
    // SAFETY: the function of that name has this type; both buffers have so many bytes.
    unsafe {
        let function = std::mem::transmute::<*mut c_void, Copy>(function);
        for _ in 0..CALLS {
            function(to.as_mut_ptr().cast(), from.as_ptr().cast(), bytes);
        }
    }
}

fn fills(function: *mut c_void, bytes: usize) {
    let mut to = vec![0_u8; bytes];
    // SAFETY: as above.
    unsafe {
        let function = std::mem::transmute::<*mut c_void, Fill>(function);
        for _ in 0..CALLS {
            function(to.as_mut_ptr().cast(), 7, bytes);
        }
    }
}

fn comparisons(function: *mut c_void, bytes: usize) {
    let (one, other) = (vec![1_u8; bytes], vec![1_u8; bytes]);
    // SAFETY: as above.
    unsafe {
        let function = std::mem::transmute::<*mut c_void, Compare>(function);
        for _ in 0..CALLS {
            std::hint::black_box(function(one.as_ptr().cast(), other.as_ptr().cast(), bytes));
        }
    }
}
