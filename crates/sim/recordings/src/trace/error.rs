//! Faults of a trace, with the file, the position and what is allowed.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::{Compression, TraceFormat};

/// A trace that was refused.
#[derive(Debug, Error)]
#[error("trace '{}' {fault}", path.display())]
pub struct TraceError {
    /// The file, `-` for standard input.
    pub path: PathBuf,
    /// Fault that was found in the file.
    pub fault: TraceFault,
}

/// The fault of a refused trace; its text continues a sentence about the file.
///
/// Byte offsets refer to the unpacked content of the file.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message says what each field is")]
pub enum TraceFault {
    /// The file does not exist or may not be read.
    #[error("cannot be opened: {}", inputs::reason(.0))]
    CannotOpen(io::Error),

    /// A directory instead of a file.
    #[error("is a directory; expected is a file")]
    IsDirectory,

    /// Reading failed half-way.
    #[error("cannot be read beyond byte {offset}: {error}")]
    CannotRead { offset: u64, error: io::Error },

    /// The compressed data are damaged or truncated.
    #[error("cannot be unpacked ({compression}) beyond byte {offset} of its content: {error}")]
    CannotUnpack { compression: Compression, offset: u64, error: io::Error },

    /// A compression that is recognised and not supported.
    #[error("is packed by {name}, which cannot be unpacked here; gzip, xz, zstd and bzip2 can")]
    UnsupportedCompression { name: &'static str },

    /// Neither the name nor the content determines the format.
    #[error(
        "has {found}, and no name that tells its format (.din, .lackey, .champsim, \
         .champsimtrace, .raw64); choose one with --trace-format: din, lackey, champsim or raw64"
    )]
    UnknownFormat { found: &'static str },

    /// The trace holds no reference.
    #[error("holds no references; each line or record of a {format} trace is {}", format.grammar())]
    Empty { format: TraceFormat },

    /// Lines without a reference that no tool writes, and that could go on for hours.
    #[error(
        "has up to line {line} no reference in {limit_bytes} bytes; a line of a {format} trace is {}",
        format.grammar()
    )]
    NoReferences { line: u64, limit_bytes: u64, format: TraceFormat },

    /// A line that is not a reference.
    #[error(
        "has in line {line} '{text}': {problem}; a line of a {format} trace is {}",
        format.grammar()
    )]
    BadLine { line: u64, text: String, problem: &'static str, format: TraceFormat },

    /// A line that no tool writes: most likely the file is not a text.
    #[error("has in line {line} more than {limit_bytes} bytes; this is no {format} trace")]
    LineTooLong { line: u64, limit_bytes: usize, format: TraceFormat },

    /// A record that is not an instruction.
    #[error(
        "is damaged or no champsim trace: the record at byte {offset} has {field} {found}; \
         allowed are 0 and 1"
    )]
    BadRecord { offset: u64, field: &'static str, found: u8 },

    /// The file ends within a record.
    #[error("is truncated: at byte {offset} are {present} of {needed} bytes of a {format} record")]
    TruncatedRecord { offset: u64, present: usize, needed: usize, format: TraceFormat },

    /// A number that is not a kind of reference.
    #[error(
        "has at index {index} kind {number}; allowed are 0 (load), 1 (store), 2 (instruction fetch) \
         and 3 (modify)"
    )]
    BadKind { index: usize, number: u8 },

    /// A line number beyond 64-bit addresses.
    #[error("has at index {index} line {number}; allowed are lines below 2^58")]
    LineBeyondAddresses { index: usize, number: u64 },
}
