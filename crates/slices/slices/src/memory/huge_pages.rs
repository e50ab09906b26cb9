//! Huge pages of this process, plain pages in their place, and pages that the caller has mapped.
#![allow(unsafe_code)]

use super::address_space::{self, PageMapping};
use super::fallible_list::try_collect;
use super::pages_unavailable::PagesUnavailable;
use crate::mapped_page::VirtualPage;
use crate::recovery::HugePageSize;
use std::collections::TryReserveError;
use std::io;
use std::iter::repeat_n;
use std::ops::Range;

/// Address space for pages that follow each other, of which some are mapped.
#[derive(Debug)]
pub struct HugePages {
    start: usize,
    size: HugePageSize,
    states: Vec<PageState>,
    /// Bytes up to the first page that is not mapped.
    prefix: usize,
    origin: PageOrigin,
}

/// Origin of the pages: this object maps and unmaps them, or the caller does.
#[derive(Debug)]
enum PageOrigin {
    Mapped(PageMapping, Option<u32>),
    Caller,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageState {
    Reserved,
    Mapped,
    /// The address space went to another mapping of the process.
    Lost,
}

impl HugePages {
    /// Maps at least `bytes` of huge pages (`MAP_HUGETLB`) and touches them.
    ///
    /// # Errors
    /// If the kernel has too few.
    pub fn map(bytes: usize, size: HugePageSize) -> Result<Self, PagesUnavailable> {
        Self::map_on(bytes, bytes, size, None)
    }

    /// Maps at least `bytes` of huge pages on a node, if one is given, and reserves address space for
    /// `most_bytes` in all.
    ///
    /// # Errors
    /// As [`Self::map`].
    pub fn map_on(
        bytes: usize,
        most_bytes: usize,
        size: HugePageSize,
        node: Option<u32>,
    ) -> Result<Self, PagesUnavailable> {
        let pages = page_count(bytes, size);
        let reserved =
            Self::reserve(most_bytes.max(bytes), size, PageMapping::Huge(size.bits()), node);
        let mapped = reserved.and_then(|mut all| all.map_more(pages).map(|_| all));
        mapped.map_err(|error| PagesUnavailable::new(pages, size, node, error))
    }

    /// Maps at least `bytes` of plain pages, whose lines may be in any slice.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn plain(bytes: usize, size: HugePageSize) -> io::Result<Self> {
        Self::plain_on(bytes, bytes, size, None)
    }

    /// Maps at least `bytes` of plain pages on a node, if one is given, and reserves address space for
    /// `most_bytes` in all.
    ///
    /// # Errors
    /// As [`Self::plain`].
    pub fn plain_on(
        bytes: usize,
        most_bytes: usize,
        size: HugePageSize,
        node: Option<u32>,
    ) -> io::Result<Self> {
        let mut all = Self::reserve(most_bytes.max(bytes), size, PageMapping::Plain, node)?;
        all.map_more(page_count(bytes, size))?;
        Ok(all)
    }

    /// Whole pages that the caller has mapped and unmaps later. `None` if `start` or `bytes` is not a
    /// multiple of the page size, or there is no memory for the list of pages.
    ///
    /// # Safety
    /// The memory is mapped, readable and writable as long as this object lives, and is accessed through
    /// this object only.
    pub unsafe fn from_caller(start: u64, bytes: u64, size: HugePageSize) -> Option<Self> {
        let page_bytes = 1 << size.bits();
        let whole = start.is_multiple_of(page_bytes) && bytes.is_multiple_of(page_bytes);
        let pages =
            usize::try_from(bytes >> size.bits()).ok().filter(|&pages| pages > 0 && whole)?;
        let states = try_collect(repeat_n(PageState::Mapped, pages)).ok()?;
        let mut all = Self {
            start: usize::try_from(start).ok()?,
            size,
            states,
            prefix: 0,
            origin: PageOrigin::Caller,
        };
        all.note_prefix();
        Some(all)
    }

    fn reserve(
        bytes: usize,
        size: HugePageSize,
        mapping: PageMapping,
        node: Option<u32>,
    ) -> io::Result<Self> {
        let pages = page_count(bytes, size);
        let states = try_collect(repeat_n(PageState::Reserved, pages));
        let states = states.map_err(|_| io::ErrorKind::OutOfMemory)?;
        let bytes = pages.checked_mul(1 << size.bits()).ok_or(io::ErrorKind::OutOfMemory)?;
        let start = address_space::reserve(bytes, 1 << size.bits())?;
        Ok(Self { start, size, states, prefix: 0, origin: PageOrigin::Mapped(mapping, node) })
    }

