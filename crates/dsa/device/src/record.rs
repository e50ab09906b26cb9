//! A completion record: 32 bytes with the result of a descriptor [S 8.2].

use crate::hardware::RECORD_BYTES;
use crate::hardware::status;
use crate::memory::absent_pages::{self, Access};
use crate::memory::{Fault, bytes_mut, guarded};
use std::sync::atomic::{AtomicU8, Ordering};

/// A completion record as the device writes it: 32 bytes, aligned to 32. Fields that the specification leaves
/// undefined are zero. Default: all zero, which is no status yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(32))]
pub struct Record(pub [u8; RECORD_BYTES]);

/// Bit of the fault information: the address is that of the page.
const ADDRESS_MASKED: u8 = 1 << 0;

impl Record {
    /// A record with this status and all other bytes zero.
    #[must_use]
    pub fn with_status(status: u8) -> Self {
        let mut record = Self::default();
        record.0[0] = status;
        record
    }

    /// The record of a failed access: status `code`, address and, if `info`, the fault information with the
    /// operand (GENCAP 12).
    #[must_use]
    pub fn from_fault(code: u8, fault: Fault, info: bool) -> Self {
        let write = if fault.is_write { status::FAULT_ON_WRITE } else { 0 };
        let mut record = Self::with_status(code | write).with_u64(8, fault.address);
        if info {
            record.0[2] = (fault.operand as u8) << 1 | ADDRESS_MASKED;
        }
        record
    }

    /// Status code, with bit 7 for a fault on a write.
    #[must_use]
    pub fn status(&self) -> u8 {
        self.0[0]
    }

    /// Result of a comparison or of the creation of a delta record, or DIF status.
    #[must_use]
    pub fn result(&self) -> u8 {
        self.0[1]
    }

    /// Number of completed bytes, or of completed descriptors of a batch.
    #[must_use]
    pub fn completed(&self) -> u32 {
        self.u32(4)
    }

    /// Address of the page that faulted.
    #[must_use]
    pub fn fault_address(&self) -> u64 {
        self.u64(8)
    }

    /// Flags that were reserved or missing, for status 0x11.
    #[must_use]
    pub fn invalid_flags(&self) -> u32 {
        self.u32(16) & 0xff_ffff
    }

    /// Size of the delta record, in bytes.
    #[must_use]
    pub fn delta_bytes(&self) -> u32 {
        self.u32(16)
    }

    /// The CRC; of a CRC of 32 bits the upper half is zero.
    #[must_use]
    pub fn crc(&self) -> u64 {
        self.u64(16)
    }

    /// Returns the record with this [`Self::result`].
    #[must_use]
    pub fn with_result(mut self, result: u8) -> Self {
        self.0[1] = result;
        self
    }

    /// Returns the record with this [`Self::completed`].
    #[must_use]
    pub fn with_completed(self, completed: u32) -> Self {
        self.with_u32(4, completed)
    }

    /// Sets the four bytes from byte `at` on, little-endian.
    #[must_use]
    pub fn with_u32(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
        self
    }

    /// Sets the eight bytes from byte `at` on, little-endian.
    #[must_use]
    pub fn with_u64(mut self, at: usize, value: u64) -> Self {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
        self
    }

    /// Sets the two bytes from byte `at` on, little-endian.
    #[must_use]
    pub fn with_u16(mut self, at: usize, value: u16) -> Self {
        self.0[at..at + 2].copy_from_slice(&value.to_le_bytes());
        self
    }

    /// Writes the record, the status last: a thread that sees the status sees all that the operation has
    /// written. Returns `false` if the page of the record cannot be written.
    #[allow(unsafe_code)]
    pub(crate) fn write(&self, address: u64) -> bool {
        if !absent_pages::are_there(Access::Record, address, RECORD_BYTES as u64) {
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
