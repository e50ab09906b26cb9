//! Policies of the root-complex buffer: its acquisitions, its write-backs, and the marks in the LLC.
//!
//! Models: DDIO on, DDIO off with and without eviction by DMA reads, the separate I/O cache of older
//! gem5 models; each as in the paper or as in its authors' public code.
//! Source: "Data Direct I/O characterization for future I/O system exploration" (ISPASS'20).
//! Simplifies: three departures of the published code are known; the rest is assumed to be equal.

use crate::attribution::AgentId;
use units::WayMask;

/// Position of the buffer, and what its read misses acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// DDIO on: reads share lines with the caches, modified lines go to the LLC.
    LlcSide,
    /// DDIO off: modified lines go to memory.
    MemorySide {
        /// Reads remove lines from the caches, as on processors up to Sandy Bridge; otherwise they
        /// share them.
        evict_on_dma_read: bool,
    },
    /// The I/O cache of older gem5 models, neither DDIO nor its absence: modified lines go to memory
    /// as without DDIO, reads share lines with the caches as with it.
    SeparateIoCache,
}

/// Parameters of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferConfig {
    /// Number of lines; zero: there is no buffer, as on plain Xeons.
    pub entries: u32,
    /// Acquisitions under way at a time.
    pub mshrs: u32,
    /// Position of the buffer.
    pub placement: Placement,
    /// Follows the authors' public code where that departs from the paper.
    pub as_published_code: bool,
}

impl BufferConfig {
    /// Whether the LLC marks a block that this acquisition emptied as freed by I/O.
    #[must_use]
    pub fn marks_freed(&self, acquire: Acquire) -> bool {
        match acquire {
            Acquire::Exclusive { with_data } => {
                self.placement == Placement::LlcSide && !(with_data && self.as_published_code)
            }
            Acquire::None | Acquire::Shared => false,
        }
    }

    /// Whether a refill of a marked block clears its mark.
    #[must_use]
    pub fn refill_clears_mark(&self) -> bool {
        !self.as_published_code
    }

    /// The DDIO ways of an LLC with `ways` ways for a configured `number` of them. The published
    /// code takes the number itself as the mask: 4 means way 2 alone, 3 the two lowest.
    #[must_use]
    pub fn ddio_ways(&self, number: u32, ways: u32) -> WayMask {
        if self.as_published_code {
            WayMask(number & WayMask::bottom(ways).0)
        } else {
            WayMask::top(number, ways)
        }
    }

    /// The copy that a read miss in the buffer acquires.
    pub(super) fn read_acquires(&self) -> Acquire {
        match self.placement {
            Placement::MemorySide { evict_on_dma_read: true } => {
                Acquire::Exclusive { with_data: true }
            }
            Placement::LlcSide | Placement::MemorySide { .. } | Placement::SeparateIoCache => {
                Acquire::Shared
            }
        }
    }

    /// Destination of a modified line of `device`.
    #[must_use]
    pub fn write_back(&self, device: AgentId) -> WriteBack {
        match self.placement {
            Placement::LlcSide => {
                WriteBack::Llc { ways_of: (!self.as_published_code).then_some(device) }
            }
            Placement::MemorySide { .. } | Placement::SeparateIoCache => WriteBack::Memory,
        }
    }
}

/// The copy that the buffer must acquire from caches and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquire {
    /// Nothing: the buffer holds the line in a sufficient state.
    None,
    /// A shared copy.
    Shared,
    /// The only copy, with its content or only the right to overwrite it.
    Exclusive {
        /// Whether the content is needed.
        with_data: bool,
    },
}

/// Destination of a modified line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBack {
    /// Into the LLC.
    Llc {
        /// The device in whose ways it may be allocated; none: the LLC cannot distinguish devices.
        ways_of: Option<AgentId>,
    },
    /// To memory.
    Memory,
}
