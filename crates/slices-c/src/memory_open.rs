//! `skl_memory_open` and its relatives.
#![allow(unsafe_code)]

use crate::boundary::{ErrorText, Failure, array, guarded, required, required_out};
use crate::memory::{MemoryHandle, open_failure, placement_errno};
use crate::slice_map::SliceMapHandle;
use libc::{c_char, c_int, c_void};
use slices::memory::{
    HugePages, MemoryRequest, OWN_PAGEMAP, PhysicalAddressError, PhysicalAddresses, ProcPagemap,
    SliceMemory,
};
use slices::recovery::PageSize;
use std::io;
use std::path::Path;

/// In place of a node: any, but all pages on the same one.
pub const SKL_ANY_NODE: c_int = -1;

/// What memory is wanted.
#[repr(C)]
pub struct MemoryRequestOfC {
    /// Bytes to begin with.
    bytes: usize,
    /// Bytes that the memory may grow to, where an owner's slices are full; 0: it does not grow.
    most_bytes: usize,
    /// Size of its pages: 2 MiB or 1 GiB.
    page_bytes: usize,
    /// Node of the socket whose slices the table numbers, or SKL_ANY_NODE.
    node: c_int,
    /// Whether memory that regards no slices will do.
    plain_allowed: c_int,
}

fn page_size(bytes: usize) -> Result<PageSize, Failure> {
    [PageSize::TwoMiB, PageSize::OneGiB]
        .into_iter()
        .find(|size| 1 << size.bits() == bytes)
        .ok_or_else(|| {
            Failure::new(
                libc::EINVAL,
                format!("pages of {bytes} bytes; allowed: 2097152, 1073741824"),
            )
        })
}

fn node(number: c_int) -> Result<Option<u32>, Failure> {
    let text = || format!("node {number}; allowed: 0 up, or SKL_ANY_NODE");
    match number {
        SKL_ANY_NODE => Ok(None),
        _ => u32::try_from(number).map(Some).map_err(|_| Failure::new(libc::EINVAL, text())),
    }
}

/// Maps at least `bytes` of huge pages of `page_bytes` (2 MiB or 1 GiB) and sorts their lines by
/// slice. On success `*memory` is to be closed with skl_memory_close().
///
/// Without huge pages, or where the kernel hides physical addresses, it fails (-ENOMEM, -EPERM); with
/// `plain_allowed` it returns 1 instead: a memory that regards no slices, and the reason as text in
/// `error`. In either case -ERANGE if the table does not cover the pages, and -ENOMEM if there is too
/// little memory of any kind; 18 bytes for each line are needed beside the pages. -ENODEV if the
/// pages are on several nodes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_open(
    map: *const SliceMapHandle,
    bytes: usize,
    page_bytes: usize,
    plain_allowed: c_int,
    memory: *mut *mut MemoryHandle,
    error: *mut c_char,
    error_bytes: usize,
) -> c_int {
    let request = MemoryRequestOfC {
        bytes,
        most_bytes: bytes,
        page_bytes,
        node: SKL_ANY_NODE,
        plain_allowed,
    };
    // SAFETY: the caller vouches for all pointers.
    unsafe { skl_memory_open_as(map, &raw const request, memory, error, error_bytes) }
}

/// As skl_memory_open(), with more wishes. On a machine of several sockets the table's numbers are
/// those of one: its node is to be stated, and pages that are not on it are refused.
///
/// -ENODEV if there is no such node, or pages are on another one; -ENODATA if the kernel does not
/// say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_open_as(
    map: *const SliceMapHandle,
    request: *const MemoryRequestOfC,
    memory: *mut *mut MemoryHandle,
    error: *mut c_char,
    error_bytes: usize,
) -> c_int {
    // SAFETY: the caller vouches for all pointers.
    let text = unsafe { ErrorText::new(error, error_bytes) };
    guarded(text, || {
        let out = required_out(memory, "memory")?;
        // SAFETY: the caller's handle and request.
        let (map, wanted) = unsafe { (&required(map, "map")?.map, required(request, "request")?) };
        let request = MemoryRequest {
            bytes: wanted.bytes,
            most_bytes: wanted.most_bytes,
            page_size: page_size(wanted.page_bytes)?,
            node: node(wanted.node)?,
            plain_allowed: wanted.plain_allowed != 0,
        };
        let memory = SliceMemory::open(map, &request).map_err(|error| open_failure(&error))?;
        let plain = memory.plain_because().inspect(|reason| text.write(reason)).is_some();
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(MemoryHandle::opened(memory)) };
        Ok(c_int::from(plain))
    })
}

