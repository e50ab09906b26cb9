//! A probe of memory, page by page: the length that can be accessed.

use super::{PAGE_BYTES, bytes, bytes_mut, guarded};
use std::cell::Cell;

/// Access to a byte that tests whether it can be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Read,
    /// Read and written back. The operation writes the byte anyway, so another thread that writes it at
    /// the same time races with the operation already.
    Write,
    /// As [`Self::Write`], but in one atomic access: the operation may leave the byte unchanged.
    WriteAtOnce,
}

/// Number of bytes, of the first `length` at `address`, that can be accessed.
pub(super) fn from_the_start(address: u64, length: u64, how: Touch) -> u64 {
    // Addresses end at 2^64; nothing is there.
    let length_below_end = length.min(address.wrapping_neg().wrapping_sub(1));
    let reached = Cell::new(0_u64);
    guarded(|| {
        // The stored progress is not read back here: each page would wait for the store of the one before.
        let mut done = 0;
        while done < length_below_end {
            let next = address + done;
            let in_page = (PAGE_BYTES - next % PAGE_BYTES).min(length_below_end - done);
            touch(next + probe_offset(next, in_page), how);
            done += in_page;
            note(&reached, done);
        }
    });
    reached.get()
}

/// Offset at which a page is accessed, another one in each page. Equal offsets would be in one set of the
/// host's L1D, and a load waits for a store with the same low address bits.
#[inline]
fn probe_offset(address: u64, in_page: u64) -> u64 {
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

/// Stores the progress, which is read after a fault.
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
