//! Counters of what a card moves by DMA, beside the link that carries it.
//!
//! Models: counters of the card's own requests, of payload and of all else: descriptors, doorbell records,
//! completions.
//! Source: the PCIe performance counters that cards report (Linux mlx5 `ethtool -S`).
//! Simplifies: nothing is counted per queue.

/// Requests of a card and their bytes, without headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DmaCounts {
    /// Number of DMA writes.
    pub writes: u64,
    /// Bytes of these writes.
    pub written_bytes: u64,
    /// Number of DMA reads.
    pub reads: u64,
    /// Bytes of these reads.
    pub read_bytes: u64,
}

impl DmaCounts {
    /// Counts a DMA write of `bytes`.
    pub(super) fn write(&mut self, bytes: u64) {
        self.writes += 1;
        self.written_bytes += bytes;
    }

    /// Counts a DMA read of `bytes`.
    pub(super) fn read(&mut self, bytes: u64) {
        self.reads += 1;
        self.read_bytes += bytes;
    }

    /// The sum of two counts.
    #[must_use]
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            writes: self.writes + other.writes,
            written_bytes: self.written_bytes + other.written_bytes,
            reads: self.reads + other.reads,
            read_bytes: self.read_bytes + other.read_bytes,
        }
    }

    /// The counts between the reading `before` and this one.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            writes: self.writes - before.writes,
            written_bytes: self.written_bytes - before.written_bytes,
            reads: self.reads - before.reads,
            read_bytes: self.read_bytes - before.read_bytes,
        }
    }
}
