//! Lines of huge pages, handed out by the slice that they are in.
//!
//! Nothing here touches the memory itself: pages come with the virtual address at which their owner
//! mapped them, and lines go out by virtual address. Where the kernel hides physical addresses,
//! [`LineAllocator::slice_aware_or_plain`] hands out lines regardless of slices and says so.

mod mapped;
mod pagemap;

pub use mapped::{MappedPage, PlacementError, VirtualPage, locate};
pub use pagemap::{PhysicalAddressError, PhysicalAddresses, ProcPagemap};

use crate::slice_map::{NotCovered, SliceMap};
use units::{LINE_BYTES, SliceId};

/// A line that was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Virtual address of its first byte.
    pub virtual_address: u64,
    /// The slice that it is in; `None` if the allocator does not know.
    pub slice: Option<SliceId>,
    id: u32,
}

/// How an allocator's memory is used, in lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineStatistics {
    /// Lines in all pages.
    pub total: u64,
    /// Lines that are handed out.
    pub allocated: u64,
    /// Free lines of each slice; a single number if slices are not known.
    pub free_of_slices: Vec<u64>,
}

impl LineStatistics {
    /// Share of all lines that an owner who wants these slices only can never use.
    #[must_use]
    pub fn wasted_share(&self, lines_of_slices: &[u64], slices: &[SliceId]) -> f64 {
        let wanted: u64 = slices.iter().map(|slice| lines_of_slices[usize::from(slice.0)]).sum();
        1.0 - wanted as f64 / self.total as f64
    }
}

/// Why lines cannot be handed out or taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocationError {
    /// The slices that were asked for have fewer free lines.
    #[error("{wanted} lines wanted, {free} free in the slices asked for; add huge pages")]
    Exhausted {
        /// Lines asked for.
        wanted: usize,
        /// Free lines of those slices.
        free: usize,
    },
    /// The part has no such slice.
    #[error("no slice {slice}; allowed: 0 to {}", slices - 1)]
    NoSlice {
        /// The slice asked for.
        slice: u16,
        /// Slices of the part.
        slices: u32,
    },
    /// The line is not handed out, or not by this allocator.
    #[error("the line at virtual address {0:#x} is not handed out")]
    NotAllocated(u64),
}

/// Hands out lines by slice.
#[derive(Debug)]
pub struct LineAllocator {
    pages: Vec<VirtualPage>,
    /// Number of each page's first line.
    first_lines: Vec<u32>,
    /// Free lines of each slice, the next one last; one list if slices are not known.
    free: Vec<Vec<u32>>,
    allocated: Vec<bool>,
    lines_of_slices: Vec<u64>,
    /// Why slices are not known, if so.
    plain: Option<String>,
}

impl LineAllocator {
    /// Sorts the lines of `pages` by slice.
    ///
    /// # Errors
    /// If the table does not cover a line.
    ///
    /// # Panics
    /// If there are 2^32 lines or more (256 GiB).
    pub fn new(map: &SliceMap, pages: &[MappedPage]) -> Result<Self, NotCovered> {
        let virtual_pages: Vec<VirtualPage> = pages.iter().map(MappedPage::virtual_page).collect();
        let mut allocator = Self::empty(&virtual_pages, map.slices() as usize);
        for (mapped, &first) in pages.iter().zip(&allocator.first_lines).rev() {
            for line in (0..mapped.virtual_page().lines()).rev() {
                let slice = map.slice_of(mapped.page.start + u64::from(line) * LINE_BYTES)?;
                allocator.free[usize::from(slice.0)].push(first + line);
            }
        }
        allocator.count();
        Ok(allocator)
    }

    /// Sorts the lines of `pages` by slice if the kernel tells where they are, else a plain
    /// allocator whose [`Self::plain_because`] says why.
    ///
    /// # Errors
    /// If the memory is not there or no huge page, or the table does not cover it: placement would
    /// be wrong.
    ///
    /// # Panics
    /// If there are 2^32 lines or more (256 GiB).
    pub fn slice_aware_or_plain(
        map: &SliceMap,
        pages: &[VirtualPage],
        addresses: &impl PhysicalAddresses,
    ) -> Result<Self, PlacementError> {
        match locate(pages, addresses) {
            Ok(mapped) => Ok(Self::new(map, &mapped)?),
            Err(PlacementError::Unknown(
                reason @ (PhysicalAddressError::Hidden | PhysicalAddressError::Unreadable { .. }),
            )) => Ok(Self::plain(pages, &reason.to_string())),
            Err(error) => Err(error),
        }
    }

