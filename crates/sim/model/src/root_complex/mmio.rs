//! MMIO writes: the path of a core's store to a register of a device.
//!
//! Models: posted writes (doorbells, MOVDIR64B), after which the core continues; non-posted writes
//! (ENQCMD), which the device accepts or refuses while the core waits for the answer.
//! Source: Intel SDM (MOVDIR64B; ENQCMD reports a refusal in ZF); PCIe base specification (posted memory
//! writes, deferrable memory writes).
//! Simplifies: a write takes no bytes on the link; its cost on the core is a number of cycles.

use units::{Cycles, Picos};

/// Cost of a core's stores to the registers of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MmioPath {
    /// Time from a store until the device sees it, and from its answer until the core receives it.
    pub one_way: Picos,
    /// Cycles of an uncached store on the core.
    pub store: Cycles,
}

/// A device's answer to a non-posted write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The device has taken the write.
    Accepted,
    /// The device has no free entry: the core may retry.
    Retry,
}

impl MmioPath {
    /// Stores that cost the core no time.
    #[must_use]
    pub fn free_stores(one_way: Picos) -> Self {
        Self { one_way, store: Cycles(0.0) }
    }

    /// When the device sees a store of `stored`.
    #[inline]
    #[must_use]
    pub fn seen(&self, stored: Picos) -> Picos {
        stored + self.one_way
    }

    /// When the device has seen all stores of up to `now`.
    #[inline]
    #[must_use]
    pub fn seen_by(&self, now: Picos) -> Picos {
        now.saturating_sub(self.one_way)
    }

    /// When the core receives an answer of `answered`.
    #[inline]
    #[must_use]
    pub fn back(&self, answered: Picos) -> Picos {
        answered + self.one_way
    }
}
