//! A completion record: 32 bytes that say how an operation ended [S 8.2].

use crate::hardware::RECORD_BYTES;
use crate::hardware::status;
use crate::memory::absent::{self, Access};
use crate::memory::{Fault, bytes_mut, guarded};
use std::sync::atomic::{AtomicU8, Ordering};

/// The 32 bytes. Fields that the specification leaves undefined are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(32))]
pub struct Record(pub [u8; RECORD_BYTES]);

/// Fault information: the address is the page's.
const ADDRESS_MASKED: u8 = 1 << 0;

impl Record {
    /// A record with a status and nothing else.
    #[must_use]
    pub fn of(status: u8) -> Self {
        let mut record = Self::default();
        record.0[0] = status;
        record
    }

    /// The status of an access that failed, with its address and, where `info` says so, the operand.
    #[must_use]
    pub fn of_fault(code: u8, fault: Fault, info: bool) -> Self {
        let write = if fault.is_write { status::FAULT_ON_WRITE } else { 0 };
        let mut record = Self::of(code | write).with_u64(8, fault.address);
        if info {
            record.0[2] = (fault.operand as u8) << 1 | ADDRESS_MASKED;
        }
        record
    }

    /// Status, bit 7 included.
    #[must_use]
    pub fn status(&self) -> u8 {
        self.0[0]
    }

    /// Result, or status of protection information.
    #[must_use]
    pub fn result(&self) -> u8 {
        self.0[1]
    }

    /// Bytes, or descriptors, completed.
    #[must_use]
    pub fn completed(&self) -> u32 {
        self.u32(4)
    }

    /// Address of a fault.
    #[must_use]
    pub fn fault_address(&self) -> u64 {
        self.u64(8)
    }

    /// The flags that were reserved or missing.
    #[must_use]
    pub fn invalid_flags(&self) -> u32 {
        self.u32(16) & 0xff_ffff
    }

    /// Size of the delta record, in bytes.
    #[must_use]
    pub fn delta_bytes(&self) -> u32 {
        self.u32(16)
    }

    /// The CRC.
    #[must_use]
    pub fn crc(&self) -> u64 {
        self.u64(16)
    }

    /// Sets [`Self::result`].
    #[must_use]
    pub fn with_result(mut self, result: u8) -> Self {
        self.0[1] = result;
        self
    }

    /// Sets [`Self::completed`].
    #[must_use]
    pub fn with_completed(self, completed: u32) -> Self {
        self.with_u32(4, completed)
    }

    /// Sets four bytes.
    #[must_use]
    pub fn with_u32(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
        self
    }

    /// Sets eight bytes.
    #[must_use]
    pub fn with_u64(mut self, at: usize, value: u64) -> Self {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
        self
    }

    /// Sets two bytes.
    #[must_use]
    pub fn with_u16(mut self, at: usize, value: u16) -> Self {
        self.0[at..at + 2].copy_from_slice(&value.to_le_bytes());
        self
    }

    /// Writes it, the status last: who sees the status sees all that the operation has written. Returns
    /// `false` if its page cannot be written.
    #[allow(unsafe_code)]
    pub(crate) fn write(&self, address: u64) -> bool {
        if !absent::are_there(Access::Record, address, RECORD_BYTES as u64) {
            return false;
        }
        // SAFETY: a fault is caught by the guard; the record is memory that the submitter names, aligned
        // as a record is, and read by others only after the status.
        let written = guarded(|| unsafe {
            let place: *mut u8 = bytes_mut(address);
            self.0.as_ptr().add(1).copy_to(place.add(1), RECORD_BYTES - 1);
            AtomicU8::from_ptr(place).store(self.status(), Ordering::Release);
        });
        written.is_some()
    }

    fn u32(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.0[at..at + 4]);
        u32::from_le_bytes(bytes)
    }

    fn u64(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[at..at + 8]);
        u64::from_le_bytes(bytes)
    }
}
