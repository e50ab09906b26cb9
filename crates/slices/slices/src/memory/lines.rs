//! Allocator of lines of huge pages by slice.

mod batches;
mod pages;
mod statistics;

pub use statistics::LineStatistics;

use super::allocation_error::AllocationError;
use super::fallible_list::try_collect;
use super::free_lists::FreeLists;
use super::page_location::{PlacementError, locate};
use super::pagemap::{PhysicalAddressError, PhysicalAddresses};
use crate::mapped_page::{MappedPage, VirtualPage};
use crate::slice_map::SliceMap;
use std::collections::TryReserveError;
use std::iter::repeat_n;
use units::narrow::{fit, usize_from};
use units::{LINE_BYTES, SliceId};

/// An allocated line: its virtual address, its slice and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocatedLine {
    /// Virtual address of the line's first byte.
    pub virtual_address: u64,
    /// Slice of the line; `None` if the allocator does not know slices.
    pub slice: Option<SliceId>,
    /// Number of the line: below [`LineStatistics::total`].
    pub(super) id: u32,
}

/// Flags of a line: it is allocated; it is noted, that is, [`super::SliceMemory`] keeps its use.
const ALLOCATED: u64 = 0b01;
const NOTED: u64 = 0b10;

/// Number of lines whose flags share a word.
const LINES_OF_WORD: u32 = u64::BITS / 2;

/// Allocates lines by slice.
#[derive(Debug)]
pub struct LineAllocator {
    /// Runs of lines that follow each other in virtual memory: number and virtual address of the first
    /// line of each run.
    runs: Vec<(u32, u64)>,
    /// Free lines of each slice, the next one to allocate last; one list if slices are not known.
    free: FreeLists,
    /// The list of each line: a socket has 256 slices at most.
    lists: Vec<u8>,
    /// Flags of each line; separate from the lists and dense, so that they stay in the cache.
    flags: Vec<u64>,
    lines_of_slices: Vec<u64>,
    /// The reason why slices are not known; `None` if they are.
    plain: Option<String>,
}

impl LineAllocator {
    /// Sorts the lines of `pages` by slice.
    ///
    /// # Errors
    /// If the table does not cover a line, or there is no memory for lists of the lines.
    ///
    /// # Panics
    /// If there are 2^32 lines or more (256 GiB).
    pub fn new(map: &SliceMap, pages: &[MappedPage]) -> Result<Self, PlacementError> {
        let virtual_pages = try_collect(pages.iter().map(MappedPage::virtual_page))?;
        let mut allocator = Self::empty(&virtual_pages, map.slices() as usize)?;
        let mut lists = allocator.lists.iter_mut();
        for mapped in pages {
            for line in 0..mapped.virtual_page().lines() {
                let slice = map.slice_of(mapped.page.start + u64::from(line) * LINE_BYTES)?;
                *lists.next().expect("there are as many") = fit(slice.0);
            }
        }
        allocator.free_all()?;
        Ok(allocator)
    }

    /// Sorts the lines of `pages` by slice if the kernel reports physical addresses; otherwise makes a plain
    /// allocator, which keeps the reason as [`Self::plain_reason`].
    ///
    /// # Errors
    /// If the memory is not present or not of huge pages, or the table does not cover it: placement would
    /// be wrong. If there is no memory for lists of the lines.
    ///
    /// # Panics
    /// If there are 2^32 lines or more (256 GiB).
    pub fn slice_aware_or_plain(
        map: &SliceMap,
        pages: &[VirtualPage],
        addresses: &impl PhysicalAddresses,
    ) -> Result<Self, PlacementError> {
        match locate(pages, addresses) {
            Ok(mapped) => Self::new(map, &mapped),
            Err(PlacementError::Unknown(
                reason @ (PhysicalAddressError::Hidden | PhysicalAddressError::Unreadable { .. }),
            )) => Ok(Self::plain(pages, &reason.to_string())?),
            Err(error) => Err(error),
        }
    }

    /// Makes an allocator of lines regardless of slices, which needs no privileges, and keeps the `reason`.
    ///
    /// # Errors
    /// If there is no memory for lists of the lines.
    ///
    /// # Panics
    /// If there are 2^32 lines or more (256 GiB).
    pub fn plain(pages: &[VirtualPage], reason: &str) -> Result<Self, TryReserveError> {
        let mut allocator = Self::empty(pages, 1)?;
        allocator.free_all()?;
        allocator.plain = Some(reason.into());
        Ok(allocator)
    }

