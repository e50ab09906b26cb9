//! Journal of changes: the old value is on the disk before a control is written.
//!
//! One JSON file, replaced as a whole (`durable::journal`), so that a crash leaves the old or the new one. An
//! exclusive lock excludes a second tool. The journal is shortened before each change, so that it grows with
//! the number of controls and not of changes.

mod chain;
mod compact;
mod errors;
mod other_directories;

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use durable::error::DurableError;
use durable::journal::JournalFile;
use durable::lock;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::control_files::RESCTRL_MOUNT;
use crate::controls::ControlTarget;
use crate::error::{FileError, Problem};
use crate::machine::Host;
use crate::root::{Root, absolute_path};

pub use errors::StateError;
pub use other_directories::other_journal_directories;

/// Default directory of the journal, below the root.
pub const DEFAULT_STATE: &str = "var/lib/skipline-host";
const JOURNAL: &str = "journal.json";
/// One lock per machine, wherever journals are kept: all of them cover the same registers. Earlier versions
/// had `run/skipline-host.lock`, which other users can take and is not looked at.
const LOCK: &str = "run/skipline-host/lock";
/// Greatest length of a journal that a change may add to: enough for some 10^4 controls.
const MOST_BYTES: usize = 4 << 20;
/// Greatest length of a journal that is read: earlier versions wrote more than they then could read.
const READ_LIMIT_BYTES: u64 = 256 << 20;
/// Longest time to wait for the lock of resctrl, which any user can take and keep.
pub const RESCTRL_WAIT_LIMIT: Duration = Duration::from_secs(60);
const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";

/// Index of a record in the journal, and the record.
type NumberedRecord = (usize, ChangeRecord);

/// A change as the journal records it. The names of its fields are the file's format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeRecord {
    /// Time of the change, in seconds since 1970.
    pub time_unix_s: u64,
    /// The kernel's identifier of the boot in which the change was made.
    pub boot_id: String,
    /// Command of the user that made the change.
    pub command: String,
    /// Control that the change concerns.
    pub target: ControlTarget,
    /// Value of the control before the change.
    pub old: u64,
    /// Value that was requested for the control.
    pub asked: u64,
    /// Mask of the bits that the change may touch; all bits in journals of earlier versions.
    #[serde(default = "all_bits")]
    pub owned: u64,
    /// Value that was read back; `None` if the tool died before, or nothing was to be written.
    pub read_back: Option<u64>,
}

fn all_bits() -> u64 {
    u64::MAX
}

impl ChangeRecord {
    /// Whether the change was only journalled, because another change loses this value.
    #[must_use]
    pub fn is_only_journalled(&self) -> bool {
        // Only masks for I/O are journalled so; a chain of other changes may end with its first value.
        let is_mask = matches!(self.target, ControlTarget::Mask { .. });
        let of_io = is_mask && self.target.io_alloc_folder().is_some();
        of_io && self.old == self.asked && self.read_back.is_none()
    }
}

/// The journal: all changes that were not restored, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// Records of the changes.
    pub entries: Vec<ChangeRecord>,
}

/// The directory of the journal, and the machine's lock, which is released when the value is dropped.
#[derive(Debug)]
pub struct StateDirectory<'a> {
    root: &'a Root,
    path: String,
    /// How long to wait for resctrl's lock.
    resctrl_wait: Cell<Duration>,
    lock: OwnedFd,
}

impl<'a> StateDirectory<'a> {
    /// Takes the machine's lock, which lasts as long as this value, and creates the directory if needed.
    ///
    /// # Errors
    /// If the system refuses, another tool has the lock, or the directory cannot be trusted.
    pub fn lock(root: &'a Root, path: &str) -> Result<Self, StateError> {
        Self::lock_within(root, path, Duration::ZERO)
    }

    /// As [`StateDirectory::lock`], but waits for a tool that has the lock, for `limit` at most.
    ///
    /// # Errors
    /// As [`StateDirectory::lock`].
    pub fn lock_within(root: &'a Root, path: &str, limit: Duration) -> Result<Self, StateError> {
        let path = directory(path)?;
        let lock = lock::take_within(root.base(), &absolute_path(LOCK), limit)
            .map_err(|error| StateError::from_durable(root, LOCK, error))?;
        // Nothing is created in a place where another user could replace it.
        let created = journal_file(root, &absolute_path(path)).create_directory();
        created.map_err(|error| StateError::from_durable(root, path, error))?;
        Ok(Self::new(root, path, lock))
    }

    fn new(root: &'a Root, path: &str, lock: OwnedFd) -> Self {
        Self { root, path: path.to_owned(), resctrl_wait: Cell::default(), lock }
    }

    /// Sets how long to wait if another program has resctrl's lock, [`RESCTRL_WAIT_LIMIT`] at most; by default
    /// that is an error at once.
    pub fn wait_for_resctrl(&self, limit: Duration) {
        self.resctrl_wait.set(limit.min(RESCTRL_WAIT_LIMIT));
    }

