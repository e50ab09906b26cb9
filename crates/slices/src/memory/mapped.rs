//! Huge pages by their virtual and their physical address.

use super::nodes::NodeError;
use super::pagemap::{PhysicalAddressError, PhysicalAddresses};
use crate::recovery::{HugePage, PageSize};
use crate::slice_map::NotCovered;
use std::collections::TryReserveError;
use units::LINE_BYTES;

/// A huge page by its virtual address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualPage {
    /// Virtual address of its first byte.
    pub start: u64,
    /// Its size.
    pub size: PageSize,
}

impl VirtualPage {
    /// Lines in it.
    #[must_use]
    pub fn lines(&self) -> u32 {
        1 << (self.size.bits() - LINE_BYTES.trailing_zeros())
    }
}

/// A huge page by its physical address, and where it is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedPage {
    /// Virtual address of its first byte.
    pub virtual_start: u64,
    /// Size, and physical address of its first byte.
    pub page: HugePage,
}

impl MappedPage {
    /// The page by its virtual address.
    #[must_use]
    pub fn virtual_page(&self) -> VirtualPage {
        VirtualPage { start: self.virtual_start, size: self.page.size }
    }
}

/// Why lines cannot be placed by slice.
#[derive(Debug, thiserror::Error)]
pub enum PlacementError {
    /// Physical addresses are not known.
    #[error(transparent)]
    Unknown(#[from] PhysicalAddressError),
    /// The memory is not contiguous, or not aligned to the page's size.
    #[error("the memory at virtual address {0:#x} is no huge page; map it with MAP_HUGETLB")]
    NotHuge(u64),
    /// The kernel has moved it.
    #[error("the page at virtual address {0:#x} was moved in physical memory")]
    Moved(u64),
    /// The table is not established for the memory.
    #[error(transparent)]
    NotCovered(#[from] NotCovered),
    /// The memory is on another node than wanted, or on several.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// There is no memory for lists of the lines.
    #[error("no memory")]
    NoMemory(#[from] TryReserveError),
}

/// Step in which physical addresses are checked: the smallest page, so that a page made of several is
/// found out.
const STEP_BYTES: usize = 4096;

/// Finds the physical addresses of pages. They have to be touched before, and locked or of hugetlbfs:
/// the kernel may move others later.
///
/// # Errors
/// If an address is not known, the memory is no huge page, or there is none for the list.
pub fn locate(
    pages: &[VirtualPage],
    addresses: &impl PhysicalAddresses,
) -> Result<Vec<MappedPage>, PlacementError> {
    let one = |page: &VirtualPage| {
        let start = addresses.physical_address(page.start)?;
        let bytes = 1u64 << page.size.bits();
        for offset in (0..bytes).step_by(STEP_BYTES) {
            let physical = addresses.physical_address(page.start + offset)?;
            if start % bytes != 0 || physical != start + offset {
                return Err(PlacementError::NotHuge(page.start));
            }
        }
        let page_at = HugePage { start, size: page.size };
        Ok(MappedPage { virtual_start: page.start, page: page_at })
    };
    let mut mapped = Vec::new();
    mapped.try_reserve_exact(pages.len())?;
    for page in pages {
        mapped.push(one(page)?);
    }
    Ok(mapped)
}
