//! Real pages with rights of their own, and the same pages for the reference.

use crate::reference::{Memory, Rights};

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// Bytes before the first page and behind the last, of which nothing can be accessed: more than the
/// longest transfer of a test, which would otherwise reach what the process has there.
const APART: usize = 128 << 20;

/// Neighbouring pages of this process, far from all others.
#[derive(Debug)]
pub struct Arena {
    /// Address of the first page.
    pub base: u64,
    /// Rights of each page.
    pub rights: Vec<Rights>,
    whole: *mut libc::c_void,
}

impl Arena {
    /// Pages that may be written, filled with zeros.
    pub fn new(pages: usize) -> Self {
        let length = pages * PAGE + 2 * APART;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping of our own; the pages at its ends get no rights.
        let whole =
            unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(whole, libc::MAP_FAILED, "no memory for an arena");
        let base = whole as u64 + APART as u64;
        let mut arena = Self { base, rights: vec![Rights::None; pages], whole };
        for page in 0..pages {
            arena.set(page, Rights::ReadWrite);
        }
        arena
    }

    /// Bytes of all pages.
    pub fn length(&self) -> usize {
        self.rights.len() * PAGE
    }

    /// Sets the rights of a page.
    pub fn set(&mut self, page: usize, rights: Rights) {
        if self.rights[page] == rights {
            return;
        }
        let protection = match rights {
            Rights::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
            Rights::ReadOnly => libc::PROT_READ,
            Rights::None => libc::PROT_NONE,
        };
        let address = (self.base as usize + page * PAGE) as *mut libc::c_void;
        // SAFETY: a page of our own mapping.
        let done = unsafe { libc::mprotect(address, PAGE, protection) };
        assert_eq!(done, 0, "rights of a page of an arena");
        self.rights[page] = rights;
    }

    /// Writes bytes, whatever the rights.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        let before = self.rights.clone();
        for page in offset / PAGE..=(offset + bytes.len() - 1) / PAGE {
            self.set(page, Rights::ReadWrite);
        }
        let to = (self.base as usize + offset) as *mut u8;
        // SAFETY: inside our mapping, which may be written now.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        for (page, rights) in before.into_iter().enumerate() {
            self.set(page, rights);
        }
    }

    /// The bytes of a page, which gets the right to be read for it.
    pub fn page(&mut self, page: usize) -> [u8; PAGE] {
        let rights = self.rights[page];
        if rights == Rights::None {
            self.set(page, Rights::ReadOnly);
        }
        let mut bytes = [0; PAGE];
        let from = (self.base as usize + page * PAGE) as *const u8;
        // SAFETY: a page of our mapping that may be read.
        unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), PAGE) };
        self.set(page, rights);
        bytes
    }

    /// The same pages for the reference.
    pub fn memory(&mut self) -> Memory {
        let mut memory = Memory::default();
        for page in 0..self.rights.len() {
            let bytes = self.page(page);
            memory.map(self.base + (page * PAGE) as u64, self.rights[page], &bytes);
        }
        memory
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nothing borrows.
        unsafe { libc::munmap(self.whole, self.length() + 2 * APART) };
    }
}
