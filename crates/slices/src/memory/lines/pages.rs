//! Pages that an allocator gets later, or gives up.

use super::{LINES_OF_WORD, LineAllocator};
use std::collections::TryReserveError;
use units::narrow::fit;

impl LineAllocator {
    /// Takes in the lines of pages that are mapped now, by the numbers of the pages and the lists of
    /// their lines, page after page; all or none.
    pub(in crate::memory) fn add(
        &mut self,
        lines_of_page: u32,
        pages: &[usize],
        lists: &[u8],
    ) -> Result<(), TryReserveError> {
        let of_page = lines_of_page as usize;
        let end = pages.last().map_or(0, |&last| (last + 1) * of_page).max(self.lists.len());
        self.lists.try_reserve(end - self.lists.len())?;
        let words = end.div_ceil(LINES_OF_WORD as usize);
        self.flags.try_reserve(words - self.flags.len())?;
        let mut lengths = self.lines_of_slices.clone();
        lists.iter().for_each(|&list| lengths[usize::from(list)] += 1);
        self.free = self.free.relaid(&lengths, |_| false)?;
        self.lines_of_slices = lengths;
        self.lists.resize(end, 0);
        self.flags.resize(words, 0);
        for (&page, lists) in pages.iter().zip(lists.chunks_exact(of_page)).rev() {
            let first = page * of_page;
            self.lists[first..first + of_page].copy_from_slice(lists);
            for (line, &list) in lists.iter().enumerate().rev() {
                self.free.push(usize::from(list), fit(first + line));
            }
        }
        Ok(())
    }

    /// One more than the highest number that a line has had.
    pub(in crate::memory) fn highest(&self) -> usize {
        self.lists.len()
    }

    /// Whether no line of a page, from `first` on, is handed out.
    pub(in crate::memory) fn are_free(&self, first: u32, lines: u32) -> bool {
        let words = (first / LINES_OF_WORD) as usize..((first + lines) / LINES_OF_WORD) as usize;
        self.flags[words].iter().all(|&word| word == 0)
    }

    /// Forgets the lines of pages, none of which is handed out, by their first ones in order.
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
        let gone = |id: u32| pages.binary_search(&(id / lines * lines)).is_ok();
        self.free = self.free.relaid(&lengths, gone)?;
        self.lines_of_slices = lengths;
        Ok(())
    }
}
