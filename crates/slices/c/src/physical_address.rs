//! `skl_physical_address`, `skl_version`.
#![allow(unsafe_code)]

use crate::boundary::{CallFailure, ErrorText, errno_of, guarded, required_out};
use libc::{c_char, c_int, c_void};
use slices::memory::{OWN_PAGEMAP, PhysicalAddressError, PhysicalAddresses, ProcPagemap};
use std::path::Path;

/// The errno for a physical address that cannot be found.
pub fn errno(error: &PhysicalAddressError) -> c_int {
    match error {
        PhysicalAddressError::Unreadable { source, .. } => errno_of(source),
        PhysicalAddressError::NotPresent(_) => libc::EFAULT,
        PhysicalAddressError::Hidden => libc::EPERM,
    }
}

/// Writes the physical address of a byte of this process, from /proc/self/pagemap. It stays the same
/// as long as the memory is of hugetlbfs or locked. Each call opens the file: call it once per page.
///
/// -EPERM if the kernel hides physical addresses (CAP_SYS_ADMIN of the initial user namespace is
/// needed), -EFAULT if the byte is not in memory (touch it before), else the system's errno for the
/// file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skl_physical_address(
    address: *const c_void,
    physical_address: *mut u64,
    error: *mut c_char,
    error_bytes: usize,
) -> c_int {
    // SAFETY: the caller vouches for all pointers.
    let text = unsafe { ErrorText::new(error, error_bytes) };
    guarded(text, || {
        let out = required_out(physical_address, "physical_address")?;
        let found = ProcPagemap::open(Path::new(OWN_PAGEMAP))
            .and_then(|pagemap| pagemap.physical_address(address as u64))
            .map_err(|error| CallFailure::from_error(self::errno(&error), &error))?;
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(found) };
        Ok(0)
    })
}

/// Returns the library's version as a text that lives as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn skl_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
