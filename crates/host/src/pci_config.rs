//! PCI configuration space: one small trait, sysfs behind it.
//!
//! Source: PCI Express base specification; Linux `Documentation/PCI/sysfs-pci.rst` (without the
//! right to administer the system only the first 64 bytes can be read).

use std::sync::Arc;

use crate::error::FileError;
use crate::pci_address::Bdf;
use crate::root::Root;

/// Reads and writes 32-bit registers of a function's configuration space.
pub trait PciConfig {
    /// A 32-bit register.
    ///
    /// # Errors
    /// If function, permission or hardware refuse.
    fn read(&self, function: Bdf, offset: u16) -> Result<u32, FileError>;

    /// Gives a 32-bit register a value. What it then holds is another question.
    ///
    /// # Errors
    /// If function, permission or hardware refuse.
    fn write(&self, function: Bdf, offset: u16, value: u32) -> Result<(), FileError>;
}

/// `config` files of sysfs.
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

/// The configuration file of a function.
#[must_use]
pub fn file(function: Bdf) -> String {
    format!("sys/bus/pci/devices/{function}/config")
}
