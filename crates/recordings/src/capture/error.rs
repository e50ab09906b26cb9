//! Faults of a capture, with the file, the position and what is allowed.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::MAX_CAPTURED_BYTES;

/// A capture that was refused.
#[derive(Debug, Error)]
#[error("capture '{}' {fault}", path.display())]
pub struct CaptureError {
    /// The file.
    pub path: PathBuf,
    /// The fault.
    pub fault: CaptureFault,
}

impl CaptureFault {
    /// Whether the file ends within a record behind others, which [`super::CutShort::Read`] returns.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        matches!(self, Self::TruncatedRecord { position, .. } if position.packet != Some(1))
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
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message says what each field is")]
pub enum CaptureFault {
    /// The file does not exist or may not be read.
    #[error("cannot be opened: {0}")]
    CannotOpen(io::Error),

    /// Reading failed half-way.
    #[error("cannot be read beyond byte {offset}: {error}")]
    CannotRead { offset: u64, error: io::Error },

    /// No bytes at all.
    #[error("is empty; expected is a pcap or pcapng file")]
    Empty,

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

    /// A packet claims more captured bytes than the capture allows.
    #[error(
        "is damaged: {position} claims {captured_bytes} captured bytes; allowed are {limit_bytes} \
         (the file's snap length, at most {MAX_CAPTURED_BYTES})"
    )]
    OversizedRecord { position: RecordPosition, captured_bytes: u64, limit_bytes: u32 },

    /// A pcapng block that must be held in memory is longer than any real block.
    #[error("is damaged: {position} claims {block_bytes} bytes; allowed are {limit_bytes}")]
    OversizedBlock { position: RecordPosition, block_bytes: u32, limit_bytes: u32 },

    /// A record that contradicts itself or its format.
    #[error("is damaged: {position}: {problem}")]
    Malformed { position: RecordPosition, problem: String },

    /// Packets of an interface whose link type is unsupported.
    #[error(
        "has link type {number} ({name}) in {position}; supported are 1 (Ethernet), \
         101 (raw IP), 113 and 276 (Linux cooked, SLL and SLL2) and 0 (null/loopback)"
    )]
    UnsupportedLinkType { position: RecordPosition, number: u32, name: String },

    /// A pcapng interface whose clock has an unsupported unit.
    #[error(
        "has timestamps in units of {base}^-{exponent} s in {position}; \
         supported are 10^-0 to 10^-12 s and 2^-0 to 2^-63 s"
    )]
    UnknownTimestampUnit { position: RecordPosition, base: u8, exponent: u8 },

    /// The obsolete pcapng packet block, whose times cannot be read reliably.
    #[error(
        "has an obsolete pcapng packet block: {position}; enhanced and simple packet blocks are \
         supported (`editcap -F pcapng` converts)"
    )]
    ObsoletePacketBlock { position: RecordPosition },

    /// Longer than simulated time can last.
    #[error("spans {days} days from first to last packet; at most 213 days can be replayed")]
    TooLong { days: u64 },

    /// A valid file without packets.
    #[error("holds no packets")]
    NoPackets,
}
