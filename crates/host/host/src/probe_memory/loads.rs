//! Loads, flushes and timed loads of single lines: the only unsafe code here.

use std::arch::x86_64::{_mm_clflush, _mm_lfence, _mm_mfence, _rdtsc};

/// Loads the line of `byte` and flushes it from all caches, over and over: each load looks it up in
/// its slice.
#[allow(unsafe_code)]
pub(super) fn load_and_flush(byte: &u8, times: u32) {
    let pointer = std::ptr::from_ref(byte);
    for _ in 0..times {
        // SAFETY: `pointer` comes from a reference, so it may be read; flushing changes no content, and
        // every x86-64 processor has CLFLUSH (SSE2).
        unsafe {
            pointer.read_volatile();
            _mm_clflush(pointer);
            _mm_mfence();
        }
    }
}

/// Loads a byte; the compiler cannot remove the load.
#[allow(unsafe_code)]
pub(super) fn load(byte: &u8) {
    // SAFETY: the pointer comes from a reference.
    unsafe { std::ptr::from_ref(byte).read_volatile() };
}

/// Cycles of the time stamp counter that pass while a byte is loaded, reading the counter included.
/// Without a byte, the cycles of reading the counter alone.
#[allow(unsafe_code)]
pub(super) fn cycles_of_load(byte: Option<&u8>) -> u64 {
    // SAFETY: the pointer comes from a reference; fences and RDTSC touch no memory (SSE2, and every
    // system that this runs on lets processes read the counter).
    unsafe {
        _mm_mfence();
        _mm_lfence();
        let before = _rdtsc();
        _mm_lfence();
        if let Some(byte) = byte {
            std::ptr::from_ref(byte).read_volatile();
        }
        _mm_lfence();
        let after = _rdtsc();
        _mm_lfence();
        after.wrapping_sub(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_keeps_its_content_and_loads_take_time() {
        let bytes = vec![7u8; 64];
        load_and_flush(&bytes[0], 100);
        load(&bytes[0]);
        assert_eq!(bytes, vec![7u8; 64]);
        assert!(cycles_of_load(Some(&bytes[0])) > 0 && cycles_of_load(None) > 0);
    }
}
