//! What can be wrong with a file or a register of the machine.

use std::fmt::Display;
use std::io;

use rustix::io::Errno;

/// A file of the machine that could not be read or written.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{path}: {problem}")]
pub struct FileError {
    /// The file, with the directory of the tree before it.
    pub path: String,
    /// What is wrong.
    pub problem: Problem,
}

impl FileError {
    pub(crate) fn new(path: impl Display, problem: Problem) -> Self {
        Self { path: path.to_string(), problem }
    }
}

/// What is wrong with a file or register.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Problem {
    /// does not exist
    #[error("does not exist")]
    Missing,
    /// a part of the path is a file
    #[error("cannot be there: a part of its path is no directory")]
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
    /// what it gave says nothing about what it holds
    #[error(
        "gave {first:#x} and, read again, {second:#x}: a read clears it, or another program writes it"
    )]
    Unsteady {
        /// The first reading.
        first: u64,
        /// The second one.
        second: u64,
    },
    /// the kernel takes this value for invalid
    #[error("the kernel does not accept this value (invalid argument)")]
    Invalid,
    /// a loop of links
    #[error("is a loop of links")]
    Loop,
    /// not a regular file
    #[error("is not a regular file")]
    NotAFile,
    /// not text
    #[error("holds bytes that are no text")]
    NotText,
    /// too long
    #[error("is longer than {limit_bytes} bytes")]
    TooLong {
        /// Most that is read.
        limit_bytes: u64,
    },
    /// too many entries
    #[error("has more than {limit} entries")]
    TooMany {
        /// Most that are read.
        limit: usize,
    },
    /// ended too early
    #[error("gave {got} of {wanted} bytes")]
    ShortRead {
        /// Bytes that came.
        got: usize,
        /// Bytes that were asked for.
        wanted: usize,
    },
    /// took only a part
    #[error("took {got} of {wanted} bytes")]
    ShortWrite {
        /// Bytes that were taken.
        got: usize,
        /// Bytes that were given.
        wanted: usize,
    },
    /// not what belongs there
    #[error("holds \"{found}\" instead of {expected}")]
    Malformed {
        /// The beginning of what is there.
        found: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// any other error of the system
    #[error("{0}")]
    Other(String),
}

impl Problem {
    /// Whether kernel or hardware refuse, or nothing answers that could be set, rather than something
    /// being missing or damaged.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::NotPermitted
            | Self::ReadOnly
            | Self::Refused
            | Self::NoAnswer
            | Self::Unsteady { .. }
            | Self::Invalid => true,
            // So the kernel closes configuration space beyond what every user may read.
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
}
