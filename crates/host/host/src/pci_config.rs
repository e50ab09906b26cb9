//! PCI configuration space: a trait, and its backend in sysfs.
//!
//! Source: PCI Express base specification; Linux `Documentation/PCI/sysfs-pci.rst` (without the
//! right to administer the system only the first 64 bytes can be read).

use std::sync::Arc;

use crate::error::FileError;
use crate::pci_address::Bdf;
use crate::root::Root;

/// Backend that reads and writes 32-bit registers of a function's configuration space.
pub trait PciConfig {
    /// Reads the 32-bit register at a byte offset.
    ///
    /// # Errors
    /// If the function does not exist, or the kernel or hardware refuses the access.
    fn read(&self, function: Bdf, offset: u16) -> Result<u32, FileError>;

    /// Writes a 32-bit register at a byte offset. The register may read back another value.
    ///
    /// # Errors
    /// If the function does not exist, or the kernel or hardware refuses the access.
    fn write(&self, function: Bdf, offset: u16, value: u32) -> Result<(), FileError>;
}

/// Configuration space through the `config` files of sysfs.
#[derive(Clone, Debug)]
pub struct SysfsConfig(pub Arc<Root>);

impl PciConfig for SysfsConfig {
    fn read(&self, function: Bdf, offset: u16) -> Result<u32, FileError> {
        let mut bytes = [0; 4];
        self.0.read_at(&file(function), u64::from(offset), &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn write(&self, function: Bdf, offset: u16, value: u32) -> Result<(), FileError> {
        self.0.write_at(&file(function), u64::from(offset), &value.to_le_bytes())
    }
}

/// Path of a function's `config` file in sysfs, below the root.
#[must_use]
pub fn file(function: Bdf) -> String {
    format!("sys/bus/pci/devices/{function}/config")
}
