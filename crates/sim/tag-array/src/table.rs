//! A large array with few host cache and TLB misses: in huge pages, with prefetch.
//!
//! A simulated LLC is 10 to 20 MB of tags and states that are accessed at random. In 4 KiB pages almost
//! every access also misses the host's TLB; in 2 MiB pages it does not.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Size and alignment of the host's huge pages.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// Alignment of smaller tables: a cache line of the host.
const CACHE_LINE_BYTES: usize = 64;

/// A fixed number of values, in as few pages as the host allows.
#[derive(Debug)]
pub struct Table<T> {
    values: NonNull<T>,
    length: usize,
}

// SAFETY: a table owns its values as a Vec does, and lends them by its own borrow only.
#[allow(unsafe_code)]
unsafe impl<T: Send> Send for Table<T> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl<T: Sync> Sync for Table<T> {}

impl<T: Copy> Table<T> {
    /// A table of `length` copies of `value`.
    #[must_use]
    #[allow(unsafe_code)]
    pub fn new(value: T, length: usize) -> Self {
        let layout = layout::<T>(length);
        if layout.size() == 0 {
            return Self { values: NonNull::dangling(), length };
        }
        // SAFETY: the size of the layout is not zero.
        let memory = unsafe { alloc(layout) };
        let Some(values) = NonNull::new(memory.cast::<T>()) else { handle_alloc_error(layout) };
        ask_for_huge_pages(memory, layout);
        for index in 0..length {
            // SAFETY: the memory holds `length` values, aligned for them.
            unsafe { values.add(index).write(value) };
        }
        Self { values, length }
    }

    /// Prefetches the value at `index` into the host's cache; out of bounds nothing happens.
    #[inline]
    #[allow(unsafe_code)]
    pub fn prefetch(&self, index: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let address = self.values.as_ptr().wrapping_add(index);
            // SAFETY: a prefetch may name any address: it is a hint and reads nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast_const().cast()) };
        }
        // WebAssembly has no prefetch; a load that nothing waits for overlaps with others as one does.
        #[cfg(target_arch = "wasm32")]
        if index < self.length && size_of::<T>() > 0 {
            let address =
                self.values.as_ptr().wrapping_add(index).cast::<std::mem::MaybeUninit<u8>>();
            // SAFETY: the value is within the table, and any byte of it may be read as uninitialised.
            let _ = unsafe { address.read_volatile() };
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "wasm32")))]
        let _ = index;
    }
}

/// Size and alignment of a table: a large one begins on a huge page.
///
/// # Panics
/// If it would be larger than the address space.
fn layout<T>(length: usize) -> Layout {
    let array = Layout::array::<T>(length).expect("a table fits the address space");
    let alignment = if array.size() < HUGE_PAGE_BYTES { CACHE_LINE_BYTES } else { HUGE_PAGE_BYTES };
    array.align_to(alignment).expect("constant alignments are powers of two")
}

impl<T> Drop for Table<T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let layout = layout::<T>(self.length);
        if layout.size() > 0 {
            // SAFETY: allocated with the same layout; the values are Copy and need no drop.
            unsafe { dealloc(self.values.as_ptr().cast(), layout) };
        }
    }
}

impl Table<u32> {
    /// The memory as bytes.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn bytes(&self) -> &[u8] {
        let words: &[u32] = self;
        // SAFETY: every byte of a u32 is a valid u8, and the length is the same memory's in bytes.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
    }

    /// The memory as mutable bytes.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let words: &mut [u32] = self;
        let length = size_of_val(words);
        // SAFETY: as above; any bytes form a valid u32.
        unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), length) }
    }
}

/// Advises the kernel to put the memory, not yet touched, into huge pages. The kernel may decline.
#[allow(unsafe_code)]
fn ask_for_huge_pages(memory: *mut u8, layout: Layout) {
    #[cfg(target_os = "linux")]
    if layout.size() >= HUGE_PAGE_BYTES {
        // SAFETY: the range is our allocation, and the advice changes neither its content nor its
        // validity.
        unsafe { libc::madvise(memory.cast(), layout.size(), libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (memory, layout);
}

impl<T: Copy> Clone for Table<T> {
    fn clone(&self) -> Self {
        let Some(&first) = self.first() else {
            return Self { values: NonNull::dangling(), length: 0 };
        };
        let mut copy = Self::new(first, self.len());
        copy.copy_from_slice(self);
        copy
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];
    #[inline]
    #[allow(unsafe_code)]
    fn deref(&self) -> &[T] {
        // SAFETY: `length` values were written when the table was made.
        unsafe { std::slice::from_raw_parts(self.values.as_ptr(), self.length) }
    }
}

impl<T> DerefMut for Table<T> {
    #[inline]
    #[allow(unsafe_code)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.values.as_ptr(), self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_holds_its_values_whatever_its_size() {
        for length in [0, 1, 1_000, HUGE_PAGE_BYTES / 8, 3 * HUGE_PAGE_BYTES / 8 + 5] {
            let mut table = Table::new(7u64, length);
            assert_eq!(table.len(), length);
            assert!(table.iter().all(|&value| value == 7));
            if let Some(last) = table.last_mut() {
                *last = 9;
            }
            assert_eq!(table.clone().last(), table.last());
        }
    }

    #[test]
    fn a_large_table_begins_on_a_huge_page() {
        let table = Table::new(0u32, HUGE_PAGE_BYTES);
        assert_eq!(table.as_ptr() as usize % HUGE_PAGE_BYTES, 0);
    }

    #[test]
    fn a_prefetch_out_of_bounds_does_nothing() {
        let table = Table::new(0u32, 4);
        table.prefetch(3);
        table.prefetch(usize::MAX);
    }
}
