//! Memory and results: the same as the C library's, for all sizes, alignments and overlaps, also if the
//! device fails.

use crate::functions::{CheckedCopy, CheckedFill, Compare, Copy, Fill, Numbers, both};
use crate::inside::{How, inside};
use std::ffi::{CStr, c_int};

const MOST_BYTES: usize = 300_000;

/// Calls of each function, of any size and alignment.
fn calls(seed: u64) {
    let count = soak::amount(300, 5_000);
    let mut numbers = Numbers(soak::seed(seed));
    for _ in 0..count {
        copies(&mut numbers);
        moves(&mut numbers);
        fills(&mut numbers);
        comparisons(&mut numbers);
    }
}

/// Two equal memories, in which the two functions work.
fn twice(numbers: &mut Numbers, bytes: usize) -> [Vec<u8>; 2] {
    let memory = numbers.bytes(bytes);
    [memory.clone(), memory]
}

fn copies(numbers: &mut Numbers) {
    let bytes = numbers.size(MOST_BYTES);
    let (from_at, to_at) = (numbers.below(70), numbers.below(70));
    let from = numbers.bytes(bytes + 70);
    let names: [(&CStr, bool); 3] = [(c"memcpy", false), (c"mempcpy", true), (c"__mempcpy", true)];
    let (name, is_end) = names[numbers.below(3)];
    let functions = match name.to_bytes() {
        b"memcpy" => both!(c"memcpy" as Copy),
        b"mempcpy" => both!(c"mempcpy" as Copy),
        _ => both!(c"__mempcpy" as Copy),
    };
    let mut memories = twice(numbers, bytes + 140);
    for (memory, function) in memories.iter_mut().zip(functions) {
        let to = memory[to_at..].as_mut_ptr();
        // SAFETY: both ranges are inside their buffers.
        let result = unsafe { function(to.cast(), from[from_at..].as_ptr().cast(), bytes) };
        let expected = if is_end { to.wrapping_add(bytes) } else { to };
        assert_eq!(result, expected.cast(), "{name:?} of {bytes} bytes");
    }
    assert!(memories[0] == memories[1], "{name:?} of {bytes} bytes");
    assert!(memories[0][to_at..to_at + bytes] == from[from_at..from_at + bytes]);
}

fn moves(numbers: &mut Numbers) {
    let bytes = numbers.size(MOST_BYTES);
    // Half of them overlap.
    let distance = numbers.below(2 * bytes + 1);
    let (low, high) = (numbers.below(70), distance);
    let (from, to) = if numbers.below(2) == 0 { (low, low + high) } else { (low + high, low) };
    let mut memories = twice(numbers, 3 * bytes + 140);
    for (memory, function) in memories.iter_mut().zip(both!(c"memmove" as Copy)) {
        let start = memory.as_mut_ptr();
        // SAFETY: both ranges are inside the buffer.
        let result =
            unsafe { function(start.add(to).cast(), start.add(from).cast_const().cast(), bytes) };
        assert_eq!(result, start.wrapping_add(to).cast());
    }
    assert!(memories[0] == memories[1], "memmove of {bytes} bytes from {from} to {to}");
}

fn fills(numbers: &mut Numbers) {
    let (bytes, at) = (numbers.size(MOST_BYTES), numbers.below(70));
    // memset uses the low byte of its argument only.
    let value = c_int::from(numbers.byte()) - 256 * c_int::from(numbers.byte());
    let mut memories = twice(numbers, bytes + 140);
    for (memory, function) in memories.iter_mut().zip(both!(c"memset" as Fill)) {
        let to = memory[at..].as_mut_ptr();
        // SAFETY: the range is inside the buffer.
        assert_eq!(unsafe { function(to.cast(), value, bytes) }, to.cast());
    }
    assert!(memories[0] == memories[1], "memset of {bytes} bytes to {value}");
}

fn comparisons(numbers: &mut Numbers) {
    let (bytes, at) = (numbers.size(MOST_BYTES) + 1, numbers.below(70));
    let one = numbers.bytes(bytes + 70);
    let mut other = one.clone();
    for _ in 0..numbers.below(3) {
        let at = at + numbers.below(bytes);
        other[at] = numbers.byte();
    }
    for functions in [both!(c"memcmp" as Compare), both!(c"bcmp" as Compare)] {
        let results = functions.map(|function| {
            // SAFETY: both ranges are inside their buffers.
            unsafe { function(one[at..].as_ptr().cast(), other[at..].as_ptr().cast(), bytes) }
        });
        assert_eq!(results[0], results[1], "memcmp of {bytes} bytes");
        let is_equal = one[at..at + bytes] == other[at..at + bytes];
        assert_eq!(results[0] == 0, is_equal);
    }
}

#[test]
fn calls_of_any_size_and_alignment_give_what_the_c_library_gives() {
    inside!(
        calls_of_any_size_and_alignment_give_what_the_c_library_gives,
        How::default(),
        |report| for function in ["memcpy", "memmove", "memset", "memcmp"] {
            assert!(report.calls(function, "device") > 20, "{function}\n{}", report.0);
        }
    );
    calls(1);
}

const TROUBLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/trouble.toml");

#[test]
fn calls_that_the_device_fails_at_are_done_by_the_c_library() {
    inside!(
        calls_that_the_device_fails_at_are_done_by_the_c_library,
        How {
            options: &["--inject", TROUBLE],
            settings: &[("SKIPLINE_DSA_PRELOAD_MIN_BYTES", "64")],
            ..How::default()
        },
        |report| for reason in ["page fault", "device error"] {
            assert!(report.because(reason) > 0, "{reason}\n{}", report.0);
        }
    );
    calls(2);
}

#[test]
fn a_share_of_the_cpu_changes_no_byte() {
    inside!(
        a_share_of_the_cpu_changes_no_byte,
        How {
            settings: &[
                ("DTO_CPU_SIZE_FRACTION", "0.33"),
                ("DTO_MIN_BYTES", "64"),
                ("DTO_WAIT_METHOD", "umwait"),
            ],
            ..How::default()
        },
        |report| assert!(report.because("share") > 100, "{}", report.0)
    );
    calls(3);
}

#[test]
fn tuning_changes_no_byte_and_leaves_to_the_cpu_what_it_does_faster() {
    inside!(
        tuning_changes_no_byte_and_leaves_to_the_cpu_what_it_does_faster,
        How { settings: &[("SKIPLINE_DSA_PRELOAD_TUNE", "on")], ..How::default() },
        // The device in software is slower at each size.
        |report| assert!(report.because("tuned") > 100, "{}", report.0)
    );
    calls(4);
}

/// A queue whose largest transfer is 4 KiB.
const SMALL_TRANSFERS: &str = r#"[{
  "dev": "dsa0",
  "groups": [
    {"dev": "group0.0", "grouped_workqueues": [
      {"dev": "wq0.0", "mode": "shared", "size": 16, "group_id": 0, "priority": 5,
       "block_on_fault": 0, "type": "user", "name": "one", "driver_name": "user", "threshold": 8,
       "max_batch_size": 4, "max_transfer_size": 4096}],
     "grouped_engines": [{"dev": "engine0.0", "group_id": 0}]}]
}]"#;

#[test]
fn calls_beyond_the_largest_transfer_are_several_descriptors() {
    let config = tempfile::NamedTempFile::new().expect("can be created");
    std::fs::write(config.path(), SMALL_TRANSFERS).expect("is written");
    inside!(
        calls_beyond_the_largest_transfer_are_several_descriptors,
        How { options: &["--config", config.path().to_str().expect("is text")], ..How::default() },
        |report| assert!(report.calls("memcpy", "device") > 20, "{}", report.0)
    );
    calls(5);
}

#[test]
fn checked_functions_do_the_same_and_end_the_program_as_the_c_library_s_do() {
    inside!(
        checked_functions_do_the_same_and_end_the_program_as_the_c_library_s_do,
        How::default(),
        |report| assert!(report.calls("memset", "device") > 0, "{}", report.0)
    );
    let bytes = 20_000;
    let from = Numbers(6).bytes(bytes);
    let functions: [(_, usize); 3] = [
        (both!(c"__memcpy_chk" as CheckedCopy)[0], 0),
        (both!(c"__memmove_chk" as CheckedCopy)[0], 0),
        (both!(c"__mempcpy_chk" as CheckedCopy)[0], bytes),
    ];
    for (function, result_at) in functions {
        let mut to = vec![0_u8; bytes];
        // SAFETY: both buffers have so many bytes.
        let call =
            |to: *mut u8, room| unsafe { function(to.cast(), from.as_ptr().cast(), bytes, room) };
        let result = call(to.as_mut_ptr(), bytes);
        assert_eq!(result, to.as_mut_ptr().wrapping_add(result_at).cast());
        assert!(to == from);
        ends_with_abort(|| {
            call(to.as_mut_ptr(), bytes - 1);
        });
    }
    let fill = both!(c"__memset_chk" as CheckedFill)[0];
    let mut to = vec![0_u8; bytes];
    // SAFETY: the buffer has so many bytes.
    unsafe { fill(to.as_mut_ptr().cast(), 7, bytes, bytes) };
    assert!(to.iter().all(|byte| *byte == 7));
    // SAFETY: it ends before it writes.
    ends_with_abort(|| unsafe {
        fill(to.as_mut_ptr().cast(), 7, bytes, bytes - 1);
    });
}

fn ends_with_abort(call: impl FnOnce()) {
    // SAFETY: the child makes one call.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: what the C library prints is not looked for.
        unsafe { libc::close(libc::STDERR_FILENO) };
        call();
        // SAFETY: it ends without the test's clean-up.
        unsafe { libc::_exit(0) };
    }
    assert_eq!(crate::trouble::signal_of(child), Some(libc::SIGABRT));
}
