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

/// Progress of a batch: its members that wait, are in work or have ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Members {
    /// Members that have not begun, in the order of the list.
    pub waiting: VecDeque<Descriptor>,
    /// Number of the waiting members that have been fetched.
    pub fetched: usize,
    /// Number of members that have begun and not ended.
    pub in_work: usize,
    /// Number of members that have ended.
    pub ended: u64,
    /// Whether a member did not succeed.
    pub failed: bool,
}

/// A page whose translation an operand uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeptTranslation {
    pub page: u64,
    pub ready: Picos,
}

/// A descriptor that an engine processes, and how far it has come.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub descriptor: Descriptor,
    pub operands: Operands,
    pub origin: Origin,
    pub engine: usize,
    pub members: Option<Members>,
    /// Lines of its longest operand.
    all_lines: u64,
    /// Number of lines of the longest operand that are moved: fewer than all if a page of them is
    /// absent.
    pub lines: u64,
    /// Number of lines that are read, or take a buffer all the same, for each of `lines`.
    pub sources: u64,
    /// Number of lines asked for.
    pub issued: u64,
    /// Number of lines handed to their destination.
    pub handed: u64,
    /// Lines below this one lie in pages whose translations have arrived.
    pub translated_to: u64,
    /// Current page of each operand, in the order of [`Operands::all`], and those behind it.
    pub pages: [VecDeque<KeptTranslation>; 4],
    pub status: Status,
    pub phases: Phases,
}

/// Lines of a job that are asked for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub job: JobId,
    /// First and last + 1 of the lines.
    pub from: u64,
    pub to: u64,
    pub buffers: u32,
}

/// The memory of a piece that its operation reads or writes: at most two ranges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extents {
    each: [Extent; 2],
    count: usize,
}

impl Extents {
    fn push(&mut self, extent: Extent) {
        if extent.bytes > 0 {
            self.each[self.count] = extent;
            self.count += 1;
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.iter().map(|extent| extent.bytes).sum()
    }
}

impl std::ops::Deref for Extents {
    type Target = [Extent];

    fn deref(&self) -> &[Extent] {
        &self.each[..self.count]
    }
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
            all_lines: operands.lines(),
            sources: operands.reads.iter().flatten().count().max(1) as u64,
            descriptor,
            operands,
            origin,
            engine,
            members,
            issued: 0,
            handed: 0,
            translated_to: 0,
            pages: Default::default(),
            status: Status::Success,
            phases,
        }
    }

    /// The part of an operand that belongs to the job's lines `from..to`.
    pub(super) fn part(&self, operand: Operand, from: u64, to: u64) -> Extent {
        let (first, end) = (self.scaled(operand, from), self.scaled(operand, to));
        let bytes = (end * LINE_BYTES).min(operand.bytes) - (first * LINE_BYTES).min(operand.bytes);
        Extent { first: operand.first.step(first), bytes }
    }

    /// The number of an operand's line that belongs to the job's line `line`.
    fn scaled(&self, operand: Operand, line: u64) -> u64 {
        let lines = operand.bytes.div_ceil(LINE_BYTES);
        if lines == self.all_lines { line } else { line * lines / self.all_lines }
    }

    /// The line of an operand that belongs to the job's line `from`.
    pub(super) fn line_of(&self, operand: Operand, from: u64) -> LineAddr {
        operand.first.step(self.scaled(operand, from))
    }

    /// The first line from `self.issued` on with which an operand enters another page.
    pub(super) fn page_end(&self, page_lines: u64) -> u64 {
        let left = |operand: Operand| {
            let line = self.line_of(operand, self.issued);
            page_lines - line.0 % page_lines
        };
        self.issued + self.operands.all().map(left).min().unwrap_or(PIECE_LINES)
    }

    /// The end of the next piece, whose pages are translated: no operand crosses a page in it.
    pub(super) fn piece_end(&self) -> u64 {
        self.lines.min(self.issued + PIECE_LINES).min(self.translated_to)
    }

    /// The parts of operands that belong to the job's lines `from..to`.
    pub(super) fn extents(&self, operands: [Option<Operand>; 2], from: u64, to: u64) -> Extents {
        let nothing = Extent { first: LineAddr(0), bytes: 0 };
        let mut extents = Extents { each: [nothing; 2], count: 0 };
        for &operand in operands.iter().flatten() {
            extents.push(self.part(operand, from, to));
        }
        extents
    }

    /// Bytes of the longest operand that are done.
    pub(super) fn bytes_done(&self) -> u64 {
        let longest = self.operands.all().map(|operand| operand.bytes).max().unwrap_or(0);
        (self.handed * LINE_BYTES).min(longest)
    }
}
