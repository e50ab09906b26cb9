//! Huge pages by their virtual and physical addresses.

use crate::recovery::{HugePage, HugePageSize};
use units::LINE_BYTES;

/// A huge page in virtual memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualPage {
    /// Virtual address of the page's first byte.
    pub start: u64,
    /// Size of the page.
    pub size: HugePageSize,
}

impl VirtualPage {
    /// Number of lines in the page.
    #[must_use]
    pub fn lines(&self) -> u32 {
        1 << (self.size.bits() - LINE_BYTES.trailing_zeros())
    }
}

/// A huge page with its virtual and its physical address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedPage {
    /// Virtual address of the page's first byte.
    pub virtual_start: u64,
    /// Size and physical address of the page.
    pub page: HugePage,
}

impl MappedPage {
    /// The page in virtual memory.
    #[must_use]
    pub fn virtual_page(&self) -> VirtualPage {
        VirtualPage { start: self.virtual_start, size: self.page.size }
    }
}
