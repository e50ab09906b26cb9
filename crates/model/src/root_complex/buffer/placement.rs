//! Where the root-complex buffer is: what it acquires, where it writes back, what the LLC marks.
//!
//! Models: DDIO on, DDIO off with and without eviction by DMA reads, the separate I/O cache of older
//! gem5 models; each as in the paper or as in its authors' public code.
//! Source: "Data Direct I/O characterization for future I/O system exploration" (ISPASS'20).
//! Simplifies: the published code is known by three departures only; all else is taken to be alike.

use crate::attribution::AgentId;
use units::WayMask;

/// Where the buffer is and what its read misses acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// DDIO on: reads share lines with the caches, modified lines go to the LLC.
    LlcSide,
    /// DDIO off: modified lines go to memory.
    MemorySide {
        /// Reads take lines away from the caches, as on processors up to Sandy Bridge; otherwise they
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
    /// Lines that it holds; zero: there is none, as on plain Xeons.
    pub entries: u32,
    /// Acquisitions under way at a time.
    pub mshrs: u32,
    /// Where it is.
    pub placement: Placement,
    /// As the authors' public code has it, where that departs from the paper.
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

    /// Whether a marked block that is filled again loses its mark.
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

    /// What a read of a line that the buffer lacks acquires.
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

    /// Where a modified line of `device` goes.
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

/// What has to be obtained from caches and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquire {
    /// Nothing: the buffer has what it needs.
    None,
    /// A copy to read.
    Shared,
    /// The only copy: with the content of the line, or just the right to overwrite it.
    Exclusive {
        /// Whether the content is needed.
        with_data: bool,
    },
}

/// Where a modified line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBack {
    /// Into the LLC.
    Llc {
        /// The device in whose ways it may be allocated; none: the LLC cannot tell devices apart.
        ways_of: Option<AgentId>,
    },
    /// To memory.
    Memory,
}
