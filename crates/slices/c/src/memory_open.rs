//! `skl_memory_open`, `skl_memory_open_as`, `skl_memory_open_on`.
#![allow(unsafe_code)]

use crate::boundary::{CallFailure, ErrorText, array, guarded, required, required_out};
use crate::memory::{MemoryHandle, open_failure, placement_errno};
use crate::slice_map::SliceMapHandle;
use libc::{c_char, c_int, c_void};
use slices::memory::{
    HugePages, MemoryRequest, OWN_PAGEMAP, PhysicalAddressError, PhysicalAddresses, ProcPagemap,
    SliceMemory,
};
use slices::recovery::HugePageSize;
use std::io;
use std::path::Path;

/// In place of a node: any node, but all pages on the same.
pub const SKL_ANY_NODE: c_int = -1;

/// A request for memory.
#[repr(C)]
pub struct CMemoryRequest {
    /// Least size at first, in bytes.
    bytes: usize,
    /// Largest size in bytes: when an owner's slices are full, the memory grows up to it. 0: it does
    /// not grow.
    most_bytes: usize,
    /// Size of the pages in bytes: 2 MiB or 1 GiB.
    page_bytes: usize,
    /// NUMA node of the socket whose slices the table numbers, or SKL_ANY_NODE.
    node: c_int,
    /// Whether memory regardless of slices is acceptable (not 0).
    plain_allowed: c_int,
}

fn page_size(bytes: usize) -> Result<HugePageSize, CallFailure> {
    [HugePageSize::TwoMiB, HugePageSize::OneGiB]
        .into_iter()
        .find(|size| 1 << size.bits() == bytes)
        .ok_or_else(|| {
            CallFailure::new(
                libc::EINVAL,
                format!("pages of {bytes} bytes; allowed: 2097152, 1073741824"),
            )
        })
}

fn node(number: c_int) -> Result<Option<u32>, CallFailure> {
    let text = || format!("node {number}; allowed: 0 up, or SKL_ANY_NODE");
    match number {
        SKL_ANY_NODE => Ok(None),
        _ => u32::try_from(number).map(Some).map_err(|_| CallFailure::new(libc::EINVAL, text())),
    }
}

/// Maps at least `bytes` of huge pages of `page_bytes` (2 MiB or 1 GiB) and sorts their lines by
/// slice. On success `*memory` is to be closed with skl_memory_close().
///
/// Without huge pages, or where the kernel hides physical addresses, it fails (-ENOMEM, -EPERM); with
/// `plain_allowed` it returns 1 instead: a memory regardless of slices, with the reason as text in
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
    let request =
        CMemoryRequest { bytes, most_bytes: bytes, page_bytes, node: SKL_ANY_NODE, plain_allowed };
    // SAFETY: the caller vouches for all pointers.
    unsafe { skl_memory_open_as(map, &raw const request, memory, error, error_bytes) }
}

/// Opens a memory as skl_memory_open() does, with a node and a largest size. On a machine of several
/// sockets the table numbers the slices of one: state its node; pages on other nodes are refused.
///
/// -ENODEV if there is no such node, or pages are on another one; -ENODATA if the kernel does not
/// report the node of a page.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_memory_open_as(
    map: *const SliceMapHandle,
    request: *const CMemoryRequest,
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
        let plain = memory.plain_reason().inspect(|reason| text.write(reason)).is_some();
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(MemoryHandle::into_c(memory)) };
        Ok(c_int::from(plain))
    })
}

/// Physical addresses that the caller states, page by page, in place of the kernel's.
struct StatedAddresses<'a> {
    start: u64,
    page_bits: u32,
    pages: &'a [u64],
    node: Option<ProcPagemap>,
}

impl PhysicalAddresses for StatedAddresses<'_> {
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

/// Sorts memory that the caller has mapped by slice: `bytes` from `start` on, whole pages of
/// `page_bytes` (2 MiB or 1 GiB) that are locked or of hugetlbfs, so that the kernel does not move
/// them. The library neither grows nor unmaps the memory; it has to stay mapped until
/// skl_memory_close().
///
/// `physical_pages` has the physical address of each page, for callers that know them (a driver, a
/// device's memory); NULL: they are read from the kernel. `node` is the node of the table's socket, or
/// SKL_ANY_NODE; for addresses that the caller states it is checked only if it is given.
///
/// -EINVAL if `start` or `bytes` is not a multiple of `page_bytes`, or the memory is not of huge
/// pages; else as skl_memory_open_as(). Memory regardless of slices is not available here.
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
        let pages = unsafe { HugePages::from_caller(start, bytes as u64, size) };
        let no_pages =
            || CallFailure::new(libc::EINVAL, "start and size must be multiples of the page size");
        let pages = pages.ok_or_else(no_pages)?;
        let pagemap = || ProcPagemap::open(Path::new(OWN_PAGEMAP));
        let failure = |error| CallFailure::from_error(placement_errno(&error), &error);
        let placed = if physical_pages.is_null() {
            let kernel = pagemap().map_err(|error| failure(error.into()))?;
            SliceMemory::from_pages_on_node(map, pages, &kernel, node)
        } else {
            // SAFETY: the caller's array has an element for each page.
            let stated = unsafe { array(physical_pages, bytes / page_bytes, "physical_pages") }?;
            let kernel = node.and_then(|_| pagemap().ok());
            let stated =
                StatedAddresses { start, page_bits: size.bits(), pages: stated, node: kernel };
            SliceMemory::from_pages_on_node(map, pages, &stated, node)
        };
        let memory = MemoryHandle::into_c(placed.map_err(failure)?);
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(memory) };
        Ok(0)
    })
}