    /// Duplicates the lock's descriptor for another process, which then has the lock as well.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn share_lock(&self) -> std::io::Result<OwnedFd> {
        self.lock.try_clone()
    }

    /// The directory under a lock that this process inherited from another one.
    ///
    /// # Errors
    /// If the directory cannot be trusted.
    pub fn with_inherited_lock(
        root: &'a Root,
        path: &str,
        lock: OwnedFd,
    ) -> Result<Self, StateError> {
        let path = directory(path)?;
        let checked = journal_file(root, &absolute_path(path)).check_own();
        checked.map_err(|error| StateError::from_durable(root, path, error))?;
        Ok(Self::new(root, path, lock))
    }

    /// Reads the journal; an empty one if the file does not exist.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or names a control that may not be written.
    pub fn read(&self) -> Result<Journal, StateError> {
        read(self.root, &self.path)
    }

    /// Writes a journal to the disk; the file of an empty one is removed.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&self, journal: &Journal) -> Result<(), StateError> {
        let directory = absolute_path(&self.path);
        let file = journal_file(self.root, &directory);
        let written = match journal.entries.is_empty() {
            true => file.remove(),
            false => file.write(journal),
        };
        written.map_err(|error| self.journal_error(error))
    }

    /// As [`StateDirectory::write`], before a change whose record was added last: a journal that has its
    /// greatest length refuses it.
    ///
    /// # Errors
    /// If the journal would be too long, or the system refuses.
    pub(super) fn write_before_change(&self, journal: &Journal) -> Result<(), StateError> {
        let directory = absolute_path(&self.path);
        let text = journal_file(self.root, &directory).text(journal);
        let bytes = text.map_err(|error| self.journal_error(error))?.len();
        if bytes > MOST_BYTES {
            let path =
                self.root.display_path(&format!("{}/{JOURNAL}", self.path)).display().to_string();
            return Err(StateError::Full { path, limit_bytes: MOST_BYTES });
        }
        other_directories::add_directory(self.root, &self.path)?;
        self.write(journal)
    }

    /// Shortens the journal to the records that a restore needs.
    ///
    /// # Errors
    /// As [`StateDirectory::read`] and [`StateDirectory::write`], and if the boot's identifier cannot be
    /// read.
    pub(super) fn compact(&self, host: &Host) -> Result<(), StateError> {
        let journal = self.read()?;
        if journal.entries.len() < 2 {
            return Ok(());
        }
        let compacted =
            journal.compact_for_boot(&boot_id(host)?, &|target| all_io_ways(host, target));
        if compacted.entries.len() == journal.entries.len() {
            return Ok(());
        }
        self.write(&compacted)
    }

    /// Takes the lock that the kernel's documentation asks programs to hold while they change several
    /// files of resctrl; `None` if resctrl is not mounted.
    ///
    /// Source: Linux Documentation/filesystems/resctrl.rst, "Locking between applications".
    ///
    /// # Errors
    /// If another program holds it, or the system refuses.
    pub(super) fn lock_resctrl(&self) -> Result<Option<OwnedFd>, StateError> {
        let directory = match self.root.directory(RESCTRL_MOUNT) {
            Ok(directory) => directory,
            Err(error) if error.problem == Problem::Missing => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match lock::take_open(&directory, self.resctrl_wait.get()) {
            Ok(()) => Ok(Some(directory)),
            Err(Errno::WOULDBLOCK) => {
                let path = self.root.display_path(RESCTRL_MOUNT).display().to_string();
                let found = rustix::fs::fstat(&directory).ok();
                let holder = found.and_then(|found| lock::holder(&found));
                Err(StateError::ResctrlLocked { path, holder })
            }
            Err(errno) => Err(self.root.error(RESCTRL_MOUNT, Problem::from_errno(errno)).into()),
        }
    }

    fn journal_error(&self, error: DurableError) -> StateError {
        StateError::from_durable(self.root, &format!("{}/{JOURNAL}", self.path), error)
    }
}

impl Journal {
    /// Reads the journal of a state directory without locking, to show it.
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

/// The file of the journal in a directory, by its absolute path.
fn journal_file<'a>(root: &'a Root, directory: &'a Path) -> JournalFile<'a> {
    JournalFile { base: root.base(), directory, name: JOURNAL, most_bytes: READ_LIMIT_BYTES }
}

/// Checks that no other user could have written a file or directory of this tool, as far as it exists.
fn check_own(root: &Root, path: &str) -> Result<(), StateError> {
    let checked = root.base().check_own(&absolute_path(path));
    checked.map_err(|error| StateError::from_durable(root, path, error))
}

fn read(root: &Root, directory: &str) -> Result<Journal, StateError> {
    let path = format!("{directory}/{JOURNAL}");
    let read = journal_file(root, &absolute_path(directory)).read::<Journal>();
    let journal = read.map_err(|error| StateError::from_durable(root, &path, error))?;
    let journal = journal.unwrap_or_default();
    let shown = || root.display_path(&path).display().to_string();
    for entry in &journal.entries {
        entry.target.check().map_err(|error| StateError::NotAllowed { path: shown(), error })?;
    }
    Ok(journal)
}

/// Reads the kernel's identifier of this boot.
///
/// # Errors
/// If it cannot be read: records of this boot and of another could not be distinguished.
pub(super) fn boot_id(host: &Host) -> Result<String, FileError> {
    host.root.read_line(BOOT_ID)
}

/// The mask for I/O that the kernel sets when allocation is switched on: all ways. `None` for a control
/// that does not belong to I/O allocation.
pub(super) fn all_io_ways(host: &Host, target: &ControlTarget) -> Option<u64> {
    let folder = target.io_alloc_folder()?;
    let text = host.root.read_line(&format!("{folder}/cbm_mask")).ok()?;
    u64::from_str_radix(&text, 16).ok()
}

pub(super) fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}
