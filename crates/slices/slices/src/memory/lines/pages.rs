//! Pages that are added to an allocator later, or removed.

use super::{LINES_OF_WORD, LineAllocator};
use std::collections::TryReserveError;
use units::narrow::fit;

impl LineAllocator {
    /// Adds the lines of newly mapped pages, all or none: `lists` has the list of each line, page after
    /// page.
    pub(in crate::memory) fn add(
        &mut self,
        lines_of_page: u32,
        pages: &[usize],
        lists: &[u8],
    ) -> Result<(), TryReserveError> {
        let page_lines = lines_of_page as usize;
        let end = pages.last().map_or(0, |&last| (last + 1) * page_lines).max(self.lists.len());
        self.lists.try_reserve(end - self.lists.len())?;
        let words = end.div_ceil(LINES_OF_WORD as usize);
        self.flags.try_reserve(words - self.flags.len())?;
        let mut lengths = self.lines_of_slices.clone();
        lists.iter().for_each(|&list| lengths[usize::from(list)] += 1);
        self.free = self.free.with_capacities(&lengths, |_| false)?;
        self.lines_of_slices = lengths;
        self.lists.resize(end, 0);
        self.flags.resize(words, 0);
        for (&page, lists) in pages.iter().zip(lists.chunks_exact(page_lines)).rev() {
            let first = page * page_lines;
            self.lists[first..first + page_lines].copy_from_slice(lists);
            for (line, &list) in lists.iter().enumerate().rev() {
                self.free.push(usize::from(list), fit(first + line));
            }
        }
        Ok(())
    }

    /// One more than the highest line number so far.
    pub(in crate::memory) fn highest(&self) -> usize {
        self.lists.len()
    }

    /// Whether none of the `lines` of a page, from `first` on, is allocated.
    pub(in crate::memory) fn are_free(&self, first: u32, lines: u32) -> bool {
        let words = (first / LINES_OF_WORD) as usize..((first + lines) / LINES_OF_WORD) as usize;
        self.flags[words].iter().all(|&word| word == 0)
    }

    /// Removes the lines of pages, none of which is allocated; `pages` has the first line of each, in order.
    pub(in crate::memory) fn remove(
        &mut self,
        pages: &[u32],
        lines: u32,
    ) -> Result<(), TryReserveError> {
        let mut lengths = self.lines_of_slices.clone();
        for &first in pages {
            let lists = &self.lists[first as usize..(first + lines) as usize];
            lists.iter().for_each(|&list| lengths[usize::from(list)] -= 1);
        }
        let is_removed = |id: u32| pages.binary_search(&(id / lines * lines)).is_ok();
        self.free = self.free.with_capacities(&lengths, is_removed)?;
        self.lines_of_slices = lengths;
        Ok(())
    }
}
