//! MMIO writes: how a core's store reaches a register of a device.
//!
//! Models: posted writes (doorbells, MOVDIR64B), after which the core goes on; non-posted writes (ENQCMD),
//! which the device accepts or refuses and for whose answer the core waits.
//! Source: Intel SDM (MOVDIR64B; ENQCMD reports a refusal in ZF); PCIe base specification (posted memory
//! writes, deferrable memory writes).
//! Simplifies: a write takes no room on the link; what it costs the core is a number of cycles.

use units::{Cycles, Picos};

/// How a core's stores reach the registers of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MmioPath {
    /// From a store until the device sees it, and from its answer until the core has it.
    pub one_way: Picos,
    /// An uncached store on the core.
    pub store: Cycles,
}

/// A device's answer to a non-posted write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has what was written.
    Accepted,
    /// It has no room: the core may try again.
    Retry,
}

impl MmioPath {
    /// Stores that take the core no time of their own.
    #[must_use]
    pub fn free_stores(one_way: Picos) -> Self {
        Self { one_way, store: Cycles(0.0) }
    }

    /// When the device sees what was stored at `stored`.
    #[inline]
    #[must_use]
    pub fn seen(&self, stored: Picos) -> Picos {
        stored + self.one_way
    }

    /// The time until which the device has seen all stores at `now`.
    #[inline]
    #[must_use]
    pub fn seen_by(&self, now: Picos) -> Picos {
        now.saturating_sub(self.one_way)
    }

    /// When the core has the answer that the device gave at `answered`.
    #[inline]
    #[must_use]
    pub fn back(&self, answered: Picos) -> Picos {
        answered + self.one_way
    }
}
