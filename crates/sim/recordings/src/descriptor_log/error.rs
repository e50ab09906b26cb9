//! Faults of a log of descriptors, with the file, the line and what is allowed.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A log that was refused.
#[derive(Debug, Error)]
#[error("descriptor log '{}' {fault}", path.display())]
pub struct DescriptorLogError {
    /// Path of the file.
    pub path: PathBuf,
    /// Fault that was found in the file.
    pub fault: DescriptorLogFault,
}

/// The fault of a refused log; its text continues a sentence about the file.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message says what each field is")]
pub enum DescriptorLogFault {
    /// The file does not exist or may not be read.
    #[error("cannot be opened: {}", inputs::reason(.0))]
    CannotOpen(io::Error),

    /// Reading failed half-way.
    #[error("cannot be read from line {line} on: {error}")]
    CannotRead { line: u64, error: io::Error },

    /// A line that no writer writes: most likely the file is not a text.
    #[error("has in line {line} more than 4096 bytes; this is no log of descriptors")]
    LineTooLong { line: u64 },

    /// A line that is not a descriptor.
    #[error("has in line {line}: {problem} (docs/reference/descriptor-log.md has the format)")]
    BadLine { line: u64, problem: String },

    /// No descriptors at all.
    #[error("holds no descriptors")]
    Empty,
}