/// Physical addresses that the caller states, page by page, in place of those of the kernel.
struct Stated<'a> {
    start: u64,
    page_bits: u32,
    pages: &'a [u64],
    node: Option<ProcPagemap>,
}

impl PhysicalAddresses for Stated<'_> {
    fn physical_address(&self, virtual_address: u64) -> Result<u64, PhysicalAddressError> {
        let offset = virtual_address - self.start;
        let page = usize::try_from(offset >> self.page_bits).ok();
        let page = page.and_then(|page| self.pages.get(page));
        let page = page.ok_or(PhysicalAddressError::NotPresent(virtual_address))?;
        Ok(page + (offset & ((1 << self.page_bits) - 1)))
    }

    fn node(&self, virtual_address: u64) -> io::Result<Option<u32>> {
        self.node.as_ref().map_or(Ok(None), |kernel| kernel.node(virtual_address))
    }
}

/// Sorts memory of the caller's by slice: `bytes` from `start` on, whole pages of `page_bytes` (2 MiB
/// or 1 GiB) that are locked or of hugetlbfs, so that the kernel does not move them. The library
/// neither grows nor unmaps it; it has to stay until skl_memory_close().
///
/// `physical_pages` has the physical address of each page, for callers that know them (a driver, a
/// device's memory); NULL: the kernel is asked. `node` is the table's, or SKL_ANY_NODE; for
/// addresses that the caller states it is checked only if it is given.
///
/// -EINVAL if `start` or `bytes` is no multiple of `page_bytes`, or the memory is no huge page; else as
/// skl_memory_open_as(). Memory that regards no slices is no option here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_open_on(
    map: *const SliceMapHandle,
    start: *mut c_void,
    bytes: usize,
    page_bytes: usize,
    physical_pages: *const u64,
    node: c_int,
    memory: *mut *mut MemoryHandle,
    error: *mut c_char,
    error_bytes: usize,
) -> c_int {
    // SAFETY: the caller vouches for all pointers.
    let text = unsafe { ErrorText::new(error, error_bytes) };
    guarded(text, || {
        let out = required_out(memory, "memory")?;
        // SAFETY: the caller's handle.
        let map = &unsafe { required(map, "map") }?.map;
        let (size, node) = (page_size(page_bytes)?, self::node(node)?);
        let start = required_out(start, "start")? as u64;
        // SAFETY: the caller vouches for the memory.
        let pages = unsafe { HugePages::of_caller(start, bytes as u64, size) };
        let no_pages = || Failure::new(libc::EINVAL, "start and size are no multiples of a page");
        let pages = pages.ok_or_else(no_pages)?;
        let pagemap = || ProcPagemap::open(Path::new(OWN_PAGEMAP));
        let failure = |error| Failure::of(placement_errno(&error), &error);
        let placed = if physical_pages.is_null() {
            let kernel = pagemap().map_err(|error| failure(error.into()))?;
            SliceMemory::placed_on(map, pages, &kernel, node)
        } else {
            // SAFETY: the caller's array has an element for each page.
            let stated = unsafe { array(physical_pages, bytes / page_bytes, "physical_pages") }?;
            let kernel = node.and_then(|_| pagemap().ok());
            let stated = Stated { start, page_bits: size.bits(), pages: stated, node: kernel };
            SliceMemory::placed_on(map, pages, &stated, node)
        };
        let memory = MemoryHandle::opened(placed.map_err(failure)?);
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(memory) };
        Ok(0)
    })
}