    /// Maps so many pages more, all or none, and returns their numbers.
    ///
    /// # Errors
    /// If the kernel refuses, or no address space is left for them.
    pub(super) fn map_more(&mut self, pages: usize) -> io::Result<Vec<usize>> {
        let PageOrigin::Mapped(mapping, node) = self.origin else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        let reserved = self.states.iter().enumerate();
        let reserved = reserved.filter(|&(_, &state)| state == PageState::Reserved);
        let chosen: Vec<usize> = reserved.map(|(page, _)| page).take(pages).collect();
        if chosen.len() < pages {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        for (done, run) in chosen.chunk_by(|one, next| one + 1 == *next).enumerate() {
            let range = self.range(run);
            // SAFETY: the pages are reserved and not mapped, so that nothing refers to them.
            if let Err(error) = unsafe { address_space::map(&range, mapping, node) } {
                if error.is_none() {
                    run.iter().for_each(|&page| self.states[page] = PageState::Lost);
                }
                let before = chosen.chunk_by(|one, next| one + 1 == *next).take(done);
                before.flatten().for_each(|&page| self.unmap(page));
                return Err(error.unwrap_or_else(|| io::ErrorKind::OutOfMemory.into()));
            }
            run.iter().for_each(|&page| self.states[page] = PageState::Mapped);
        }
        self.note_prefix();
        Ok(chosen)
    }

    fn range(&self, run: &[usize]) -> Range<usize> {
        let first = self.start + (run[0] << self.size.bits());
        first..first + (run.len() << self.size.bits())
    }

    /// Gives a page back to the kernel; its address space stays reserved.
    pub(super) fn unmap(&mut self, page: usize) {
        let range = self.range(&[page]);
        // SAFETY: the page is mapped by this object, whose callers have no reference to it.
        let unmapped = unsafe { address_space::unmap(&range) };
        self.states[page] = if unmapped.is_ok() { PageState::Reserved } else { PageState::Lost };
        self.note_prefix();
    }

    /// Whether the caller has mapped the pages, so that this object neither maps nor unmaps any.
    pub(super) fn is_caller_memory(&self) -> bool {
        matches!(self.origin, PageOrigin::Caller)
    }

    /// Number of reserved pages that are not mapped.
    pub(super) fn left(&self) -> usize {
        self.states.iter().filter(|&&state| state == PageState::Reserved).count()
    }

    /// Number of mapped pages.
    pub(super) fn count(&self) -> usize {
        self.states.iter().filter(|&&state| state == PageState::Mapped).count()
    }

    pub(super) fn is_mapped(&self, page: usize) -> bool {
        self.states.get(page) == Some(&PageState::Mapped)
    }

    /// Size of each page.
    pub(super) fn size(&self) -> HugePageSize {
        self.size
    }

    /// A page by its number.
    pub(super) fn page(&self, page: usize) -> VirtualPage {
        VirtualPage { start: self.start() + ((page as u64) << self.size.bits()), size: self.size }
    }

    /// The mapped pages in virtual memory.
    ///
    /// # Errors
    /// If there is no memory for the list.
    pub fn pages(&self) -> Result<Vec<VirtualPage>, TryReserveError> {
        let mut pages = Vec::new();
        pages.try_reserve_exact(self.count())?;
        let mapped = (0..self.states.len()).filter(|&page| self.is_mapped(page));
        pages.extend(mapped.map(|page| self.page(page)));
        Ok(pages)
    }

    /// Virtual address of the first page.
    #[inline]
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start as u64
    }

    /// The memory up to the first page that is not mapped.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: as in `range_bytes`; the pages of the prefix are mapped.
        unsafe { std::slice::from_raw_parts(self.start as *const u8, self.prefix) }
    }

    /// The memory up to the first page that is not mapped.
    #[inline]
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `range_bytes_mut`; the pages of the prefix are mapped.
        unsafe { std::slice::from_raw_parts_mut(self.start as *mut u8, self.prefix) }
    }

    fn note_prefix(&mut self) {
        let pages = self.states.iter().take_while(|&&state| state == PageState::Mapped);
        self.prefix = pages.count() << self.size.bits();
    }

    /// The bytes of a range of offsets; `None` unless all are mapped.
    pub(super) fn range_bytes(&self, range: Range<usize>) -> Option<&[u8]> {
        let first = self.mapped_address(&range)?;
        // SAFETY: the bytes are mapped as long as `self` has the pages, and initialised by the kernel
        // or the caller; while the result lives `self` cannot change them.
        Some(unsafe { std::slice::from_raw_parts(first as *const u8, range.len()) })
    }

    /// The bytes of a range of offsets, for writing; `None` unless all are mapped.
    pub(super) fn range_bytes_mut(&mut self, range: Range<usize>) -> Option<&mut [u8]> {
        let first = self.mapped_address(&range)?;
        // SAFETY: as above; `self` is borrowed for as long as the result lives.
        Some(unsafe { std::slice::from_raw_parts_mut(first as *mut u8, range.len()) })
    }

    /// Address of the first byte of a range of offsets; `None` unless all are mapped.
    fn mapped_address(&self, range: &Range<usize>) -> Option<usize> {
        let pages = range.start >> self.size.bits()..range.end.div_ceil(1 << self.size.bits());
        let states = self.states.get(pages)?;
        states.iter().all(|&state| state == PageState::Mapped).then(|| self.start + range.start)
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        if self.is_caller_memory() {
            return;
        }
        let ours: Vec<usize> =
            (0..self.states.len()).filter(|&page| self.states[page] != PageState::Lost).collect();
        for run in ours.chunk_by(|one, next| one + 1 == *next) {
            // SAFETY: the address space is this object's, and nothing refers to it any more.
            unsafe { address_space::release(self.range(run)) };
        }
    }
}

fn page_count(bytes: usize, size: HugePageSize) -> usize {
    bytes.div_ceil(1 << size.bits()).max(1)
}
