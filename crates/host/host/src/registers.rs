//! Model-specific registers: a trait, and its backend, the kernel's msr driver.
//!
//! Source: msr(4); `/dev/cpu/N/msr` takes 8 bytes at the register's number.

use std::sync::Arc;

use crate::cpu::CpuId;
use crate::error::{FileError, Problem};
use crate::root::Root;

/// Backend that reads and writes model-specific registers (MSRs) of a logical CPU.
pub trait Registers {
    /// Reads the register at an MSR address.
    ///
    /// # Errors
    /// If the driver is missing, or the kernel or hardware refuses the access.
    fn read(&self, cpu: CpuId, address: u32) -> Result<u64, FileError>;

    /// Writes the register at an MSR address. The register may read back another value.
    ///
    /// # Errors
    /// If the driver is missing, or the kernel or hardware refuses the access.
    fn write(&self, cpu: CpuId, address: u32, value: u64) -> Result<(), FileError>;

    /// Checks that registers of a CPU can be read at all.
    ///
    /// # Errors
    /// If the driver is missing or access is not permitted.
    fn detect(&self, cpu: CpuId) -> Result<(), FileError>;
}

/// Registers through the kernel's msr driver.
#[derive(Clone, Debug)]
pub struct MsrDriver(pub Arc<Root>);

impl Registers for MsrDriver {
    fn read(&self, cpu: CpuId, address: u32) -> Result<u64, FileError> {
        let mut bytes = [0; 8];
        self.0.read_at(&device(cpu), u64::from(address), &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn write(&self, cpu: CpuId, address: u32, value: u64) -> Result<(), FileError> {
        self.0.write_at(&device(cpu), u64::from(address), &value.to_le_bytes())
    }

    fn detect(&self, cpu: CpuId) -> Result<(), FileError> {
        // The time stamp counter can be read wherever the driver works.
        const TIME_STAMP_COUNTER: u32 = 0x10;
        match self.read(cpu, TIME_STAMP_COUNTER) {
            Err(error) if error.problem == Problem::Refused => Ok(()),
            other => other.map(drop),
        }
    }
}

/// Path of the msr driver's file of a CPU, below the root.
#[must_use]
pub fn device(cpu: CpuId) -> String {
    format!("dev/cpu/{cpu}/msr")
}
