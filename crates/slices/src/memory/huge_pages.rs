//! Huge pages of this process, and plain pages where there are none.

use super::mapped::VirtualPage;
use super::reserved::collected;
use crate::recovery::PageSize;
use memmap2::{Advice, MmapMut, MmapOptions};
use std::collections::TryReserveError;
use std::io;
use units::narrow::fit;

/// Memory in huge pages that follow each other. Children of the process do not inherit it: copying
/// on write would move the parent's pages.
#[derive(Debug)]
pub struct HugePages {
    map: MmapMut,
    size: PageSize,
}

/// The kernel gave no huge pages.
#[derive(Debug, thiserror::Error)]
#[error(
    "{pages} huge pages of {kib} KiB wanted, {free} free: {answer}; set up more: \
     echo N > /sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages"
)]
pub struct PagesUnavailable {
    /// Pages that were asked for.
    pub pages: usize,
    /// Size of one.
    pub kib: usize,
    /// Free ones, as the kernel says, or that it does not.
    pub free: String,
    /// What the kernel answered.
    pub answer: Answer,
}

/// What the kernel answered.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Answer(io::Error);

impl Answer {
    /// The errno.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        self.0.raw_os_error()
    }
}

impl HugePages {
    /// At least `bytes` of touched huge pages (`MAP_HUGETLB`).
    ///
    /// # Errors
    /// If the kernel has too few.
    pub fn map(bytes: usize, size: PageSize) -> Result<Self, PagesUnavailable> {
        let page_bytes = 1usize << size.bits();
        let pages = bytes.div_ceil(page_bytes).max(1);
        let mapped = pages.checked_mul(page_bytes).ok_or(io::ErrorKind::OutOfMemory.into());
        mapped
            .and_then(|bytes| {
                let mut options = MmapOptions::new();
                let map = options.len(bytes).huge(Some(fit(size.bits()))).populate().map_anon()?;
                map.advise(Advice::DontFork)?;
                Ok(Self { map, size })
            })
            .map_err(|error| unavailable(pages, page_bytes >> 10, error))
    }

    /// As much memory in plain pages, whose lines may be anywhere.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn plain(bytes: usize, size: PageSize) -> io::Result<Self> {
        let bytes = bytes.max(1).checked_next_multiple_of(1 << size.bits());
        let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        let map = MmapOptions::new().len(bytes).map_anon()?;
        // Transparent huge pages are welcome and not needed.
        let _ = map.advise(Advice::HugePage);
        Ok(Self { map, size })
    }

    /// The pages by their virtual addresses.
    ///
    /// # Errors
    /// If there is no memory for the list.
    pub fn pages(&self) -> Result<Vec<VirtualPage>, TryReserveError> {
        let (start, size) = (self.start(), self.size);
        let pages = 0..self.map.len() >> size.bits();
        collected(
            pages.map(|page| VirtualPage { start: start + ((page as u64) << size.bits()), size }),
        )
    }

    /// Virtual address of the first byte.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.map.as_ptr() as u64
    }

    /// The memory.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// The memory.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}

fn unavailable(pages: usize, kib: usize, error: io::Error) -> PagesUnavailable {
    let free = format!("/sys/kernel/mm/hugepages/hugepages-{kib}kB/free_hugepages");
    let free = std::fs::read_to_string(free).map_or("none".into(), |text| text.trim().into());
    PagesUnavailable { pages, kib, free, answer: Answer(error) }
}