    fn empty(pages: &[VirtualPage], lists: usize) -> Result<Self, TryReserveError> {
        let mut runs: Vec<(u32, u64)> = Vec::new();
        let mut total = 0u32;
        for page in pages {
            let follows = |&(first, start): &(u32, u64)| {
                start + u64::from(total - first) * LINE_BYTES == page.start
            };
            if !runs.last().is_some_and(follows) {
                runs.try_reserve(1)?;
                runs.push((total, page.start));
            }
            total = total.checked_add(page.lines()).expect("fewer than 2^32 lines");
        }
        Ok(Self {
            runs,
            free: FreeLists::full(&[], lists)?,
            lists: try_collect(repeat_n(0, total as usize))?,
            flags: try_collect(repeat_n(0, total.div_ceil(LINES_OF_WORD) as usize))?,
            lines_of_slices: Vec::new(),
            plain: None,
        })
    }

    /// Puts each line into its list, so that lower numbers are allocated first.
    fn free_all(&mut self) -> Result<(), TryReserveError> {
        self.free = FreeLists::full(&self.lists, self.free.lists())?;
        self.lines_of_slices = self.free_of_slices();
        Ok(())
    }

    /// The reason why lines are allocated regardless of slices; `None` if they are allocated by slice.
    #[must_use]
    pub fn plain_reason(&self) -> Option<&str> {
        self.plain.as_deref()
    }

    /// Number of lines of each slice, free or not; a single number if slices are not known.
    #[must_use]
    pub fn lines_of_slices(&self) -> &[u64] {
        &self.lines_of_slices
    }

    /// Counts of total, allocated and free lines.
    #[must_use]
    pub fn statistics(&self) -> LineStatistics {
        let free_of_slices = self.free_of_slices();
        let total = self.lines_of_slices.iter().sum::<u64>();
        let allocated = total - free_of_slices.iter().sum::<u64>();
        LineStatistics { total, allocated, free_of_slices }
    }

    fn free_of_slices(&self) -> Vec<u64> {
        (0..self.free.lists()).map(|list| self.free.length(list).into()).collect()
    }

    /// Allocates a line in one of `slices`: in the one with most free lines, the first among equals. A plain
    /// allocator ignores `slices`. For isolation, allocate for only one owner in each slice.
    ///
    /// # Errors
    /// If those slices have no free line, or one does not exist.
    pub fn allocate(&mut self, slices: &[SliceId]) -> Result<AllocatedLine, AllocationError> {
        slices.iter().try_for_each(|&slice| self.list(slice).map(drop))?;
        let id = self.take(slices).ok_or(AllocationError::Exhausted { wanted: 1, free: 0 })?;
        Ok(self.line(id))
    }

    /// Allocates a line in one of `slices`, which exist, and returns its number.
    #[inline]
    pub(super) fn take(&mut self, slices: &[SliceId]) -> Option<u32> {
        let list = match slices {
            _ if self.free.lists() == 1 => 0,
            &[only] => usize::from(only.0),
            _ => self.fullest(slices)?,
        };
        self.take_from(list)
    }

    /// Allocates a line of one list and returns its number.
    #[inline(always)]
    pub(super) fn take_from(&mut self, list: usize) -> Option<u32> {
        let id = self.free.pop(list)?;
        self.set_flags(id, ALLOCATED);
        Some(id)
    }

    /// Frees a line, if it is allocated and not noted; returns whether it was.
    #[inline(always)]
    pub(super) fn give_back_whole(&mut self, id: u32) -> bool {
        let (word, flags) = ((id / LINES_OF_WORD) as usize, ALLOCATED << shift(id));
        let both = flags | NOTED << shift(id);
        match (self.flags.get_mut(word), self.lists.get(id as usize)) {
            (Some(word), Some(&list)) if *word & both == flags => {
                *word ^= flags;
                self.free.push(list.into(), id);
                true
            }
            _ => false,
        }
    }

    /// Frees an allocated line.
    #[inline]
    pub(super) fn give_back(&mut self, id: u32) {
        self.flags[(id / LINES_OF_WORD) as usize] &= !((ALLOCATED | NOTED) << shift(id));
        self.free.push(usize::from(self.lists[id as usize]), id);
    }

    /// Whether an allocated line is noted; `None` if the line is not allocated.
    #[inline]
    pub(super) fn state(&self, id: u32) -> Option<bool> {
        let flags = self.flags.get((id / LINES_OF_WORD) as usize)? >> shift(id);
        (flags & ALLOCATED != 0).then_some(flags & NOTED != 0)
    }

