//! Memory for a completion record, which a device writes while the program reads it.

use dsa::record::Record;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory for one completion record. It fills a whole line, so that no other write wakes a thread that waits
/// for the line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct RecordSlot([AtomicU64; 8]);

impl RecordSlot {
    /// Address of the record, for descriptors.
    #[must_use]
    pub fn address(&self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    /// The address, for instructions that wait for the line.
    #[must_use]
    pub fn line(&self) -> *const u8 {
        std::ptr::from_ref(self).cast()
    }

    /// Status code in the record; 0 until the descriptor has ended.
    #[inline]
    #[must_use]
    pub fn status(&self) -> u8 {
        self.0[0].load(Ordering::Acquire).to_le_bytes()[0]
    }

    /// Reads the whole record. It is complete once the status is not 0.
    #[must_use]
    pub fn record(&self) -> Record {
        let mut record = Record::default();
        for (word, bytes) in self.0.iter().zip(record.0.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.load(Ordering::Acquire).to_le_bytes());
        }
        record
    }

    /// Writes a status, as a device does at the end.
    #[cfg(test)]
    pub(crate) fn end(&self, status: u8) {
        self.0[0].store(status.into(), Ordering::Release);
    }

    /// Clears the record for another descriptor.
    pub fn clear(&self) {
        for word in &self.0[..4] {
            word.store(0, Ordering::Release);
        }
    }
}
