//! Lines of huge pages, handed out by the slice that they are in.

mod batches;
mod pages;
mod statistics;

pub use statistics::LineStatistics;

use super::allocation_error::AllocationError;
use super::free_lists::FreeLists;
use super::mapped::{MappedPage, PlacementError, VirtualPage, locate};
use super::pagemap::{PhysicalAddressError, PhysicalAddresses};
use super::reserved::collected;
use crate::slice_map::SliceMap;
use std::collections::TryReserveError;
use std::iter::repeat_n;
use units::narrow::{fit, usize_from};
use units::{LINE_BYTES, SliceId};

/// A line that was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Virtual address of its first byte.
    pub virtual_address: u64,
    /// The slice that it is in; `None` if the allocator does not know.
    pub slice: Option<SliceId>,
    /// Its number: below [`LineStatistics::total`].
    pub(super) id: u32,
}

/// Flags of a line: it is handed out; it is noted, that is, [`super::SliceMemory`] keeps its use.
const ALLOCATED: u64 = 0b01;
const NOTED: u64 = 0b10;

/// Lines whose flags share a word.
const LINES_OF_WORD: u32 = u64::BITS / 2;

/// Hands out lines by slice.
#[derive(Debug)]
pub struct LineAllocator {
    /// Lines that follow each other in virtual memory: number and virtual address of each run's
    /// first one.
    runs: Vec<(u32, u64)>,
    /// Free lines of each slice, the next one to hand out last; one list if slices are not known.
    free: FreeLists,
    /// The list of each line: parts have 256 slices at most.
    lists: Vec<u8>,
    /// Flags of each line. Apart from the lists and dense, so that they stay in the cache.
    flags: Vec<u64>,
    lines_of_slices: Vec<u64>,
    /// Why slices are not known, if so.
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
        let virtual_pages = collected(pages.iter().map(MappedPage::virtual_page))?;
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

    /// Sorts the lines of `pages` by slice if the kernel tells where they are, else a plain
    /// allocator whose [`Self::plain_because`] says why.
    ///
    /// # Errors
    /// If the memory is not there or no huge page, or the table does not cover it: placement would
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

