//! Page-in: pages that a device found absent are brought in, as an access of the program would.

#![allow(unsafe_code)]

use units::narrow::usize_from;

const PAGE: u64 = 4096;

/// Brings in the page at an address for reading or writing; false if this process may not access it so.
pub(crate) fn bring_in(address: u64, is_write: bool) -> bool {
    let page: *mut libc::c_void =
        std::ptr::with_exposed_provenance_mut(usize_from(address & !(PAGE - 1)));
    let advice = if is_write { libc::MADV_POPULATE_WRITE } else { libc::MADV_POPULATE_READ };
    // SAFETY: it changes no byte of the page.
    if unsafe { libc::madvise(page, usize_from(PAGE), advice) } == 0 {
        return true;
    }
    // Kernels before 5.14 do not know the advice, and some mappings cannot be populated.
    let error = std::io::Error::last_os_error().raw_os_error();
    error == Some(libc::EINVAL) && dsa::memory::touch(address, is_write)
}
