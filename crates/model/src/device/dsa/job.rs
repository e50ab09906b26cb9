//! A descriptor in the work of an engine: what of it has been asked for, and what has arrived.
//!
//! Models: pieces of lines that cross no page; the page of each operand and those behind it.
//! Source: Intel DSA specification, section 3.
//! Simplifies: an operand that is shorter than another (a delta record, protection information) moves in
//! proportion to it.

use super::PIECE_LINES;
use super::descriptor::{Descriptor, Operand, Operands};
use super::portal::{Phases, Status};
use crate::fabric::Extent;
use std::collections::VecDeque;
use units::{LINE_BYTES, LineAddr, Picos};

/// Number of a job in the instance.
pub(super) type JobId = usize;

/// Where a descriptor came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A work queue, with its number among the descriptors of that queue.
    Queue { portal: usize, group: usize, queue: usize, number: u64 },
    /// The list of a batch.
    Batch(JobId),
}

/// Members of a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Members {
    /// Not begun, in the order of the list.
    pub waiting: VecDeque<Descriptor>,
    /// Of these, how many have been fetched.
    pub fetched: usize,
    /// Begun and not ended.
    pub in_work: usize,
    /// Ended.
    pub ended: u64,
    /// One of them did not succeed.
    pub failed: bool,
}

/// A page whose translation an operand uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Translated {
    pub page: u64,
    pub ready: Picos,
}

/// A descriptor in work.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub descriptor: Descriptor,
    pub operands: Operands,
    pub origin: Origin,
    pub engine: usize,
    pub members: Option<Members>,
    /// Lines of its longest operand; fewer if a page of them is absent.
    pub lines: u64,
    /// Lines asked for.
    pub issued: u64,
    /// Lines handed to their destination.
    pub handed: u64,
    /// Current page of each operand, in the order of [`Operands::all`], and those behind it.
    pub pages: [VecDeque<Translated>; 4],
    pub status: Status,
    pub phases: Phases,
}

/// Lines of a job that are asked for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Piece {
    pub job: JobId,
    /// First and last + 1 of the lines.
    pub from: u64,
    pub to: u64,
    pub buffers: u32,
}

impl Job {
    pub(super) fn new(
        descriptor: Descriptor,
        members: Option<Members>,
        origin: Origin,
        engine: usize,
        phases: Phases,
    ) -> Self {
        // A batch has no operands of its own: its list is fetched.
        let operands = if members.is_some() { Operands::default() } else { descriptor.operands() };
        Self {
            lines: operands.lines(),
            descriptor,
            operands,
            origin,
            engine,
            members,
            issued: 0,
            handed: 0,
            pages: Default::default(),
            status: Status::Success,
            phases,
        }
    }

    /// The part of an operand that belongs to the job's lines `from..to`.
    pub(super) fn part(&self, operand: Operand, from: u64, to: u64) -> Extent {
        let lines = operand.bytes.div_ceil(LINE_BYTES);
        let scaled = |line: u64| line * lines / self.lines_of_all();
        let (first, end) = (scaled(from), scaled(to));
        let bytes = (end * LINE_BYTES).min(operand.bytes) - (first * LINE_BYTES).min(operand.bytes);
        Extent { first: operand.first.step(first), bytes }
    }

    /// The line of an operand that belongs to the job's line `from`.
    pub(super) fn line_of(&self, operand: Operand, from: u64) -> LineAddr {
        let lines = operand.bytes.div_ceil(LINE_BYTES);
        operand.first.step(from * lines / self.lines_of_all())
    }

    /// The end of the next piece: no operand crosses a page in it.
    pub(super) fn piece_end(&self, page_lines: u64) -> u64 {
        let left = |operand: Operand| {
            let line = self.line_of(operand, self.issued);
            page_lines - line.0 % page_lines
        };
        let whole = self.operands.all().map(left).min().unwrap_or(PIECE_LINES);
        self.lines.min(self.issued + whole.min(PIECE_LINES))
    }

    /// Lines of the whole descriptor, also after a fault has cut it.
    fn lines_of_all(&self) -> u64 {
        self.operands.lines()
    }

    /// Bytes of the longest operand that are done.
    pub(super) fn bytes_done(&self) -> u64 {
        let longest = self.operands.all().map(|operand| operand.bytes).max().unwrap_or(0);
        (self.handed * LINE_BYTES).min(longest)
    }
}
