//! How far memory can be accessed, page by page.

use super::{PAGE_BYTES, bytes, bytes_mut, guarded};
use std::cell::Cell;

/// How a byte is accessed to see whether it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Read,
    /// Read and written back. The operation writes the byte: who writes it at the same time races with
    /// the operation already.
    Write,
    /// As [`Self::Write`], but in one access: the operation may leave the byte as it is.
    WriteAtOnce,
}

/// Of `length` bytes at `address`, how many from the first on can be accessed.
pub(super) fn from_the_start(address: u64, length: u64, how: Touch) -> u64 {
    // Addresses end at 2^64; nothing is there.
    let length_below_end = length.min(address.wrapping_neg().wrapping_sub(1));
    let reached = Cell::new(0_u64);
    guarded(|| {
        // What is noted is not read back here: each page would wait for the store of the one before.
        let mut done = 0;
        while done < length_below_end {
            let next = address + done;
            let in_page = (PAGE_BYTES - next % PAGE_BYTES).min(length_below_end - done);
            touch(next + away(next, in_page), how);
            done += in_page;
            note(&reached, done);
        }
    });
    reached.get()
}

/// Where in a page to access it: in each at another offset. Equal offsets are in one set of the host's
/// L1D, and a load waits for a store that only its low address bits have in common with it.
#[inline]
fn away(address: u64, in_page: u64) -> u64 {
    let offset = address / PAGE_BYTES % 64 * 64;
    if offset < in_page { offset } else { 0 }
}

/// As [`from_the_start`], from the last byte backwards.
pub(super) fn from_the_end(address: u64, length: u64, how: Touch) -> u64 {
    if address.checked_add(length).is_none() {
        return 0;
    }
    let reached = Cell::new(0_u64);
    guarded(|| {
        while reached.get() < length {
            let last = address.wrapping_add(length - reached.get() - 1);
            touch(last, how);
            note(&reached, (reached.get() + last % PAGE_BYTES + 1).min(length));
        }
    });
    reached.get()
}

/// Stores a value where it is read after a fault.
#[allow(unsafe_code)]
fn note(reached: &Cell<u64>, value: u64) {
    // SAFETY: a cell lends its place; the store is volatile, so that it is done before the next access.
    unsafe { reached.as_ptr().write_volatile(value) };
}

/// Accesses a byte without changing it.
#[inline(always)]
#[allow(unsafe_code)]
fn touch(address: u64, how: Touch) {
    let byte: *mut u8 = bytes_mut(address);
    // SAFETY: called inside a guard.
    unsafe {
        match how {
            Touch::Read => {
                bytes::<u8>(address).read_volatile();
            }
            Touch::Write => byte.write_volatile(byte.read_volatile()),
            Touch::WriteAtOnce => {
                std::arch::asm!("lock or byte ptr [{byte}], 0", byte = in(reg) byte);
            }
        }
    }
}
