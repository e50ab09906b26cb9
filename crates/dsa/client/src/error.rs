//! Errors. Each message names the request, what is wrong with it, and what is allowed.

use std::io;
use std::path::PathBuf;

/// Why an operation, or a client, failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An attribute of an enabled queue cannot be read, or is not valid.
    #[error("{}: {why}", path.display())]
    Attribute {
        /// File of the attribute.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// A queue that the options name is not enabled for user programs.
    #[error("{name}: no such work queue is enabled for user programs; {known}")]
    NoSuchQueue {
        /// Name in the options.
        name: String,
        /// The queues that are enabled, in words.
        known: String,
    },
    /// A queue cannot be opened.
    #[error("{}: {source}{advice}", path.display())]
    Open {
        /// File of the queue.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
        /// Advice: what the user can do.
        advice: &'static str,
    },
    /// A file of thresholds cannot be read, or is not valid.
    #[error("{}: {why}", path.display())]
    Thresholds {
        /// Path of the file.
        path: PathBuf,
        /// The problem, with the line or the key.
        why: String,
    },
    /// The path is [`Path::Device`](crate::options::Path::Device), and no queue takes the operation.
    #[error("{0}")]
    NoDevice(String),
    /// The CPU, or a device, refuses a descriptor of the operation.
    #[error("{words}")]
    Refused {
        /// Status of the completion record.
        status: u8,
        /// The completion record in words, with the field at fault.
        words: String,
    },
    /// The operation uses memory that this process may not access.
    #[error(
        "{operation}: address {address:#x} cannot be {}: it is not mapped, or its protection forbids it",
        if *is_write { "written" } else { "read" }
    )]
    Fault {
        /// Name of the operation.
        operation: &'static str,
        /// Address of the first byte of the page.
        address: u64,
        /// Whether the access was a write.
        is_write: bool,
    },
    /// The device failed in the middle of a copy within overlapping ranges, which cannot be repeated. Both
    /// ranges are damaged.
    #[error(
        "{operation}: the device failed ({why}) while it moved bytes within overlapping ranges; \
         both are damaged"
    )]
    Damaged {
        /// Name of the operation.
        operation: &'static str,
        /// Failure of the device, in words.
        why: &'static str,
    },
    /// The arguments of an operation are not valid on any device.
    #[error("{operation}: {why}")]
    Argument {
        /// Name of the operation.
        operation: &'static str,
        /// The problem, and what is allowed.
        why: String,
    },
    /// The job was begun by the parent of this process.
    #[error("the operation belongs to the parent of this process, which alone can wait for it")]
    Forked,
}

impl Error {
    /// The errno that is closest to the error, for C programs.
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
