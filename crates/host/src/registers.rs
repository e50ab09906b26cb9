//! Model-specific registers: one small trait, the kernel's msr driver behind it.
//!
//! Source: msr(4); `/dev/cpu/N/msr` takes 8 bytes at the register's number.

use std::sync::Arc;

use crate::cpu::CpuId;
use crate::error::{FileError, Problem};
use crate::root::Root;

/// Reads and writes model-specific registers of one logical CPU.
pub trait Registers {
    /// The value of a register.
    ///
    /// # Errors
    /// If driver, permission or hardware refuse.
    fn read(&self, cpu: CpuId, address: u32) -> Result<u64, FileError>;

    /// Gives a register a value. What it then holds is another question.
    ///
    /// # Errors
    /// If driver, permission or hardware refuse.
    fn write(&self, cpu: CpuId, address: u32, value: u64) -> Result<(), FileError>;

    /// Whether registers of this CPU can be opened at all.
    ///
    /// # Errors
    /// The reason why not.
    fn detect(&self, cpu: CpuId) -> Result<(), FileError>;
}

/// The kernel's msr driver.
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

/// The file of a CPU's registers.
#[must_use]
pub fn device(cpu: CpuId) -> String {
    format!("dev/cpu/{cpu}/msr")
}
