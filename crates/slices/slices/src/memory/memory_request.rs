//! Requests for a memory, and its creation.

use super::fallible_list::try_collect;
use super::huge_pages::HugePages;
use super::lines::LineAllocator;
use super::nodes::{check_online, common_node};
use super::objects::{LineUse, ObjectSize};
use super::page_location::{PlacementError, locate};
use super::pagemap::{OWN, PhysicalAddressError, PhysicalAddresses, ProcPagemap};
use super::pages_unavailable::PagesUnavailable;
use super::slice_memory::SliceMemory;
use crate::recovery::HugePageSize;
use crate::slice_map::SliceMap;
use std::collections::TryReserveError;
use std::io;
use std::iter::repeat_n;
use std::path::Path;
use units::narrow::usize_from;

/// A request for a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRequest {
    /// Least size at first, in bytes.
    pub bytes: usize,
    /// Largest size in bytes: when an owner's slices are full, the memory grows up to it.
    pub most_bytes: usize,
    /// Size of the pages.
    pub page_size: HugePageSize,
    /// NUMA node of the socket whose slices the table numbers; `None`: any, but all pages on the same.
    pub node: Option<u32>,
    /// Whether memory regardless of slices is acceptable, if the kernel gives no huge pages or hides their
    /// addresses.
    pub plain_allowed: bool,
}

impl MemoryRequest {
    /// A request for memory in slices, of a fixed size, on any node.
    #[must_use]
    pub fn in_slices(bytes: usize, page_size: HugePageSize) -> Self {
        Self { bytes, most_bytes: bytes, page_size, node: None, plain_allowed: false }
    }
}

/// Error of a request for memory.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The kernel has too few huge pages.
    #[error(transparent)]
    Huge(#[from] PagesUnavailable),
    /// The system has too little memory of any kind, for the lines or for lists of them.
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
    /// Whether plain memory may be used instead. Not if the table does not cover the pages.
    fn is_lack_of_rights_or_pages(&self) -> bool {
        use PhysicalAddressError::{Hidden, Unreadable};
        matches!(
            self,
            Self::Huge(_) | Self::Placement(PlacementError::Unknown(Hidden | Unreadable { .. }))
        )
    }

    /// The message with its cause.
    fn full_message(&self) -> String {
        let cause = std::error::Error::source(self);
        cause.map_or(self.to_string(), |cause| format!("{self}: {cause}"))
    }
}

impl SliceMemory {
    /// Maps huge pages as requested and sorts their lines by slice; maps plain memory regardless of slices,
    /// if that is allowed and needed, and keeps the reason as [`Self::plain_reason`].
    ///
    /// # Errors
    /// If there is too little memory of the kind, the kernel hides physical addresses, the table does
    /// not cover the pages, or they are on several nodes or not on the requested one. If the table or the
    /// node is the reason, memory is never plain: placement would be wrong.
    pub fn open(map: &SliceMap, request: &MemoryRequest) -> Result<Self, MemoryError> {
        if let Some(node) = request.node {
            check_online(node).map_err(PlacementError::from)?;
        }
        match Self::open_huge(map, request) {
            Err(error) if request.plain_allowed && error.is_lack_of_rights_or_pages() => {
                Self::open_plain(map, request, &error.full_message())
            }
            other => other,
        }
    }

    fn open_huge(map: &SliceMap, request: &MemoryRequest) -> Result<Self, MemoryError> {
        let &MemoryRequest { bytes, most_bytes, page_size, node, .. } = request;
        let pages = HugePages::map_on(bytes, most_bytes, page_size, node)?;
        let pagemap = ProcPagemap::open(Path::new(OWN)).map_err(PlacementError::from)?;
        Ok(Self::from_pages_on_node(map, pages, &pagemap, node)?)
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

    /// Maps at least `bytes` of huge pages and sorts their lines by slice.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn new(map: &SliceMap, bytes: usize, size: HugePageSize) -> Result<Self, MemoryError> {
        Self::open(map, &MemoryRequest::in_slices(bytes, size))
    }

    /// Maps at least `bytes` of huge pages and sorts their lines by slice; maps plain memory regardless of
    /// slices, if the kernel gives no huge pages or hides physical addresses.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn new_or_plain(
        map: &SliceMap,
        bytes: usize,
        size: HugePageSize,
    ) -> Result<Self, MemoryError> {
        Self::open(
            map,
            &MemoryRequest { plain_allowed: true, ..MemoryRequest::in_slices(bytes, size) },
        )
    }

    /// Sorts the lines of `pages` by slice, with physical addresses from `addresses`; the pages may be on any
    /// node, but all on the same.
    ///
    /// # Errors
    /// As [`Self::from_pages_on_node`].
    pub fn from_pages(
        map: &SliceMap,
        pages: HugePages,
        addresses: &impl PhysicalAddresses,
    ) -> Result<Self, PlacementError> {
        Self::from_pages_on_node(map, pages, addresses, None)
    }

    /// Sorts the lines of `pages` by slice, with physical addresses from `addresses`. The pages have to be on
    /// `node`, if it is given, and all on the same node in any case.
    ///
    /// # Errors
    /// If an address is not known, the memory is not of huge pages, the table does not cover it, a page
    /// is on another node, or there is no memory for lists of the lines.
    pub fn from_pages_on_node(
        map: &SliceMap,
        pages: HugePages,
        addresses: &impl PhysicalAddresses,
        node: Option<u32>,
    ) -> Result<Self, PlacementError> {
        let virtual_pages = pages.pages()?;
        let located = locate(&virtual_pages, addresses)?;
        let node = common_node(&virtual_pages, node, addresses)?;
        let lines = LineAllocator::new(map, &located)?;
        let mut memory = Self::from_lines(map, pages, lines)?;
        memory.located = located;
        memory.node = node;
        Ok(memory)
    }

    /// Maps plain memory regardless of slices and keeps the `reason`. Claims of slices are checked all the
    /// same.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn plain(
        map: &SliceMap,
        bytes: usize,
        size: HugePageSize,
        reason: &str,
    ) -> Result<Self, MemoryError> {
        Self::open_plain(map, &MemoryRequest::in_slices(bytes, size), reason)
    }

    fn plain_lines(
        map: &SliceMap,
        pages: HugePages,
        reason: &str,
    ) -> Result<Self, TryReserveError> {
        let lines = LineAllocator::plain(&pages.pages()?, reason)?;
        Self::from_lines(map, pages, lines)
    }

    fn from_lines(
        map: &SliceMap,
        pages: HugePages,
        lines: LineAllocator,
    ) -> Result<Self, TryReserveError> {
        let unused = LineUse::new(0, ObjectSize::LINE);
        let count: u64 = lines.lines_of_slices().iter().sum();
        let uses = try_collect(repeat_n(unused, usize_from(count)))?;
        let notes_all = lines.plain_reason().is_some();
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
