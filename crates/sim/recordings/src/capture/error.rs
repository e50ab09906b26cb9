//! Faults of a capture, with the file, the position and what is allowed.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error as ThisError;

use super::{MAX_CAPTURED_BYTES, MAX_FLOWS, MAX_PACKETS};
use crate::compression::Compression;

/// A capture that was refused.
#[derive(Debug, ThisError)]
#[error("capture '{}' {fault}", path.display())]
pub struct CaptureError {
    /// Path of the file.
    pub path: PathBuf,
    /// Fault that was found in the file.
    pub fault: CaptureFault,
}

impl CaptureFault {
    /// Whether the file ends within a record behind others, which [`super::CutShort::Read`] returns.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        match self {
            Self::TruncatedRecord { position, .. } => position.packet != Some(1),
            Self::CannotUnpack { error, .. } => ends_early(error),
            _ => false,
        }
    }

    /// The record within which the file ends, if this fault is its end; packet `next` would follow.
    pub(super) fn end_of_cut_file(&self, next: u64) -> Option<RecordPosition> {
        match self {
            Self::TruncatedRecord { position, .. } => Some(*position),
            Self::CannotUnpack { offset, error, .. } if ends_early(error) => {
                Some(RecordPosition { offset: *offset, packet: Some(next) })
            }
            _ => None,
        }
    }
}

/// The record or block of a capture file that a fault is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPosition {
    /// Byte offset of the record or block.
    pub offset: u64,
    /// Number of the packet, from 1 as other tools count; `None` if the block is not a packet.
    pub packet: Option<u64>,
}

impl fmt::Display for RecordPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.packet {
            Some(packet) => write!(f, "packet {packet} at byte {}", self.offset),
            None => write!(f, "block at byte {}", self.offset),
        }
    }
}

/// The fault of a refused capture; its text continues a sentence about the file.
#[derive(Debug, ThisError)]
#[expect(missing_docs, reason = "the message says what each field is")]
pub enum CaptureFault {
    /// The file does not exist or may not be read.
    #[error("cannot be opened: {}", inputs::reason(.0))]
    CannotOpen(io::Error),

    /// Reading failed half-way.
    #[error("cannot be read beyond byte {offset}: {error}")]
    CannotRead { offset: u64, error: io::Error },

    /// No bytes at all.
    #[error("is empty; expected is a pcap or pcapng file")]
    Empty,

    /// The compressed data are damaged or truncated.
    #[error("cannot be unpacked ({compression}) beyond byte {offset} of its content: {error}")]
    CannotUnpack { compression: Compression, offset: u64, error: io::Error },

    /// A compression that is recognised and not supported.
    #[error("is packed by {name}, which cannot be unpacked here; gzip, xz, zstd and bzip2 can")]
    UnsupportedCompression { name: &'static str },

    /// Neither pcap nor pcapng.
    #[error(
        "starts with {found:#010x}, which is no known capture format; known are \
         pcap with microseconds (0xa1b2c3d4, 0xd4c3b2a1), \
         pcap with nanoseconds (0xa1b23c4d, 0x4d3cb2a1) and pcapng (0x0a0d0d0a)"
    )]
    WrongMagic { found: u32 },

    /// The file ends before its first record.
    #[error("ends within its header: {present} of {needed} bytes are there")]
    TruncatedHeader { present: u64, needed: u64 },

    /// The file ends within a record.
    #[error("is truncated: {position} needs {needed} bytes, {present} are there")]
    TruncatedRecord { position: RecordPosition, present: u64, needed: u64 },

    /// A packet claims more captured bytes than any tool captures.
    #[error(
        "is damaged: {position} claims {captured_bytes} captured bytes; allowed are \
         {MAX_CAPTURED_BYTES}"
    )]
    OversizedRecord { position: RecordPosition, captured_bytes: u64 },

    /// A pcapng block that must be held in memory is longer than any real block.
    #[error("is damaged: {position} claims {block_bytes} bytes; allowed are {limit_bytes}")]
    OversizedBlock { position: RecordPosition, block_bytes: u32, limit_bytes: u32 },

    /// A record that contradicts itself or its format.
    #[error("is damaged: {position}: {problem}")]
    Malformed { position: RecordPosition, problem: String },

    /// All packets are of interfaces whose link type is unsupported.
    #[error(
        "has link type {number} ({name}){}; supported are 1 (Ethernet), 12, 14, 101, 228 and 229 (raw \
         IP), 113 and 276 (Linux cooked, SLL and SLL2), 0 and 108 (null and loopback)",
        in_record(position.as_ref())
    )]
    UnsupportedLinkType { position: Option<RecordPosition>, number: u32, name: String },

    /// A pcapng interface whose clock has an unsupported unit.
    #[error(
        "has timestamps in units of {base}^-{exponent} s in {position}; \
         supported are 10^-0 to 10^-19 s and 2^-0 to 2^-63 s"
    )]
    UnknownTimestampUnit { position: RecordPosition, base: u8, exponent: u8 },

    /// More packets than are kept in memory.
    #[error(
        "has more than {MAX_PACKETS} packets, which is the most that is kept in memory; \
         `editcap -r FILE PART 1-{MAX_PACKETS}` makes a part of it"
    )]
    TooManyPackets,

    /// More flows than are kept in memory.
    #[error("has more than {MAX_FLOWS} flows, which is the most that is kept in memory; filter it")]
    TooManyFlows,

    /// Longer than simulated time can last.
    #[error(
        "spans {days} days from first to last packet, times without a packet shortened; at most 106 days can \
         be replayed: traffic.scale_to_gbps replays it at another rate, a smaller traffic.longest_gap_s \
         shortens more"
    )]
    TooLong { days: u64 },

    /// A valid file without packets.
    #[error("holds no packets")]
    NoPackets,
}

/// Whether compressed data end before their end mark; some decoders wrap that in errors of their own.
fn ends_early(error: &io::Error) -> bool {
    let mut cause = error.get_ref().map(|inner| inner as &(dyn Error + 'static));
    let mut is_end = error.kind() == io::ErrorKind::UnexpectedEof;
    while let Some(error) = cause {
        let inner = error.downcast_ref::<io::Error>();
        is_end |= inner.is_some_and(|inner| inner.kind() == io::ErrorKind::UnexpectedEof);
        cause = error.source();
    }
    is_end
}

/// A record as the end of a phrase; empty without one.
fn in_record(position: Option<&RecordPosition>) -> String {
    position.map_or_else(String::new, |position| format!(" in {position}"))
}
