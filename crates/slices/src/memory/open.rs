//! How a memory comes about.

use super::huge_pages::HugePages;
use super::lines::LineAllocator;
use super::mapped::{PlacementError, locate};
use super::nodes::{check_online, common_node};
use super::objects::{LineUse, ObjectSize};
use super::pagemap::{OWN, PhysicalAddressError, PhysicalAddresses, ProcPagemap};
use super::pages_unavailable::PagesUnavailable;
use super::reserved::collected;
use super::slice_memory::SliceMemory;
use crate::recovery::PageSize;
use crate::slice_map::SliceMap;
use std::collections::TryReserveError;
use std::io;
use std::iter::repeat_n;
use std::path::Path;
use units::narrow::usize_from;

/// What memory is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRequest {
    /// Bytes to begin with.
    pub bytes: usize,
    /// Bytes that it may grow to, where an owner's slices are full.
    pub most_bytes: usize,
    /// Size of its pages.
    pub page_size: PageSize,
    /// Node of the socket whose slices the table numbers.
    pub node: Option<u32>,
    /// Whether memory regardless of slices will do, if the kernel gives no huge pages or hides their
    /// addresses.
    pub plain_allowed: bool,
}

impl MemoryRequest {
    /// Memory of one size, on any node, in slices.
    #[must_use]
    pub fn of(bytes: usize, page_size: PageSize) -> Self {
        Self { bytes, most_bytes: bytes, page_size, node: None, plain_allowed: false }
    }
}

/// Why there is no memory.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// There are too few huge pages.
    #[error(transparent)]
    Huge(#[from] PagesUnavailable),
    /// There is too little memory of any kind, for the lines or for lists of them.
    #[error("no memory")]
    Plain(#[source] io::Error),
    /// The lines' slices are not known.
    #[error(transparent)]
    Placement(PlacementError),
}

impl From<PlacementError> for MemoryError {
    fn from(error: PlacementError) -> Self {
        match error {
            PlacementError::NoMemory(error) => Self::Plain(error.into()),
            error => Self::Placement(error),
        }
    }
}

impl MemoryError {
    /// Whether plain memory may be used instead: not if the table does not cover the pages.
    fn is_lack_of_rights_or_pages(&self) -> bool {
        use PhysicalAddressError::{Hidden, Unreadable};
        matches!(
            self,
            Self::Huge(_) | Self::Placement(PlacementError::Unknown(Hidden | Unreadable { .. }))
        )
    }

    fn in_full(&self) -> String {
        let cause = std::error::Error::source(self);
        cause.map_or(self.to_string(), |cause| format!("{self}: {cause}"))
    }
}

impl SliceMemory {
    /// Huge pages as requested, sorted by slice, or memory regardless of slices, if that is allowed
    /// and needed: [`Self::plain_because`] says so.
    ///
    /// # Errors
    /// If there is too little memory of the kind, the kernel hides physical addresses, the table does
    /// not cover the pages, or they are on several nodes or another one than wanted. Where the table
    /// or the node is the reason, memory is never plain: placement would be wrong.
    pub fn open(map: &SliceMap, request: &MemoryRequest) -> Result<Self, MemoryError> {
        if let Some(node) = request.node {
            check_online(node).map_err(PlacementError::from)?;
        }
        match Self::open_huge(map, request) {
            Err(error) if request.plain_allowed && error.is_lack_of_rights_or_pages() => {
                Self::open_plain(map, request, &error.in_full())
            }
            other => other,
        }
    }

    fn open_huge(map: &SliceMap, request: &MemoryRequest) -> Result<Self, MemoryError> {
        let &MemoryRequest { bytes, most_bytes, page_size, node, .. } = request;
        let pages = HugePages::map_on(bytes, most_bytes, page_size, node)?;
        let pagemap = ProcPagemap::open(Path::new(OWN)).map_err(PlacementError::from)?;
        Ok(Self::placed_on(map, pages, &pagemap, node)?)
    }

    fn open_plain(
        map: &SliceMap,
        request: &MemoryRequest,
        reason: &str,
    ) -> Result<Self, MemoryError> {
        let &MemoryRequest { bytes, most_bytes, page_size, node, .. } = request;
        let pages = HugePages::plain_on(bytes, most_bytes, page_size, node);
        let pages = pages.map_err(MemoryError::Plain)?;
        Self::plain_lines(map, pages, reason).map_err(|error| MemoryError::Plain(error.into()))
    }

    /// At least `bytes` of huge pages, sorted by slice.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn new(map: &SliceMap, bytes: usize, size: PageSize) -> Result<Self, MemoryError> {
        Self::open(map, &MemoryRequest::of(bytes, size))
    }

    /// The same, or memory regardless of slices.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn or_plain(map: &SliceMap, bytes: usize, size: PageSize) -> Result<Self, MemoryError> {
        Self::open(map, &MemoryRequest { plain_allowed: true, ..MemoryRequest::of(bytes, size) })
    }

    /// The lines of `pages` by slice, with physical addresses as told.
    ///
    /// # Errors
    /// As [`Self::placed_on`].
    pub fn placed(
        map: &SliceMap,
        pages: HugePages,
        addresses: &impl PhysicalAddresses,
    ) -> Result<Self, PlacementError> {
        Self::placed_on(map, pages, addresses, None)
    }

    /// The same for pages that are to be on a node, if one is given, and on one node in any case.
    ///
    /// # Errors
    /// If an address is not known, the memory is no huge page, the table does not cover it, a page
    /// is on another node, or there is no memory for lists of the lines.
    pub fn placed_on(
        map: &SliceMap,
        pages: HugePages,
        addresses: &impl PhysicalAddresses,
        node: Option<u32>,
    ) -> Result<Self, PlacementError> {
        let virtual_pages = pages.pages()?;
        let located = locate(&virtual_pages, addresses)?;
        let node = common_node(&virtual_pages, node, addresses)?;
        let lines = LineAllocator::new(map, &located)?;
        let mut memory = Self::of_lines(map, pages, lines)?;
        memory.located = located;
        memory.node = node;
        Ok(memory)
    }

    /// Memory regardless of slices, for the `reason` given. Claims are checked all the same.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn plain(
        map: &SliceMap,
        bytes: usize,
        size: PageSize,
        reason: &str,
    ) -> Result<Self, MemoryError> {
        Self::open_plain(map, &MemoryRequest::of(bytes, size), reason)
    }

    fn plain_lines(
        map: &SliceMap,
        pages: HugePages,
        reason: &str,
    ) -> Result<Self, TryReserveError> {
        let lines = LineAllocator::plain(&pages.pages()?, reason)?;
        Self::of_lines(map, pages, lines)
    }

    fn of_lines(
        map: &SliceMap,
        pages: HugePages,
        lines: LineAllocator,
    ) -> Result<Self, TryReserveError> {
        let unused = LineUse::new(0, ObjectSize::LINE);
        let count: u64 = lines.lines_of_slices().iter().sum();
        let uses = collected(repeat_n(unused, usize_from(count)))?;
        let notes_all = lines.plain_because().is_some();
        Ok(Self {
            pages,
            map: map.clone(),
            located: Vec::new(),
            node: None,
            lines,
            uses,
            notes_all,
            owners: Vec::new(),
            only_list: Vec::new(),
        })
    }
}
