//! Detection of forks: whether this process is a child of the one that opened a client.
//!
//! The kernel maps no portal into a child, and descriptors of the parent write the parent's memory. A page
//! that the kernel wipes in children (`MADV_WIPEONFORK`) shows the fork without a system call.

#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

const PAGE: usize = 4096;

/// A mark that is set in the process that made it, and not in its children.
pub(crate) struct ForkMark {
    page: Option<NonNull<AtomicU8>>,
    /// Id of the process that made the mark, for kernels that cannot wipe (before 4.14).
    process: u32,
}

// SAFETY: the page holds one atomic byte, and is unmapped by its only owner.
unsafe impl Send for ForkMark {}
// SAFETY: as above.
unsafe impl Sync for ForkMark {}

impl ForkMark {
    pub fn new() -> Self {
        // SAFETY: a new mapping at an address that the kernel chooses; its first byte is an atomic one.
        let page = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let page = libc::mmap(std::ptr::null_mut(), PAGE, protection, flags, -1, 0);
            if page == libc::MAP_FAILED {
                None
            } else if libc::madvise(page, PAGE, libc::MADV_WIPEONFORK) == 0 {
                NonNull::new(page.cast::<AtomicU8>())
            } else {
                libc::munmap(page, PAGE);
                None
            }
        };
        if let Some(page) = page {
            // SAFETY: the page is mapped.
            unsafe { page.as_ref() }.store(1, Ordering::Relaxed);
        }
        Self { page, process: std::process::id() }
    }

    /// Whether this process is a child of the one that made the mark.
    #[inline]
    pub fn is_foreign(&self) -> bool {
        match self.page {
            // SAFETY: the page is mapped as long as this lives.
            Some(page) => unsafe { page.as_ref() }.load(Ordering::Relaxed) == 0,
            None => std::process::id() != self.process,
        }
    }
}

impl Drop for ForkMark {
    fn drop(&mut self) {
        if let Some(page) = self.page {
            // SAFETY: this mark owns the mapping.
            unsafe { libc::munmap(page.as_ptr().cast(), PAGE) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ForkMark;

    #[test]
    fn a_child_is_foreign_and_its_parent_is_not() {
        let mark = ForkMark::new();
        assert!(!mark.is_foreign());
        // SAFETY: the child looks at a byte and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: it ends without the test's clean-up.
            unsafe { libc::_exit(i32::from(mark.is_foreign())) };
        }
        let mut status = 0;
        // SAFETY: waits for the child.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 1);
        assert!(!mark.is_foreign());
    }
}
