//! System calls that reserve, map and place address space. They and [`super::huge_pages`] are the unsafe code
//! of this folder.
#![allow(unsafe_code)]

use libc::{c_int, c_long, c_void};
use std::io;
use std::ops::Range;
use units::narrow::usize_from;

/// Reserves address space that begins at a multiple of `alignment`, a power of two, and returns its first
/// address. It cannot be accessed before it is mapped.
pub(super) fn reserve(bytes: usize, alignment: usize) -> io::Result<usize> {
    let with_slack = bytes.checked_add(alignment).ok_or(io::ErrorKind::OutOfMemory)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let start = map_at(0, with_slack, libc::PROT_NONE, flags)?;
    let aligned = start.next_multiple_of(alignment);
    // SAFETY: both ends are of the mapping just made, which nothing else knows of.
    unsafe {
        release(start..aligned);
        release(aligned + bytes..start + with_slack);
    }
    Ok(aligned)
}

/// Unmaps a range and gives up its address space.
///
/// # Safety
/// Nothing refers to the range, which is of mappings of the caller.
pub(super) unsafe fn release(range: Range<usize>) {
    if !range.is_empty() {
        // SAFETY: the caller vouches for it.
        unsafe { libc::munmap(range.start as *mut c_void, range.len()) };
    }
}

/// Kind of pages in a range of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageMapping {
    /// Huge pages of 2 to this power bytes, all of them present. Children of the process do not
    /// inherit them.
    Huge(u32),
    /// Plain pages.
    Plain,
}

/// Maps a range of a reservation, on a node if one is given.
///
/// # Errors
/// If the kernel refuses: the range is then reserved as before. The error is `None` if it is not, since the
/// kernel gave up the reservation before it refused.
///
/// # Safety
/// Nothing refers to the range, which is a part of a reservation of the caller.
pub(super) unsafe fn map(
    range: &Range<usize>,
    mapping: PageMapping,
    node: Option<u32>,
) -> Result<(), Option<io::Error>> {
    match mapping {
        // SAFETY: the caller vouches for it.
        PageMapping::Huge(bits) => unsafe { map_huge(range, bits, node) }?,
        PageMapping::Plain => {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: nothing refers to the range, which is the caller's.
            let answer = unsafe { libc::mprotect(range.start as *mut c_void, range.len(), access) };
            if answer != 0 {
                return Err(Some(io::Error::last_os_error()));
            }
        }
    }
    let placed = node.map_or(Ok(()), |node| bind(range, node)).and_then(|()| match mapping {
        // Too few pages on the node are an error here, and would end the process later.
        PageMapping::Huge(_) if node.is_some() => advise(range, libc::MADV_POPULATE_WRITE),
        PageMapping::Huge(_) => Ok(()),
        // Transparent huge pages are welcome and not needed.
        PageMapping::Plain => advise(range, libc::MADV_HUGEPAGE).or(Ok(())),
    });
    // Copying on write would move the parent's pages.
    let for_parent = || match mapping {
        PageMapping::Huge(_) => advise(range, libc::MADV_DONTFORK),
        PageMapping::Plain => Ok(()),
    };
    placed.and_then(|()| for_parent()).map_err(|error| {
        // SAFETY: as above.
        unsafe { unmap(range) }.ok().map(|()| error)
    })
}

/// # Safety
/// As [`map`].
unsafe fn map_huge(
    range: &Range<usize>,
    bits: u32,
    node: Option<u32>,
) -> Result<(), Option<io::Error>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let huge = libc::MAP_PRIVATE
        | libc::MAP_ANONYMOUS
        | libc::MAP_HUGETLB
        | bits.cast_signed() << libc::MAP_HUGE_SHIFT;
    // Elsewhere first: the kernel ends what is mapped at a fixed address before it looks for pages.
    let elsewhere = map_at(0, range.len(), access, huge).map_err(Some)?;
    // SAFETY: it was mapped just now.
    unsafe { release(elsewhere..elsewhere + range.len()) };
    // A node has to be chosen before the pages are there.
    let populate = if node.is_none() { libc::MAP_POPULATE } else { 0 };
    map_at(range.start, range.len(), access, huge | libc::MAP_FIXED | populate)
        .map_err(|_| None)
        .map(drop)
}

/// Gives the pages of a mapped range of a reservation back to the kernel, and keeps the address space.
///
/// # Safety
/// Nothing refers to the range, which is a part of a reservation of the caller.
pub(super) unsafe fn unmap(range: &Range<usize>) -> io::Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    map_at(range.start, range.len(), libc::PROT_NONE, flags).map(drop)
}

fn map_at(start: usize, bytes: usize, protection: c_int, flags: c_int) -> io::Result<usize> {
    // SAFETY: without MAP_FIXED nothing that is mapped changes; with it the callers vouch for it.
    let mapped = unsafe { libc::mmap(start as *mut c_void, bytes, protection, flags, -1, 0) };
    if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(mapped as usize) }
}

fn advise(range: &Range<usize>, advice: c_int) -> io::Result<()> {
    // SAFETY: none of the advice given here changes what is in memory.
    let answer = unsafe { libc::madvise(range.start as *mut c_void, range.len(), advice) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes the kernel take the pages of a range from one node.
fn bind(range: &Range<usize>, node: u32) -> io::Result<()> {
    let mut nodes = [0u64; 16];
    let word = nodes.get_mut((node / u64::BITS) as usize).ok_or(io::ErrorKind::InvalidInput)?;
    *word = 1 << (node % u64::BITS);
    // The kernel reads one bit less than the number that it is passed.
    let bits = usize_from(u64::from(u64::BITS)) * nodes.len() + 1;
    // SAFETY: the mask is as long as is said; a policy changes nothing in memory.
    let answer = unsafe {
        let (call, policy) = (libc::SYS_mbind, libc::MPOL_BIND);
        libc::syscall(call, range.start, range.len(), policy, nodes.as_ptr(), bits, 0)
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The node of the page at an address; `None` if the kernel has no nodes.
pub(super) fn page_node(address: u64) -> io::Result<Option<u32>> {
    let page = address as *const c_void;
    let mut status: c_int = 0;
    let no_nodes: *const c_int = std::ptr::null();
    // SAFETY: lists of one element each; without nodes to move to nothing is moved.
    let answer: c_long = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            1usize,
            &raw const page,
            no_nodes,
            &raw mut status,
            0,
        )
    };
    if answer < 0 {
        let error = io::Error::last_os_error();
        return if error.raw_os_error() == Some(libc::ENOSYS) { Ok(None) } else { Err(error) };
    }
    u32::try_from(status).map(Some).map_err(|_| io::Error::from_raw_os_error(-status))
}
