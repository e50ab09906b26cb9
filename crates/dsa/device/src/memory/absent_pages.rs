//! Injected page faults: pages that are absent for one descriptor, in the thread that executes it.
//!
//! They are looked up wherever the memory of a descriptor is tested before it is accessed. While a page is
//! absent, no operation accesses its memory before such a test. The process still has the pages, and other
//! threads access them.

use super::PAGE_BYTES;
use std::cell::{Cell, RefCell};

/// A range of neighbouring pages that are absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absent {
    first: u64,
    /// The last byte.
    last: u64,
    /// Whether a completion record in them can be written.
    spares_records: bool,
}

/// Kind of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Data,
    Record,
}

thread_local! {
    static IS_ANY: Cell<bool> = const { Cell::new(false) };
    static PAGES: RefCell<Vec<Absent>> = const { RefCell::new(Vec::new()) };
}

impl Absent {
    /// The pages of the bytes from `start` to before `end`.
    pub fn pages_of(start: u64, end: u64) -> Self {
        let first = start & !(PAGE_BYTES - 1);
        let last = end.saturating_sub(1) | (PAGE_BYTES - 1);
        Self { first, last, spares_records: false }
    }

    /// The page of an operand. A completion record in it is still written: a lost record is another kind of
    /// fault.
    pub fn data_page(address: u64) -> Self {
        Self { spares_records: true, ..Self::pages_of(address, address.saturating_add(1)) }
    }

    fn meets(&self, access: Access, address: u64, last: u64) -> bool {
        let counts = access == Access::Data || !self.spares_records;
        counts && self.first <= last && address <= self.last
    }
}

/// Runs `work` without these pages, and without those that are absent already.
pub(crate) fn without<R>(pages: &[Absent], work: impl FnOnce() -> R) -> R {
    /// Restores the number of absent pages when dropped.
    struct End(usize);

    impl Drop for End {
        fn drop(&mut self) {
            IS_ANY.set(self.0 > 0);
            PAGES.with_borrow_mut(|own| own.truncate(self.0));
        }
    }

    if pages.is_empty() {
        return work();
    }
    let before = PAGES.with_borrow_mut(|own| {
        let before = own.len();
        own.extend_from_slice(pages);
        before
    });
    IS_ANY.set(true);
    let _end = End(before);
    work()
}

/// The pages that are absent in this thread.
pub(crate) fn all() -> Vec<Absent> {
    if is_any() { PAGES.with_borrow(Clone::clone) } else { Vec::new() }
}

/// Whether any page is absent.
#[inline]
pub(crate) fn is_any() -> bool {
    IS_ANY.get()
}

/// Number of bytes, of the first `length`, that are in no absent page.
#[inline]
pub(crate) fn from_the_start(access: Access, address: u64, length: u64) -> u64 {
    if !is_any() || length == 0 {
        return length;
    }
    let last = address.saturating_add(length - 1);
    over(length, |pages| {
        pages.meets(access, address, last).then(|| pages.first.saturating_sub(address))
    })
}

/// As [`from_the_start`], from the last byte backwards.
#[inline]
pub(crate) fn from_the_end(access: Access, address: u64, length: u64) -> u64 {
    if !is_any() || length == 0 {
        return length;
    }
    let last = address.saturating_add(length - 1);
    over(length, |pages| {
        pages.meets(access, address, last).then(|| last.saturating_sub(pages.last))
    })
}

/// Whether none of these bytes is in an absent page.
#[inline]
pub(crate) fn are_there(access: Access, address: u64, length: u64) -> bool {
    from_the_start(access, address, length) == length
}

fn over(length: u64, reach: impl Fn(&Absent) -> Option<u64>) -> u64 {
    PAGES.with_borrow(|own| own.iter().filter_map(reach).fold(length, u64::min))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{load, read};

    #[test]
    fn what_is_absent_for_a_descriptor_is_there_for_a_signal_handler() {
        let text = [7_u8; 8];
        let address = text.as_ptr() as u64;
        without(&[Absent::data_page(address)], || {
            assert_eq!((read::<8>(address), load(address)), (None, Some(text)));
        });
        assert_eq!(read(address), Some(text));
    }
}
