//! Journal of changes: an old value is on the disk before its control is written.
//!
//! One JSON file, replaced as a whole (written beside, synced, renamed, directory synced), so that a
//! crash leaves the old or the new one. An exclusive lock keeps a second tool away.

use std::os::fd::OwnedFd;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::controls::{NotAllowed, Target};
use crate::error::{FileError, Problem};
use crate::machine::Host;
use crate::root::Root;

/// Where the journal is, below the root.
pub const DEFAULT_STATE: &str = "var/lib/skipline-host";
const JOURNAL: &str = "journal.json";
/// One lock per machine, wherever journals are kept: all of them cover the same registers.
const LOCK: &str = "run/skipline-host.lock";
const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";

/// The state directory cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// the system refuses
    #[error("{0}")]
    File(#[from] FileError),
    /// the path is no directory that a journal could be in
    #[error("--state-dir \"{0}\": allowed is a directory for the journal, like {DEFAULT_STATE}")]
    BadDirectory(String),
    /// another tool holds the lock
    #[error("another skipline-host is changing this machine (it holds the lock {0}); wait for it")]
    Locked(String),
    /// the journal is damaged
    #[error(
        "{path} is damaged ({what}); nothing is written while it is: look at it, put the values back by hand, then remove it"
    )]
    Damaged {
        /// The journal.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// the journal names something that no plan would
    #[error("{path}: {error}; nothing was written")]
    NotAllowed {
        /// The journal.
        path: String,
        /// What it names.
        error: NotAllowed,
    },
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Seconds since 1970.
    pub time_unix_s: u64,
    /// The kernel's identifier of this boot.
    pub boot_id: String,
    /// What the user asked for.
    pub command: String,
    /// The control.
    pub target: Target,
    /// The value before.
    pub old: u64,
    /// The value that was asked for.
    pub asked: u64,
    /// The value that was read back; none if the tool died before, or nothing was to be written.
    pub read_back: Option<u64>,
}

impl Entry {
    /// Whether nothing was to be written: another change loses this value.
    #[must_use]
    pub fn is_only_kept(&self) -> bool {
        self.old == self.asked
    }
}

/// All changes that were not put back, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// The changes.
    pub entries: Vec<Entry>,
}

/// The directory of the journal, and the machine locked.
#[derive(Debug)]
pub struct StateDirectory<'a> {
    root: &'a Root,
    path: String,
    _lock: OwnedFd,
}

impl<'a> StateDirectory<'a> {
    /// Takes the machine's lock, which lasts as long as this value, and makes the directory if needed.
    ///
    /// # Errors
    /// If the system refuses or another tool has the lock.
    pub fn lock(root: &'a Root, path: &str) -> Result<Self, StateError> {
        let path = directory(path)?;
        root.make_directories("run")?;
        let lock = root.lock_file(LOCK)?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(StateError::Locked(root.shown(LOCK).display().to_string()));
            }
            Err(errno) => return Err(root.error(LOCK, Problem::of_errno(errno)).into()),
        }
        root.make_directories(path)?;
        Ok(Self { root, path: path.to_owned(), _lock: lock })
    }

    /// The journal; an empty one if there is none.
    ///
    /// # Errors
    /// If it cannot be read, is damaged, or names what may not be written.
    pub fn read(&self) -> Result<Journal, StateError> {
        read(self.root, &self.path)
    }

    /// Puts a journal on the disk; an empty one is removed.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&self, journal: &Journal) -> Result<(), StateError> {
        let path = format!("{}/{JOURNAL}", self.path);
        if journal.entries.is_empty() {
            return Ok(self.root.remove(&path)?);
        }
        let text = serde_json::to_string_pretty(journal)
            .map_err(|error| self.root.error(&path, Problem::Other(error.to_string())))?;
        Ok(self.root.replace(&path, &text)?)
    }
}

impl Journal {
    /// Reads the journal without locking, to show it.
    ///
    /// # Errors
    /// As [`StateDirectory::read`].
    pub fn peek(root: &Root, state: &str) -> Result<Self, StateError> {
        read(root, directory(state)?)
    }
}

fn directory(path: &str) -> Result<&str, StateError> {
    let path = path.trim_matches('/');
    let is_own = !["", ".", ".."].contains(&path.rsplit('/').next().unwrap_or_default());
    is_own.then_some(path).ok_or_else(|| StateError::BadDirectory(path.to_owned()))
}

fn read(root: &Root, directory: &str) -> Result<Journal, StateError> {
    let path = format!("{directory}/{JOURNAL}");
    let shown = || root.shown(&path).display().to_string();
    let text = match root.read_text(&path) {
        Ok(text) => text,
        Err(error) if error.problem == Problem::Missing => return Ok(Journal::default()),
        Err(error) => return Err(error.into()),
    };
    let journal: Journal = serde_json::from_str(&text)
        .map_err(|error| StateError::Damaged { path: shown(), what: error.to_string() })?;
    for entry in &journal.entries {
        entry.target.check().map_err(|error| StateError::NotAllowed { path: shown(), error })?;
    }
    Ok(journal)
}

/// Identifies this boot.
///
/// # Errors
/// If the kernel does not say: values of this boot and of another could not be told apart.
pub(super) fn boot_id(host: &Host) -> Result<String, FileError> {
    host.root.read_line(BOOT_ID)
}

pub(super) fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}
