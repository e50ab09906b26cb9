//! Errors of allocations.

use std::collections::TryReserveError;
use units::LINE_BYTES;

/// Error of an attempt to allocate or free lines or objects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocationError {
    /// The slices have too few free lines.
    #[error("{wanted} lines wanted, {free} free in the slices asked for; add huge pages")]
    Exhausted {
        /// Number of lines that were requested.
        wanted: usize,
        /// Number of free lines of those slices.
        free: usize,
    },
    /// The slice does not exist.
    #[error("no slice {slice}; allowed: 0 to {}", slices - 1)]
    NoSlice {
        /// The slice.
        slice: u16,
        /// Number of slices.
        slices: u32,
    },
    /// The address is not one that this memory has allocated.
    #[error("nothing is handed out at virtual address {0:#x}")]
    NotAllocated(u64),
    /// The object is larger than a line: only an object within one line is in one slice as a whole.
    #[error("{0} bytes; allowed: up to {LINE_BYTES}, a line; take a scattered or linked buffer")]
    TooLarge(u64),
    /// The owner does not exist in this memory, or has released its slices.
    #[error("no such owner; it has released its slices, or is another memory's")]
    NoOwner,
    /// The system has no memory for a list of the lines.
    #[error("no memory")]
    NoMemory(#[from] TryReserveError),
}
