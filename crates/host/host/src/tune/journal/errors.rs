//! Errors of the state directory and of the journal in it.

use super::DEFAULT_STATE;
use crate::controls::NotAllowedError;
use crate::error::{FileError, Problem};
use crate::root::Root;
use durable::error::{DurableError, DurableReason};
use durable::lock::{self, LockHolder};

/// Error of the state directory, the lock or the journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// the system refuses
    #[error("{0}")]
    File(#[from] FileError),
    /// the path cannot be a directory for a journal
    #[error("--state-dir \"{0}\": allowed is a directory for the journal, like {DEFAULT_STATE}")]
    BadDirectory(String),
    /// another tool holds the lock
    #[error(
        "another skipline-host is changing this machine (it holds the lock {path}{}); wait for it", by(.holder)
    )]
    Locked {
        /// Path of the lock.
        path: String,
        /// The process; `None` if it is not seen.
        holder: Option<LockHolder>,
    },
    /// another user may have put or changed the journal
    #[error(
        "{path} {what}: another user could choose what is written to registers; nothing was written\n  \
         remedy: look at it; only root may own and write it (chown root, chmod go-w)"
    )]
    Distrusted {
        /// The journal or its directory.
        path: String,
        /// The reason, to follow the path.
        what: String,
    },
    /// another program holds resctrl's lock
    #[error(
        "another program is changing the groups of cache allocation (it holds the lock of {path}{}); wait \
         for it, or end it: any user can take this lock",
        by(.holder)
    )]
    ResctrlLocked {
        /// Path of the directory that is locked.
        path: String,
        /// The process; `None` if it is not seen.
        holder: Option<LockHolder>,
    },
    /// a change would make the journal longer than it may be
    #[error(
        "{path} would be longer than {limit_bytes} bytes with this change, which was not made\n  remedy: \
         skipline-host restore; what it cannot put back leaves the journal with --forget"
    )]
    Full {
        /// Path of the journal.
        path: String,
        /// Greatest length in bytes.
        limit_bytes: usize,
    },
    /// the journal is damaged
    #[error(
        "{path} is damaged ({what}); nothing is written while it is: look at it, put the values back by hand, then remove it"
    )]
    Damaged {
        /// Path of the journal.
        path: String,
        /// The reason, to follow the path.
        what: String,
    },
    /// the journal names a control that is not on the allow-list
    #[error("{path}: {error}; nothing was written")]
    NotAllowed {
        /// Path of the journal.
        path: String,
        /// The control.
        error: NotAllowedError,
    },
}

impl StateError {
    /// The error of a file of this tool; `path` is the one below the root.
    pub(super) fn from_durable(root: &Root, path: &str, error: DurableError) -> Self {
        let shown = error.path.display().to_string();
        match error.reason {
            DurableReason::Locked => {
                let holder = lock::holder_at(&error.path);
                Self::Locked { path: shown, holder }
            }
            DurableReason::Distrusted(what) => Self::Distrusted { path: shown, what },
            DurableReason::Damaged(what) => Self::Damaged { path: shown, what },
            reason => root.error(path, Problem::from_durable(reason)).into(),
        }
    }
}

/// Words for the process that holds a lock, to follow the lock.
fn by(holder: &Option<LockHolder>) -> String {
    holder.as_ref().map_or_else(String::new, |holder| format!(": {holder}"))
}
