//! A channel in shared memory from one rank to another.
//!
//! Models: bounce buffers ("segments") that the sender fills in turn and the receiver empties; or the
//! receiver's own buffer, which the sender writes directly; two lines with counts, which both ranks poll.
//! Source: libfabric's shared-memory provider (segmentation and reassembly) and remote memory access.
//! Simplifies: the receiver has posted its buffer whenever a message begins. The content is kept apart from
//! the caches, as for the rings of a NIC.

use model::core::Core;
use model::fabric::Fabric;
use model::tracer::Tracer;
use std::collections::VecDeque;
use units::{LINE_BYTES, LineAddr, Picos};

/// Where the sender writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Bounce buffers.
    Segments(Vec<LineAddr>),
    /// The receiver's buffer.
    Direct(LineAddr),
}

/// A channel that two ranks share: its segments, and how far they are filled and emptied.
#[derive(Debug)]
pub struct MessageChannel {
    target: Target,
    segment_bytes: u64,
    /// Lines of the counts of filled and of emptied segments.
    filled_line: LineAddr,
    emptied_line: LineAddr,
    /// When each filled segment is visible, and its bytes.
    filled: VecDeque<(Picos, u64)>,
    /// When each emptied segment is visible to the sender.
    emptied: VecDeque<Picos>,
    /// Segments that the sender has begun to fill, and the receiver to empty.
    next_fill: u64,
    next_drain: u64,
}

impl MessageChannel {
    /// An empty channel.
    #[must_use]
    pub fn new(
        target: Target,
        segment_bytes: u64,
        (filled_line, emptied_line): (LineAddr, LineAddr),
    ) -> Self {
        let free = match &target {
            Target::Segments(segments) => segments.len(),
            Target::Direct(_) => 0,
        };
        Self {
            target,
            segment_bytes,
            filled_line,
            emptied_line,
            filled: VecDeque::new(),
            emptied: std::iter::repeat_n(Picos::ZERO, free).collect(),
            next_fill: 0,
            next_drain: 0,
        }
    }

    /// Bytes of the piece of a message of `bytes` that begins at `offset`.
    #[must_use]
    pub fn piece(&self, offset: u64, bytes: u64) -> u64 {
        self.segment_bytes.min(bytes - offset)
    }

    /// The sender takes the line from which on it writes the piece at `offset`, if there is room.
    pub fn begin_fill<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        offset: u64,
    ) -> Option<LineAddr> {
        match &self.target {
            Target::Direct(first) => Some(first.step(offset / LINE_BYTES)),
            Target::Segments(segments) => {
                core.load(fabric, self.emptied_line);
                self.emptied.front().filter(|visible| **visible <= core.now())?;
                self.emptied.pop_front();
                let number = self.next_fill % segments.len() as u64;
                self.next_fill += 1;
                Some(segments[units::narrow::usize_from(number)])
            }
        }
    }

    /// The sender has filled the next piece.
    pub fn end_fill<T: Tracer>(&mut self, core: &mut Core, fabric: &mut Fabric<T>, bytes: u64) {
        let visible = core.store(fabric, self.filled_line);
        self.filled.push_back((visible, bytes));
    }

    /// The receiver takes the next filled piece: its first line and bytes. A piece that was written directly
    /// needs no copy and has no line.
    pub fn begin_drain<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
    ) -> Option<(Option<LineAddr>, u64)> {
        core.load(fabric, self.filled_line);
        self.filled.front().filter(|(visible, _)| *visible <= core.now())?;
        let (_, bytes) = self.filled.pop_front()?;
        let line = match &self.target {
            Target::Direct(_) => None,
            Target::Segments(segments) => {
                let number = self.next_drain % segments.len() as u64;
                Some(segments[units::narrow::usize_from(number)])
            }
        };
        self.next_drain += 1;
        Some((line, bytes))
    }

    /// The receiver has emptied a segment.
    pub fn end_drain<T: Tracer>(&mut self, core: &mut Core, fabric: &mut Fabric<T>) {
        let visible = core.store(fabric, self.emptied_line);
        self.emptied.push_back(visible);
    }
}
