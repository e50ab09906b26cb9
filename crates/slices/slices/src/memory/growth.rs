//! Growth of a memory whose slices are full, and return of pages without an allocated line to the kernel.

use super::memory_request::MemoryError;
use super::nodes::common_node;
use super::objects::{LineUse, ObjectSize};
use super::owners::SliceOwner;
use super::page_location::{PlacementError, locate};
use super::pagemap::{OWN, PhysicalAddresses, ProcPagemap};
use super::pages_unavailable::PagesUnavailable;
use super::slice_memory::SliceMemory;
use crate::mapped_page::VirtualPage;
use std::collections::TryReserveError;
use std::path::Path;
use units::LINE_BYTES;
use units::narrow::{fit, usize_from};

impl SliceMemory {
    /// Maps at least `bytes` more, in whole pages, all or none.
    ///
    /// # Errors
    /// As [`Self::open`]; also if the memory would exceed its largest size, or is the caller's.
    pub fn grow(&mut self, bytes: usize) -> Result<(), MemoryError> {
        if self.plain_reason().is_some() {
            let pages = self.more_pages(bytes)?;
            return self.add_or_unmap(&pages, |memory| memory.add_plain(&pages));
        }
        let pagemap = ProcPagemap::open(Path::new(OWN)).map_err(PlacementError::from)?;
        self.grow_with(bytes, &pagemap)
    }

    /// Maps at least `bytes` more, in whole pages, all or none, with physical addresses from `addresses`.
    ///
    /// # Errors
    /// As [`Self::grow`].
    pub fn grow_with(
        &mut self,
        bytes: usize,
        addresses: &impl PhysicalAddresses,
    ) -> Result<(), MemoryError> {
        let pages = self.more_pages(bytes)?;
        self.add_or_unmap(&pages, |memory| memory.add_placed(&pages, addresses))
    }

    fn more_pages(&mut self, bytes: usize) -> Result<Vec<usize>, MemoryError> {
        let size = self.pages.size();
        let wanted = bytes.div_ceil(1 << size.bits()).max(1);
        let (is_plain, node) = (self.notes_all, self.node);
        self.pages.map_more(wanted).map_err(|error| match is_plain {
            true => MemoryError::Plain(error),
            false => PagesUnavailable::new(wanted, size, node, error).into(),
        })
    }

    /// Adds mapped pages by `take`; unmaps them if that fails.
    fn add_or_unmap(
        &mut self,
        pages: &[usize],
        take: impl FnOnce(&mut Self) -> Result<(), PlacementError>,
    ) -> Result<(), MemoryError> {
        let taken = take(self);
        if taken.is_err() {
            pages.iter().for_each(|&page| self.pages.unmap(page));
        }
        Ok(taken?)
    }

    fn add_plain(&mut self, pages: &[usize]) -> Result<(), PlacementError> {
        let lists = vec![0; self.lines_of_page() as usize * pages.len()];
        Ok(self.add_lines(pages, &lists)?)
    }

    fn add_placed(
        &mut self,
        pages: &[usize],
        addresses: &impl PhysicalAddresses,
    ) -> Result<(), PlacementError> {
        let virtual_pages: Vec<VirtualPage> =
            pages.iter().map(|&page| self.pages.page(page)).collect();
        let located = locate(&virtual_pages, addresses)?;
        self.node = common_node(&virtual_pages, self.node, addresses)?;
        let mut lists = Vec::new();
        lists.try_reserve_exact(self.lines_of_page() as usize * pages.len())?;
        for mapped in &located {
            for line in 0..mapped.virtual_page().lines() {
                let address = mapped.page.start + u64::from(line) * LINE_BYTES;
                lists.push(fit::<u8, _>(self.map.slice_of(address)?.0));
            }
        }
        self.located.try_reserve(located.len())?;
        self.add_lines(pages, &lists)?;
        self.located.extend(located);
        Ok(())
    }

    /// Adds the lines of pages, with the list of each line, page after page; all or none.
    fn add_lines(&mut self, pages: &[usize], lists: &[u8]) -> Result<(), TryReserveError> {
        let lines = self.lines_of_page();
        let end = pages.last().map_or(0, |&last| (last + 1) * lines as usize);
        self.uses.try_reserve(end.saturating_sub(self.uses.len()))?;
        self.lines.add(lines, pages, lists)?;
        let unused = LineUse::new(0, ObjectSize::LINE);
        self.uses.resize(end.max(self.uses.len()), unused);
        Ok(())
    }

    pub(super) fn lines_of_page(&self) -> u32 {
        1 << (self.pages.size().bits() - LINE_BYTES.trailing_zeros())
    }

    /// Whether the owner has `wanted` free lines; the memory grows if it has fewer.
    #[cold]
    pub(super) fn make_room(&mut self, owner: SliceOwner, wanted: usize) -> bool {
        // A request that all pages together could not satisfy must not map any.
        let addable = self.pages.left().saturating_mul(self.lines_of_page() as usize);
        if self.free_lines(owner).is_ok_and(|free| free.saturating_add(addable) < wanted) {
            return false;
        }
        while self.free_lines(owner).is_ok_and(|free| free < wanted) {
            // Growth by half of the present size, so that lists of all lines are seldom copied.
            let most = (self.pages.count() / 2).max(1).min(self.pages.left());
            let grown = (most > 0).then(|| self.grow(most << self.pages.size().bits()));
            match grown {
                Some(Ok(())) => {}
                // The kernel may have a page if it does not have many.
                Some(Err(_)) if most > 1 && self.grow(1).is_ok() => {}
                _ => return false,
            }
        }
        true
    }

    /// Gives pages without an allocated line back to the kernel, the last ones first, keeps at least
    /// `keep_bytes`, and returns the number of pages. Pages of the caller are never given back.
    ///
    /// # Errors
    /// If there is no memory for shorter lists; no page is given back then.
    pub fn give_back(&mut self, keep_bytes: usize) -> Result<usize, TryReserveError> {
        if self.pages.is_caller_memory() {
            return Ok(0);
        }
        let lines = self.lines_of_page();
        let keep = keep_bytes.div_ceil(1 << self.pages.size().bits());
        let most = self.pages.count().saturating_sub(keep);
        let first = |page: usize| fit::<u32, _>(page * lines as usize);
        let is_free =
            |&page: &usize| self.pages.is_mapped(page) && self.lines.are_free(first(page), lines);
        let all = self.lines.highest() / usize_from(lines.into());
        let mut pages: Vec<usize> = (0..all).rev().filter(is_free).take(most).collect();
        pages.reverse();
        let firsts: Vec<u32> = pages.iter().map(|&page| first(page)).collect();
        self.lines.remove(&firsts, lines)?;
        for &page in &pages {
            let start = self.pages.page(page).start;
            self.located.retain(|mapped| mapped.virtual_start != start);
            self.pages.unmap(page);
        }
        Ok(pages.len())
    }
}
