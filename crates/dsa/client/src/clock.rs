//! The monotonic clock, read without locks and allocations.

#![allow(unsafe_code)]

/// Nanoseconds of the monotonic clock, by a system call: a library that replaces `clock_gettime`, as some
/// test tools do, does not change them.
#[must_use]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the time in.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
