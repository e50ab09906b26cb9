//! Queues in host memory: the entries that driver and SSD exchange, and their lines.
//!
//! Models: submission entries, completion entries with phase, PRP lists.
//! Source: NVM Express base specification: 64 B and 16 B entries; two PRPs in the command, more
//! of them in a list of 8 B each.
//! Simplifies: doorbells are times, not transfers on the link; PRP lists have one page at most.
//!
//! The content is kept apart from the caches, as for the rings of a NIC.

use crate::device::DeviceQueues;
use crate::device::queues::{QueueId, Queues};
use crate::device::ring::Ring;
use std::collections::VecDeque;
use units::{LINE_BYTES, LineAddr, Picos};

/// Bytes of a submission entry.
pub const SUBMISSION_BYTES: u64 = 64;
/// Bytes of a completion entry.
pub const COMPLETION_BYTES: u64 = 16;
/// Memory that one PRP names; a command's data moves in pieces of this size.
pub const PAGE_BYTES: u64 = 4096;
/// Number of lines of a page.
pub const PAGE_LINES: u64 = PAGE_BYTES / LINE_BYTES;
/// Bytes of a PRP.
const PRP_BYTES: u64 = 8;
/// PRPs inside a command.
const PRPS_IN_COMMAND: u64 = 2;
/// The largest block: its PRP list fills a page.
pub const MAX_BLOCK_BYTES: u64 = PAGE_BYTES * PAGE_BYTES / PRP_BYTES;

/// Operation of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opcode {
    /// From the media to host memory.
    Read,
    /// From host memory to the media.
    Write,
}

/// A command as its submission entry states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Identifier that the completion repeats.
    pub id: u16,
    /// Operation of the command.
    pub opcode: Opcode,
    /// First page on the media, in units of [`PAGE_BYTES`].
    pub first_page: u64,
    /// First line of each page of the buffer.
    pub pages: Vec<LineAddr>,
    /// First line of the PRP list, if the command needs one.
    pub prp_list: LineAddr,
}

impl Command {
    /// Bytes of the PRP list of a command over `pages` pages: none if its two PRPs are enough.
    #[must_use]
    pub fn prp_list_bytes(pages: u64) -> u64 {
        if pages <= PRPS_IN_COMMAND { 0 } else { (pages - 1) * PRP_BYTES }
    }

    /// Bytes that the command moves.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.pages.len() as u64 * PAGE_BYTES
    }
}

/// A command in the submission queue.
#[derive(Clone, Debug)]
pub struct NvmeSubmission {
    /// Time at which the controller learns of the submission.
    pub visible: Picos,
    /// Index of its entry, without wrap-around.
    pub entry: u64,
    /// Content of the entry.
    pub command: Command,
}

/// A completion entry that the controller has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvmeCompletion {
    /// Time from which the completion is visible to the driver.
    pub visible: Picos,
    /// The line that contains the completion entry.
    pub line: LineAddr,
    /// Phase bit, inverted on every pass through the queue.
    pub phase: bool,
    /// Identifier of the completed command.
    pub id: u16,
}

/// The queues of one core.
#[derive(Clone, Debug)]
pub struct NvmeQueuePair {
    /// Ring of submission entries in memory.
    pub submissions: Ring,
    /// Ring of completion entries in memory.
    pub completions: Ring,
    /// Commands that the controller has not fetched.
    pub posted: VecDeque<NvmeSubmission>,
    /// Completions that the driver has not read.
    pub completed: VecDeque<NvmeCompletion>,
}

impl Queues {
    /// The queue pair of an SSD.
    ///
    /// # Panics
    /// If the queue belongs to another kind of device, which is a bug of the caller.
    pub fn nvme_pair(&mut self, id: QueueId) -> &mut NvmeQueuePair {
        let DeviceQueues::Nvme(pairs) = self.device_mut(id.device) else {
            panic!("{id:?} belongs to no SSD")
        };
        &mut pairs[id.index()]
    }
}

/// The phase of completion entry `entry`, counted without wrap-around: set in the first pass.
#[must_use]
pub fn phase_of(ring: &Ring, entry: u64) -> bool {
    (entry / u64::from(ring.entries)).is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_completions_share_a_line_and_the_phase_turns_over_with_the_round() {
        let ring = Ring { first: LineAddr(7), entries: 8, entry_bytes: COMPLETION_BYTES };
        let lines: Vec<u64> = (0..9).map(|entry| ring.line_of(entry).0).collect();
        assert_eq!(lines, [7, 7, 7, 7, 8, 8, 8, 8, 7]);
        let phases: Vec<bool> = [0, 7, 8, 15, 16].map(|entry| phase_of(&ring, entry)).to_vec();
        assert_eq!(phases, [true, true, false, false, true]);
    }

    #[test]
    fn two_pages_need_no_list_and_the_largest_block_fills_one_page_of_it() {
        assert_eq!(Command::prp_list_bytes(2), 0);
        assert_eq!(Command::prp_list_bytes(32), 31 * 8);
        assert_eq!(MAX_BLOCK_BYTES, 2 << 20);
        assert!(Command::prp_list_bytes(MAX_BLOCK_BYTES / PAGE_BYTES) <= PAGE_BYTES);
    }
}
