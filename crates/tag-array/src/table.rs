//! A large array that the host reaches quickly: in huge pages, with prefetch.
//!
//! A simulated LLC is 10 to 20 MB of tags and states, visited at random. In 4 KiB pages almost every
//! visit misses the host's TLB as well; in 2 MiB pages it does not.

use std::ops::{Deref, DerefMut};

/// Size and alignment of the host's huge pages.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// A fixed number of values in as few pages as the host allows.
#[derive(Debug)]
pub struct Table<T> {
    memory: Vec<T>,
    /// Where the values begin: on a huge page if the table is large.
    start: usize,
}

impl<T: Copy> Table<T> {
    /// `length` times `value`.
    #[must_use]
    pub fn new(value: T, length: usize) -> Self {
        if length * size_of::<T>() < HUGE_PAGE_BYTES {
            return Self { memory: vec![value; length], start: 0 };
        }
        let slack = HUGE_PAGE_BYTES / size_of::<T>();
        let mut memory = Vec::with_capacity(length + slack);
        ask_for_huge_pages(&mut memory);
        let misplaced = memory.as_ptr() as usize % HUGE_PAGE_BYTES;
        let start = (HUGE_PAGE_BYTES - misplaced) / size_of::<T>() % slack;
        memory.resize(start + length, value);
        Self { memory, start }
    }

    /// Starts to load the value at `index` into the host's cache; nothing happens out of bounds.
    #[inline]
    #[allow(unsafe_code)]
    pub fn prefetch(&self, index: usize) {
        #[cfg(target_arch = "x86_64")]
        if let Some(value) = self.get(index) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a prefetch of any address is allowed; this one is of a live value.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = index;
    }
}

/// Tells the kernel that the memory, not yet touched, is best in huge pages. It may decline.
#[allow(unsafe_code)]
fn ask_for_huge_pages<T>(memory: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        let spare = memory.spare_capacity_mut();
        let first_page = (spare.as_ptr() as usize).next_multiple_of(HUGE_PAGE_BYTES);
        let end = spare.as_ptr_range().end as usize;
        if first_page < end {
            // SAFETY: the range lies within memory that this vector owns, and the advice changes
            // neither its content nor its validity.
            unsafe {
                libc::madvise(first_page as *mut _, end - first_page, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

impl<T: Copy> Clone for Table<T> {
    fn clone(&self) -> Self {
        let Some(&first) = self.first() else { return Self { memory: Vec::new(), start: 0 } };
        let mut copy = Self::new(first, self.len());
        copy.copy_from_slice(self);
        copy
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.memory[self.start..]
    }
}

impl<T> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..]
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
