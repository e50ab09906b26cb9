//! Errors of files and registers of the machine.

use std::fmt::Display;
use std::io;

use durable::error::{DurableReason, ForeignEntry};
use rustix::io::Errno;

/// A file of the machine that could not be read or written.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{path}: {problem}")]
pub struct FileError {
    /// The file, with the directory of the tree before it.
    pub path: String,
    /// Reason why the file could not be read or written.
    pub problem: Problem,
}

impl FileError {
    pub(crate) fn new(path: impl Display, problem: Problem) -> Self {
        Self { path: path.to_string(), problem }
    }
}

/// Reason why a file or register cannot be read or written.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Problem {
    /// does not exist
    #[error("does not exist")]
    Missing,
    /// a component of the path is a file
    #[error("cannot exist: a component of its path is not a directory")]
    NoDirectory,
    /// not permitted
    #[error("not permitted")]
    NotPermitted,
    /// the file system is read-only
    #[error("the file system is read-only")]
    ReadOnly,
    /// the hardware or driver refused (EIO)
    #[error("the hardware or its driver refused (input/output error)")]
    Refused,
    /// a device that is off, removed or hung reads as all ones
    #[error("reads as all ones: the device or register does not answer")]
    NoAnswer,
    /// two reads gave different values, so neither is the register's setting
    #[error(
        "gave {first:#x} and, read again, {second:#x}: a read clears it, or another program writes it"
    )]
    Unsteady {
        /// The first reading.
        first: u64,
        /// The second one.
        second: u64,
    },
    /// the kernel rejects the value as invalid
    #[error("the kernel does not accept this value (invalid argument)")]
    Invalid,
    /// a loop of links
    #[error("is a loop of links")]
    Loop,
    /// not a regular file
    #[error("is not a regular file")]
    NotAFile,
    /// a link of another user, which is not followed
    #[error("{0}")]
    Foreign(ForeignEntry),
    /// not UTF-8
    #[error("is not valid UTF-8 text")]
    NotText,
    /// too long
    #[error("is longer than {limit_bytes} bytes")]
    TooLong {
        /// Greatest length that is read, in bytes.
        limit_bytes: u64,
    },
    /// too many entries
    #[error("has more than {limit} entries")]
    TooMany {
        /// Greatest number of entries that is read.
        limit: usize,
    },
    /// ended too early
    #[error("gave {got} of {wanted} bytes")]
    ShortRead {
        /// Bytes that were read.
        got: usize,
        /// Bytes that were requested.
        wanted: usize,
    },
    /// accepted only some of the bytes
    #[error("took {got} of {wanted} bytes")]
    ShortWrite {
        /// Bytes that were accepted.
        got: usize,
        /// Bytes that were written.
        wanted: usize,
    },
    /// content that the kernel does not write to such a file
    #[error("holds \"{found}\" instead of {expected}")]
    Malformed {
        /// First 40 characters of the content.
        found: String,
        /// Description of the expected content.
        expected: &'static str,
    },
    /// any other error of the system
    #[error("{0}")]
    Other(String),
}

impl Problem {
    /// Whether kernel or hardware refused the access or did not answer, as opposed to a file that is
    /// missing or damaged.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::NotPermitted
            | Self::ReadOnly
            | Self::Refused
            | Self::NoAnswer
            | Self::Unsteady { .. }
            | Self::Foreign(_)
            | Self::Invalid => true,
            // The kernel ends configuration space this way behind the bytes that every user may read.
            Self::ShortRead { got, .. } => *got == 0,
            _ => false,
        }
    }

    pub(crate) fn from_errno(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NXIO | Errno::NODEV => Self::Missing,
            Errno::NOTDIR => Self::NoDirectory,
            Errno::PERM | Errno::ACCESS => Self::NotPermitted,
            Errno::ROFS => Self::ReadOnly,
            Errno::IO => Self::Refused,
            Errno::INVAL => Self::Invalid,
            Errno::LOOP => Self::Loop,
            Errno::ISDIR => Self::NotAFile,
            other => Self::Other(io::Error::from(other).to_string()),
        }
    }

    pub(crate) fn from_io(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(errno) => Self::from_errno(errno),
            None => Self::Other(error.to_string()),
        }
    }

    pub(crate) fn from_durable(reason: DurableReason) -> Self {
        match reason {
            DurableReason::System(error) | DurableReason::Unsynced(error) => Self::from_io(&error),
            DurableReason::Foreign(entry) => Self::Foreign(entry),
            DurableReason::NotRegular => Self::NotAFile,
            DurableReason::TooLong { limit_bytes } => Self::TooLong { limit_bytes },
            DurableReason::NotText => Self::NotText,
            other => Self::Other(other.to_string()),
        }
    }
}
