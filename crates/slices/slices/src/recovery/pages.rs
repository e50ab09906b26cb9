//! The memory whose lines an oracle can be asked about: huge pages at arbitrary physical addresses.

use super::LINE_BIT;
use address_map::ADDRESS_BITS;
use rand_core::RngCore;
use units::narrow::fit;

/// Size of a huge page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HugePageSize {
    /// 2 MiB.
    TwoMiB,
    /// 1 GiB.
    OneGiB,
}

impl HugePageSize {
    /// Number of physical address bits within a page: log2 of its size.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::TwoMiB => 21,
            Self::OneGiB => 30,
        }
    }
}

/// A huge page, by its physical address and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugePage {
    /// Physical address of the page's first byte.
    pub start: u64,
    /// Size of the page.
    pub size: HugePageSize,
}

/// Limit of physical addresses (2 TiB): tables cannot contain higher ones, so callers leave higher pages out.
pub const PAGE_LIMIT: u64 = 1 << ADDRESS_BITS;

/// Error of pages that cannot be used for a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PagesError {
    /// The list of pages is empty.
    #[error("no huge pages; needed: one or more")]
    None,
    /// A page does not start at a multiple of its size.
    #[error("page {page} at {start:#x} is not aligned to its size of 2^{bits} bytes")]
    Unaligned {
        /// Index of the page.
        page: usize,
        /// Physical address of its first byte.
        start: u64,
        /// log2 of its size.
        bits: u32,
    },
    /// A page is above the addresses that tables can contain.
    #[error("page {page} at {start:#x} is not below 2^{ADDRESS_BITS}")]
    TooHigh {
        /// Index of the page.
        page: usize,
        /// Physical address of its first byte.
        start: u64,
    },
    /// Two pages have memory in common.
    #[error("the pages at {one:#x} and {other:#x} overlap")]
    Overlap {
        /// Physical address of one page's first byte.
        one: u64,
        /// Physical address of the other page's first byte.
        other: u64,
    },
}

/// Checked pages; the first one is a largest one, the reference.
pub(super) struct Pages(Vec<HugePage>);

impl Pages {
    pub(super) fn new(pages: &[HugePage]) -> Result<Self, PagesError> {
        for (page, &HugePage { start, size }) in pages.iter().enumerate() {
            let bits = size.bits();
            if start % (1 << bits) != 0 {
                return Err(PagesError::Unaligned { page, start, bits });
            }
            if start >= PAGE_LIMIT {
                return Err(PagesError::TooHigh { page, start });
            }
        }
        let mut sorted = pages.to_vec();
        sorted.sort_by_key(|page| page.start);
        for pair in sorted.windows(2) {
            if pair[0].start + (1 << pair[0].size.bits()) > pair[1].start {
                return Err(PagesError::Overlap { one: pair[0].start, other: pair[1].start });
            }
        }
        let mut pages = pages.to_vec();
        pages.sort_by_key(|page| std::cmp::Reverse(page.size));
        if pages.is_empty() { Err(PagesError::None) } else { Ok(Self(pages)) }
    }

    /// The reference page, in which most addresses are asked about.
    pub(super) fn reference(&self) -> HugePage {
        self.0[0]
    }

    /// All pages but the reference page.
    pub(super) fn others(&self) -> &[HugePage] {
        &self.0[1..]
    }

    pub(super) fn count(&self) -> u32 {
        fit(self.0.len())
    }

    /// Returns the physical address of a random line of a random page.
    pub(super) fn random_line(&self, random: &mut impl RngCore) -> u64 {
        let page = self.0[random.next_u32() as usize % self.0.len()];
        page.start | (random.next_u64() & ((1 << page.size.bits()) - 1)) >> LINE_BIT << LINE_BIT
    }
}