    /// Marks an allocated line as noted.
    pub(super) fn note(&mut self, id: u32) {
        self.set_flags(id, NOTED);
    }

    #[inline(always)]
    fn set_flags(&mut self, id: u32, flags: u64) {
        self.flags[(id / LINES_OF_WORD) as usize] |= flags << shift(id);
    }

    /// Allocates a buffer of at least `bytes` as lines anywhere in `slices`, all or none.
    ///
    /// # Errors
    /// As [`Self::allocate`], or if there is no memory for the list.
    pub fn allocate_scattered(
        &mut self,
        bytes: u64,
        slices: &[SliceId],
    ) -> Result<Vec<AllocatedLine>, AllocationError> {
        let wanted = usize_from(bytes.div_ceil(LINE_BYTES));
        slices.iter().try_for_each(|&slice| self.list(slice).map(drop))?;
        let free = self.free_lines(slices);
        if wanted > free {
            return Err(AllocationError::Exhausted { wanted, free });
        }
        let mut lines = Vec::new();
        lines.try_reserve_exact(wanted)?;
        for _ in 0..wanted {
            lines.push(self.allocate(slices)?);
        }
        Ok(lines)
    }

    /// Size of the allocator's own lists in bytes.
    pub(super) fn list_bytes(&self) -> u64 {
        self.free.bytes() + (size_of_val(&self.lists[..]) + size_of_val(&self.flags[..])) as u64
    }

    /// Number of free lines of those slices; of all lines if slices are not known.
    pub(super) fn free_lines(&self, slices: &[SliceId]) -> usize {
        if self.plain.is_some() {
            return self.free.length(0) as usize;
        }
        let mut lists: Vec<u16> = slices.iter().map(|slice| slice.0).collect();
        lists.sort_unstable();
        lists.dedup();
        lists.iter().map(|&list| self.free.length(usize::from(list)) as usize).sum()
    }

    /// Frees a line.
    ///
    /// # Errors
    /// If the line is not allocated.
    pub fn free(&mut self, line: AllocatedLine) -> Result<(), AllocationError> {
        if self.state(line.id).is_none() || self.virtual_address(line.id) != line.virtual_address {
            return Err(AllocationError::NotAllocated(line.virtual_address));
        }
        self.give_back(line.id);
        Ok(())
    }

    /// The line that contains the byte at a virtual address; `None` if it is not allocated.
    #[must_use]
    pub fn line_at(&self, virtual_address: u64) -> Option<AllocatedLine> {
        // Runs are few, and in no order of virtual addresses.
        let id = self.runs.iter().enumerate().find_map(|(index, &(first, start))| {
            let end = self.runs.get(index + 1).map_or(self.lists.len() as u64, |run| run.0.into());
            let line = virtual_address.checked_sub(start)? / LINE_BYTES + u64::from(first);
            (line < end).then(|| fit(line))
        })?;
        self.state(id).map(|_| self.line(id))
    }

    fn line(&self, id: u32) -> AllocatedLine {
        let slice = SliceId(self.lists[id as usize].into());
        let slice = self.plain.is_none().then_some(slice);
        AllocatedLine { virtual_address: self.virtual_address(id), slice, id }
    }

    /// The list of a slice; list 0, the only one, if slices are not known.
    fn list(&self, slice: SliceId) -> Result<usize, AllocationError> {
        if self.plain.is_some() {
            return Ok(0);
        }
        let (slices, slice) = (fit(self.free.lists()), slice.0);
        let exists = u32::from(slice) < slices;
        exists.then_some(usize::from(slice)).ok_or(AllocationError::NoSlice { slice, slices })
    }

    /// The list of the slice with most free lines, the first among equals.
    fn fullest(&self, slices: &[SliceId]) -> Option<usize> {
        let lists = slices.iter().map(|slice| usize::from(slice.0)).rev();
        lists.max_by_key(|&list| self.free.length(list))
    }

    fn virtual_address(&self, id: u32) -> u64 {
        let run = self.runs.partition_point(|&(first, _)| first <= id) - 1;
        let (first, start) = self.runs[run];
        start + u64::from(id - first) * LINE_BYTES
    }
}

/// Shift of a line's flags in their word.
#[inline(always)]
fn shift(id: u32) -> u32 {
    id % LINES_OF_WORD * 2
}