    /// Lines regardless of slices, for the `reason` given: what is left without privileges.
    ///
    /// # Panics
    /// If there are 2^32 lines or more (256 GiB).
    #[must_use]
    pub fn plain(pages: &[VirtualPage], reason: &str) -> Self {
        let mut allocator = Self::empty(pages, 1);
        let total = allocator.allocated.len() as u32;
        allocator.free[0].extend((0..total).rev());
        allocator.count();
        allocator.plain = Some(reason.into());
        allocator
    }

    fn empty(pages: &[VirtualPage], lists: usize) -> Self {
        let mut first_lines = Vec::new();
        let mut total = 0u32;
        for page in pages {
            first_lines.push(total);
            total = total.checked_add(page.lines()).expect("fewer than 2^32 lines");
        }
        Self {
            pages: pages.to_vec(),
            first_lines,
            free: vec![Vec::new(); lists],
            allocated: vec![false; total as usize],
            lines_of_slices: Vec::new(),
            plain: None,
        }
    }

    fn count(&mut self) {
        self.lines_of_slices = self.free.iter().map(|free| free.len() as u64).collect();
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
        let free_of_slices: Vec<u64> = self.free.iter().map(|free| free.len() as u64).collect();
        let total = self.allocated.len() as u64;
        let allocated = total - free_of_slices.iter().sum::<u64>();
        LineStatistics { total, allocated, free_of_slices }
    }

    /// One line in one of `slices`: in the one with most free lines, the first among equals. An
    /// isolation set is a set of slices that only one owner asks for.
    ///
    /// # Errors
    /// If those slices have no free line, or one does not exist. A plain allocator ignores `slices`.
    pub fn allocate(&mut self, slices: &[SliceId]) -> Result<Line, AllocationError> {
        let list = match self.plain {
            Some(_) => Some(0),
            None => self.fullest(slices)?,
        };
        let id = list.and_then(|list| self.free[list].pop());
        let id = id.ok_or(AllocationError::Exhausted { wanted: 1, free: 0 })?;
        self.allocated[id as usize] = true;
        let slice = list.filter(|_| self.plain.is_none()).map(|list| SliceId(list as u16));
        Ok(Line { virtual_address: self.virtual_address(id), slice, id })
    }

    /// A buffer of at least `bytes` as lines in `slices`, wherever they are; all of it or nothing.
    ///
    /// # Errors
    /// As [`Self::allocate`].
    pub fn allocate_scattered(
        &mut self,
        bytes: u64,
        slices: &[SliceId],
    ) -> Result<Vec<Line>, AllocationError> {
        let wanted = bytes.div_ceil(LINE_BYTES) as usize;
        let mut lists: Vec<usize> = match self.plain {
            Some(_) => vec![0],
            None => slices.iter().map(|&slice| self.list(slice)).collect::<Result<_, _>>()?,
        };
        lists.sort_unstable();
        lists.dedup();
        let free = lists.iter().map(|&list| self.free[list].len()).sum();
        if wanted > free {
            return Err(AllocationError::Exhausted { wanted, free });
        }
        (0..wanted).map(|_| self.allocate(slices)).collect()
    }

    /// Takes a line back.
    ///
    /// # Errors
    /// If it is not handed out.
    pub fn free(&mut self, line: Line) -> Result<(), AllocationError> {
        let known = self.allocated.get(line.id as usize) == Some(&true)
            && self.virtual_address(line.id) == line.virtual_address;
        if !known {
            return Err(AllocationError::NotAllocated(line.virtual_address));
        }
        self.allocated[line.id as usize] = false;
        self.free[line.slice.map_or(0, |slice| usize::from(slice.0))].push(line.id);
        Ok(())
    }

    fn list(&self, slice: SliceId) -> Result<usize, AllocationError> {
        let (slices, slice) = (self.free.len() as u32, slice.0);
        let exists = u32::from(slice) < slices;
        exists.then_some(usize::from(slice)).ok_or(AllocationError::NoSlice { slice, slices })
    }

    /// The slice with most free lines.
    fn fullest(&self, slices: &[SliceId]) -> Result<Option<usize>, AllocationError> {
        let mut fullest: Option<usize> = None;
        for &slice in slices {
            let list = self.list(slice)?;
            if fullest.is_none_or(|best| self.free[list].len() > self.free[best].len()) {
                fullest = Some(list);
            }
        }
        Ok(fullest)
    }

    fn virtual_address(&self, id: u32) -> u64 {
        let page = self.first_lines.partition_point(|&first| first <= id) - 1;
        self.pages[page].start + u64::from(id - self.first_lines[page]) * LINE_BYTES
    }
}
