//! Memory for a completion record, which a device writes while the program looks at it.

use dsa::record::Record;
use std::sync::atomic::{AtomicU64, Ordering};

/// A completion record with the rest of its line, so that no other writes disturb who waits for it.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Slot([AtomicU64; 8]);

impl Slot {
    /// Its address, for descriptors.
    #[must_use]
    pub fn address(&self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    /// Its address, for instructions that wait for its line.
    #[must_use]
    pub fn line(&self) -> *const u8 {
        std::ptr::from_ref(self).cast()
    }

    /// The status; 0 as long as the operation is under way.
    #[inline]
    #[must_use]
    pub fn status(&self) -> u8 {
        self.0[0].load(Ordering::Acquire).to_le_bytes()[0]
    }

    /// The whole record, once its status is there.
    #[must_use]
    pub fn record(&self) -> Record {
        let mut record = Record::default();
        for (word, bytes) in self.0.iter().zip(record.0.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.load(Ordering::Acquire).to_le_bytes());
        }
        record
    }

    /// Makes it as new, for another descriptor.
    pub fn clear(&self) {
        for word in &self.0[..4] {
            word.store(0, Ordering::Release);
        }
    }
}