    /// Lines regardless of slices, for the `reason` given: what is left without privileges.
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
            lists: collected(repeat_n(0, total as usize))?,
            flags: collected(repeat_n(0, total.div_ceil(LINES_OF_WORD) as usize))?,
            lines_of_slices: Vec::new(),
            plain: None,
        })
    }

    /// Puts each line into its list, so that lower numbers go out first.
    fn free_all(&mut self) -> Result<(), TryReserveError> {
        self.free = FreeLists::full(&self.lists, self.free.lists())?;
        self.lines_of_slices = self.free_of_slices();
        Ok(())
    }

    /// Why lines are handed out regardless of slices; `None` if they are not.
    #[must_use]
    pub fn plain_because(&self) -> Option<&str> {
        self.plain.as_deref()
    }

    /// Lines of each slice, free or not; a single number if slices are not known.
    #[must_use]
    pub fn lines_of_slices(&self) -> &[u64] {
        &self.lines_of_slices
    }

    /// How the memory is used.
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

    /// One line in one of `slices`: in the one with most free lines, the first among equals. An
    /// isolation set is a set of slices that only one owner asks for.
    ///
    /// # Errors
    /// If those slices have no free line, or one does not exist. A plain allocator ignores `slices`.
    pub fn allocate(&mut self, slices: &[SliceId]) -> Result<Line, AllocationError> {
        slices.iter().try_for_each(|&slice| self.list(slice).map(drop))?;
        let id = self.take(slices).ok_or(AllocationError::Exhausted { wanted: 1, free: 0 })?;
        Ok(self.line(id))
    }

    /// The same by number, for slices that exist.
    #[inline]
    pub(super) fn take(&mut self, slices: &[SliceId]) -> Option<u32> {
        let list = match slices {
            _ if self.free.lists() == 1 => 0,
            &[only] => usize::from(only.0),
            _ => self.fullest(slices)?,
        };
        self.take_from(list)
    }

    /// The same from one list.
    #[inline(always)]
    pub(super) fn take_from(&mut self, list: usize) -> Option<u32> {
        let id = self.free.pop(list)?;
        self.set_flags(id, ALLOCATED);
        Some(id)
    }

    /// Takes a line back, if it is handed out and not noted.
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

    /// Takes a line that is handed out back.
    #[inline]
    pub(super) fn give_back(&mut self, id: u32) {
        self.flags[(id / LINES_OF_WORD) as usize] &= !((ALLOCATED | NOTED) << shift(id));
        self.free.push(usize::from(self.lists[id as usize]), id);
    }

    /// Whether a line is handed out, and whether it is noted.
    #[inline]
    pub(super) fn state(&self, id: u32) -> Option<bool> {
        let flags = self.flags.get((id / LINES_OF_WORD) as usize)? >> shift(id);
        (flags & ALLOCATED != 0).then_some(flags & NOTED != 0)
    }

    /// Notes a line that is handed out.
    pub(super) fn note(&mut self, id: u32) {
        self.set_flags(id, NOTED);
    }

    #[inline(always)]
    fn set_flags(&mut self, id: u32, flags: u64) {
        self.flags[(id / LINES_OF_WORD) as usize] |= flags << shift(id);
    }

    /// A buffer of at least `bytes` as lines in `slices`, wherever they are; all of it or nothing.
    ///
    /// # Errors
    /// As [`Self::allocate`], or if there is no memory for the list.
    pub fn allocate_scattered(
        &mut self,
        bytes: u64,
        slices: &[SliceId],
    ) -> Result<Vec<Line>, AllocationError> {
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

    /// Bytes of the lists beside the lines.
    pub(super) fn list_bytes(&self) -> u64 {
        self.free.bytes() + (size_of_val(&self.lists[..]) + size_of_val(&self.flags[..])) as u64
    }

    /// Free lines of those slices; of all if slices are not known.
    pub(super) fn free_lines(&self, slices: &[SliceId]) -> usize {
        if self.plain.is_some() {
            return self.free.length(0) as usize;
        }
        let mut lists: Vec<u16> = slices.iter().map(|slice| slice.0).collect();
        lists.sort_unstable();
        lists.dedup();
        lists.iter().map(|&list| self.free.length(usize::from(list)) as usize).sum()
    }

    /// Takes a line back.
    ///
    /// # Errors
    /// If it is not handed out.
    pub fn free(&mut self, line: Line) -> Result<(), AllocationError> {
        if self.state(line.id).is_none() || self.virtual_address(line.id) != line.virtual_address {
            return Err(AllocationError::NotAllocated(line.virtual_address));
        }
        self.give_back(line.id);
        Ok(())
    }

    /// The line that holds the byte at a virtual address, if it is handed out.
    #[must_use]
    pub fn line_at(&self, virtual_address: u64) -> Option<Line> {
        // Runs are few, and in no order of virtual addresses.
        let id = self.runs.iter().enumerate().find_map(|(index, &(first, start))| {
            let end = self.runs.get(index + 1).map_or(self.lists.len() as u64, |run| run.0.into());
            let line = virtual_address.checked_sub(start)? / LINE_BYTES + u64::from(first);
            (line < end).then(|| fit(line))
        })?;
        self.state(id).map(|_| self.line(id))
    }

    fn line(&self, id: u32) -> Line {
        let slice = SliceId(self.lists[id as usize].into());
        let slice = self.plain.is_none().then_some(slice);
        Line { virtual_address: self.virtual_address(id), slice, id }
    }

    /// The list of a slice, which is the only one if slices are not known.
    fn list(&self, slice: SliceId) -> Result<usize, AllocationError> {
        if self.plain.is_some() {
            return Ok(0);
        }
        let (slices, slice) = (fit(self.free.lists()), slice.0);
        let exists = u32::from(slice) < slices;
        exists.then_some(usize::from(slice)).ok_or(AllocationError::NoSlice { slice, slices })
    }

    /// The slice with most free lines, the first among equals.
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
