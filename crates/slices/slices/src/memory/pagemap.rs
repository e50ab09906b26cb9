//! Physical addresses of the process's memory, from /proc/self/pagemap.

use super::address_space::page_node;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Finds physical addresses of mapped memory.
pub trait PhysicalAddresses {
    /// The physical address of the byte at a virtual address.
    ///
    /// # Errors
    /// If the byte is not mapped, or the kernel hides the address.
    fn physical_address(&self, virtual_address: u64) -> Result<u64, PhysicalAddressError>;

    /// The NUMA node of the byte; `None` if there are no nodes, or the implementation does not know them.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn node(&self, _virtual_address: u64) -> io::Result<Option<u32>> {
        Ok(None)
    }
}

/// Error of a physical address that cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum PhysicalAddressError {
    /// The page map cannot be read.
    #[error("{}: cannot be read", path.display())]
    Unreadable {
        /// Path of the page map.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// No page is mapped there, or it is swapped out.
    #[error("virtual address {0:#x} is not in memory; touch it before asking")]
    NotPresent(u64),
    /// The kernel shows page numbers to privileged processes only.
    #[error(
        "the kernel hides physical addresses from this process; needed: CAP_SYS_ADMIN of the initial \
         user namespace, which root of a container may lack"
    )]
    Hidden,
}

/// A page map of the kernel (Documentation/admin-guide/mm/pagemap.rst): for each 4 KiB of virtual
/// memory eight bytes, bits 54:0 the page's number, bit 63 whether it is present.
#[derive(Debug)]
pub struct ProcPagemap {
    path: PathBuf,
    file: File,
}

/// Path of the page map of this process.
pub const OWN: &str = "/proc/self/pagemap";

/// Bytes of memory for each entry of the page map on x86.
const GRANULE_BYTES: u64 = 4096;

impl ProcPagemap {
    /// Opens a page map: /proc/self/pagemap, or a file in its format.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, PhysicalAddressError> {
        let unreadable = |source| PhysicalAddressError::Unreadable { path: path.into(), source };
        Ok(Self { path: path.into(), file: File::open(path).map_err(unreadable)? })
    }
}

impl PhysicalAddresses for ProcPagemap {
    fn node(&self, virtual_address: u64) -> io::Result<Option<u32>> {
        page_node(virtual_address)
    }

    fn physical_address(&self, virtual_address: u64) -> Result<u64, PhysicalAddressError> {
        let mut entry = [0; 8];
        let offset = virtual_address / GRANULE_BYTES * entry.len() as u64;
        self.file.read_exact_at(&mut entry, offset).map_err(|source| {
            PhysicalAddressError::Unreadable { path: self.path.clone(), source }
        })?;
        let entry = u64::from_le_bytes(entry);
        if entry >> 63 == 0 {
            return Err(PhysicalAddressError::NotPresent(virtual_address));
        }
        match entry & ((1 << 55) - 1) {
            0 => Err(PhysicalAddressError::Hidden),
            page => Ok(page * GRANULE_BYTES + virtual_address % GRANULE_BYTES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_file(name: &str, entries: &[u64]) -> ProcPagemap {
        let path = std::env::temp_dir().join(format!("pagemap-{name}-{}", std::process::id()));
        let bytes: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
        std::fs::write(&path, bytes).expect("the temporary folder can be written");
        let pagemap = ProcPagemap::open(&path).expect("was written");
        std::fs::remove_file(&path).expect("was written");
        pagemap
    }

    #[test]
    fn an_entry_gives_page_and_place_in_it() {
        let pagemap = in_file("entry", &[0, 1 << 63 | 1 << 61 | 0x12345]);
        assert_eq!(pagemap.physical_address(0x1ABC).expect("is present"), 0x1234_5ABC);
    }

    #[test]
    fn hidden_absent_and_unreadable_are_told_apart() {
        let pagemap = in_file("hidden", &[1 << 63, 0]);
        assert!(matches!(pagemap.physical_address(0), Err(PhysicalAddressError::Hidden)));
        let absent = pagemap.physical_address(0x1000).expect_err("is absent");
        assert!(absent.to_string().contains("0x1000 is not in memory"));
        let beyond = pagemap.physical_address(0x2000).expect_err("is beyond the file");
        assert!(matches!(beyond, PhysicalAddressError::Unreadable { .. }));
        assert!(ProcPagemap::open(Path::new("/nowhere/pagemap")).is_err());
    }

    #[test]
    fn the_kernel_tells_this_process_an_address_or_that_it_does_not() {
        let pagemap = ProcPagemap::open(Path::new("/proc/self/pagemap")).expect("is Linux");
        let byte = 7u8;
        match pagemap.physical_address(std::ptr::from_ref(&byte) as u64) {
            Ok(address) => assert_eq!(address % 4096, std::ptr::from_ref(&byte) as u64 % 4096),
            Err(PhysicalAddressError::Hidden) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
