//! What can go wrong. Each message says what was asked, what is wrong with it, and what is allowed.

use std::io;
use std::path::PathBuf;

/// Why an operation, or a client, failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An attribute of a queue.
    #[error("{}: {why}", path.display())]
    Attribute {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A queue that was asked for by name.
    #[error("{name}: no such work queue is enabled for user programs; {there}")]
    NoSuchQueue {
        /// The name.
        name: String,
        /// Those that there are.
        there: String,
    },
    /// A queue that cannot be opened.
    #[error("{}: {source}{advice}", path.display())]
    Open {
        /// Its file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
        /// What to do.
        advice: &'static str,
    },
    /// A file of thresholds.
    #[error("{}: {why}", path.display())]
    Thresholds {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A device was asked for, and there is none that can do it.
    #[error("{0}")]
    NoDevice(String),
    /// A device refused a descriptor.
    #[error("{words}")]
    Refused {
        /// The status of the completion record.
        status: u8,
        /// What it says, with the field that is at fault.
        words: String,
    },
    /// Memory that this process may not access.
    #[error(
        "{operation}: address {address:#x} cannot be {}: it is not mapped, or its protection forbids it",
        if *is_write { "written" } else { "read" }
    )]
    Fault {
        /// The operation.
        operation: &'static str,
        /// The first byte of the page.
        address: u64,
        /// Whether it was to be written.
        is_write: bool,
    },
    /// An operation that was interrupted where it cannot be repeated: source and destination overlap.
    #[error(
        "{operation}: the device failed ({why}) while it moved bytes within overlapping ranges; \
         both are damaged"
    )]
    Damaged {
        /// The operation.
        operation: &'static str,
        /// What the device said.
        why: &'static str,
    },
    /// Arguments that no device takes.
    #[error("{operation}: {why}")]
    Argument {
        /// The operation.
        operation: &'static str,
        /// What is wrong, and what is allowed.
        why: String,
    },
    /// A job that a process began before the fork that this one came of.
    #[error("the operation belongs to the parent of this process, which alone can wait for it")]
    Forked,
}

impl Error {
    /// The error number that says nearly the same, as C programs have it.
    #[must_use]
    pub fn errno(&self) -> i32 {
        match self {
            Self::Attribute { .. } | Self::Thresholds { .. } | Self::Argument { .. } => {
                libc::EINVAL
            }
            Self::NoSuchQueue { .. } | Self::NoDevice(_) => libc::ENODEV,
            Self::Open { source, .. } => source.raw_os_error().unwrap_or(libc::EIO),
            Self::Refused { .. } => libc::EBADMSG,
            Self::Fault { .. } => libc::EFAULT,
            Self::Damaged { .. } => libc::EIO,
            Self::Forked => libc::ECHILD,
        }
    }
}
