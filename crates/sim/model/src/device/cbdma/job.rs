//! A descriptor in the work of a channel.
//!
//! Models: pieces of whole lines, asked for in order.
//! Source: Linux drivers/dma/ioat: a descriptor names one source and one destination.
//! Simplifies: operands begin at the start of a line.

use super::channel::CopyDescriptor;
use crate::device::dsa::portal::Phases;
use crate::fabric::Extent;
use units::{LINE_BYTES, LineAddr, Picos};

/// A descriptor that has been fetched and not completed.
#[derive(Clone, Copy, Debug)]
pub(super) struct CopyJob {
    pub descriptor: CopyDescriptor,
    /// The line of its ring entry.
    pub entry: LineAddr,
    /// Time from which the copy may ask for its first lines.
    pub ready: Picos,
    /// Number of lines asked for.
    pub issued: u64,
    /// Number of lines handed to their destination.
    pub handed: u64,
    pub phases: Phases,
}

/// Lines of a descriptor that are asked for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CopyPiece {
    pub channel: usize,
    /// Number of the descriptor in its channel.
    pub number: u64,
    /// First and last + 1 of the lines.
    pub from: u64,
    pub to: u64,
}

impl CopyJob {
    pub fn lines(&self) -> u64 {
        self.descriptor.bytes.div_ceil(LINE_BYTES)
    }

    /// The bytes of lines `from..to` of an operand.
    pub fn part(&self, first: LineAddr, from: u64, to: u64) -> Extent {
        let end = (to * LINE_BYTES).min(self.descriptor.bytes);
        Extent { first: first.step(from), bytes: end - from * LINE_BYTES }
    }

    /// Whether all of its data has been handed on.
    pub fn is_moved(&self) -> bool {
        self.handed == self.lines()
    }
}
