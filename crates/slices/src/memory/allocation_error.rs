//! Why memory is not handed out, or not taken back.

use std::collections::TryReserveError;
use units::LINE_BYTES;

/// Why lines cannot be handed out or taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocationError {
    /// The slices that were asked for have fewer free lines.
    #[error("{wanted} lines wanted, {free} free in the slices asked for; add huge pages")]
    Exhausted {
        /// Lines asked for.
        wanted: usize,
        /// Free lines of those slices.
        free: usize,
    },
    /// The part has no such slice.
    #[error("no slice {slice}; allowed: 0 to {}", slices - 1)]
    NoSlice {
        /// The slice asked for.
        slice: u16,
        /// Slices of the part.
        slices: u32,
    },
    /// The line is not handed out, or not by this allocator.
    #[error("nothing is handed out at virtual address {0:#x}")]
    NotAllocated(u64),
    /// An object is in one slice as a whole only if it is in one line.
    #[error("{0} bytes; allowed: up to {LINE_BYTES}, a line; take a scattered or linked buffer")]
    TooLarge(u64),
    /// The owner has no slices in this memory.
    #[error("no such owner; it has released its slices, or is another memory's")]
    NoOwner,
    /// There is no memory for a list of the lines.
    #[error("no memory")]
    NoMemory(#[from] TryReserveError),
}
