//! Reasons why a file cannot be written or used, as messages for users.

use inputs::foreign::Shown;
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Error of a file, with its path.
#[derive(Debug, Error)]
#[error("{}{separator}{reason}", Shown(path.display()), separator = reason.separator())]
pub struct DurableError {
    /// The file, as the caller named it, or a directory on the way to it.
    pub path: PathBuf,
    /// Reason why it cannot be written or used.
    pub reason: DurableReason,
}

/// Reason why a file cannot be written or used.
#[derive(Debug, Error)]
pub enum DurableReason {
    /// The system refuses.
    #[error("{0}")]
    System(io::Error),
    /// A link or pipe of another user is in the way.
    #[error("{0}")]
    Foreign(ForeignEntry),
    /// It is something that cannot be replaced by a file, nor written to: the words name it.
    #[error("is {0}")]
    NotReplaceable(&'static str),
    /// Its last name is that of a directory.
    #[error(
        "names a directory, by the `/` or `.` at its end: leave that out, or name a file in it"
    )]
    NamesDirectory,
    /// The file is the new one, but its directory could not be synced.
    #[error("is written, but its directory cannot be synced: {0}")]
    Unsynced(io::Error),
    /// Another user could have written it, or could put another file in its place; the words say how.
    #[error("{0}")]
    Distrusted(String),
    /// Another process has the lock; [`crate::lock::holder`] names it.
    #[error("another process has the lock")]
    Locked,
    /// Not a regular file.
    #[error("is not a regular file")]
    NotRegular,
    /// Longer than what is read.
    #[error("is longer than {limit_bytes} bytes")]
    TooLong {
        /// Greatest length that is read, in bytes.
        limit_bytes: u64,
    },
    /// Not UTF-8.
    #[error("is not valid UTF-8 text")]
    NotText,
    /// Not the JSON of the value that it should contain; the words of the parser.
    #[error("is damaged ({0})")]
    Damaged(String),
}

/// A link that is not followed, or a pipe that is not written to: another user has made it where others may
/// write, and could have chosen it for a program of root.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", message(self))]
pub struct ForeignEntry {
    /// Path of the link or pipe.
    pub path: PathBuf,
    /// Number of the user to whom it belongs.
    pub owner: u32,
    /// Target of the link; `None` for a pipe.
    pub target: Option<PathBuf>,
}

fn message(entry: &ForeignEntry) -> String {
    let (path, owner) = (Shown(entry.path.display()), entry.owner);
    match &entry.target {
        Some(target) => format!(
            "{path} is a link of user {owner} in a directory that others may write; it is not followed\n  \
             remedy: look at it; remove it, or name the file to which it leads ({})",
            Shown(target.display())
        ),
        None => format!(
            "{path} is a pipe of user {owner} in a directory that others may write; nothing is written to \
             it\n  remedy: look at it; remove it, or name another file"
        ),
    }
}

impl DurableReason {
    /// Text between the path and the reason: some reasons continue the sentence that the path begins.
    fn separator(&self) -> &'static str {
        match self {
            Self::System(_) | Self::Foreign(_) | Self::Locked => ": ",
            _ => " ",
        }
    }

    /// Number of the system's error; `None` for other reasons.
    #[must_use]
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::System(error) | Self::Unsynced(error) => Errno::from_io_error(error),
            _ => None,
        }
    }
}

impl DurableError {
    pub(crate) fn new(path: &Path, reason: DurableReason) -> Self {
        Self { path: path.to_path_buf(), reason }
    }

    pub(crate) fn system(path: &Path, error: impl Into<io::Error>) -> Self {
        Self::new(path, DurableReason::System(error.into()))
    }
}
