//! Finds the physical addresses of huge pages.

use super::nodes::NodeError;
use super::pagemap::{PhysicalAddressError, PhysicalAddresses};
use crate::mapped_page::{MappedPage, VirtualPage};
use crate::recovery::HugePage;
use crate::slice_map::NotCovered;
use std::collections::TryReserveError;

/// Error of memory whose lines cannot be sorted by slice.
#[derive(Debug, thiserror::Error)]
pub enum PlacementError {
    /// A physical address is not known.
    #[error(transparent)]
    Unknown(#[from] PhysicalAddressError),
    /// The memory of a page is not contiguous in physical memory, or not aligned to the page's size.
    #[error("the memory at virtual address {0:#x} is not a huge page; map it with MAP_HUGETLB")]
    NotHuge(u64),
    /// The kernel has moved a page in physical memory.
    #[error("the page at virtual address {0:#x} was moved in physical memory")]
    Moved(u64),
    /// The table is not established for an address of the memory.
    #[error(transparent)]
    NotCovered(#[from] NotCovered),
    /// The memory is not on the requested node, or on several nodes.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The system has no memory for lists of the lines.
    #[error("no memory")]
    NoMemory(#[from] TryReserveError),
}

/// Step in which physical addresses are checked: the smallest page, so that a page made of several small
/// pages is detected.
const STEP_BYTES: usize = 4096;

/// Finds the physical addresses of pages. The pages have to be touched before, and locked or of hugetlbfs:
/// the kernel may move others later.
///
/// # Errors
/// If an address is not known, the memory is not of huge pages, or there is no memory for the list.
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
