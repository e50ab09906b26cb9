//! Memory in pages that have rights.

use std::collections::BTreeMap;

pub const PAGE_BYTES: u64 = 4096;

/// Access to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Reads and writes succeed.
    ReadWrite,
    /// Reads succeed, writes fault.
    ReadOnly,
    /// Reads and writes fault.
    None,
}

/// Memory in pages of 4 KiB; an absent page is not mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The key is the address divided by 4096.
    pages: BTreeMap<u64, (Rights, Box<[u8; 4096]>)>,
}

impl Memory {
    /// Maps whole pages: `address` is page-aligned, the length of `bytes` a multiple of 4096.
    pub fn map(&mut self, address: u64, rights: Rights, bytes: &[u8]) {
        assert!(address.is_multiple_of(PAGE_BYTES), "address {address:#x} is not page-aligned");
        assert!(
            bytes.len().is_multiple_of(PAGE_BYTES as usize),
            "{} bytes are not whole pages",
            bytes.len()
        );
        for (index, content) in bytes.chunks(PAGE_BYTES as usize).enumerate() {
            let mut page = Box::new([0; 4096]);
            page.copy_from_slice(content);
            self.pages.insert(address / PAGE_BYTES + index as u64, (rights, page));
        }
    }

    /// The byte at `address`, or None for a fault.
    pub fn read(&self, address: u64) -> Option<u8> {
        let (rights, page) = self.pages.get(&(address / PAGE_BYTES))?;
        match rights {
            Rights::ReadWrite | Rights::ReadOnly => Some(page[(address % PAGE_BYTES) as usize]),
            Rights::None => None,
        }
    }

    /// Stores a byte; false is a fault and nothing is stored.
    pub fn write(&mut self, address: u64, byte: u8) -> bool {
        match self.pages.get_mut(&(address / PAGE_BYTES)) {
            Some((Rights::ReadWrite, page)) => {
                page[(address % PAGE_BYTES) as usize] = byte;
                true
            }
            _ => false,
        }
    }

    /// The page of an address, whatever its rights, for comparisons.
    ///
    /// # Panics
    /// If it is not mapped.
    pub fn page(&self, address: u64) -> &[u8; 4096] {
        &self.pages[&(address / 4096)].1
    }

    pub fn is_writable(&self, address: u64) -> bool {
        matches!(self.pages.get(&(address / PAGE_BYTES)), Some((Rights::ReadWrite, _)))
    }
}
