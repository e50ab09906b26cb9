//! The journal: for each device that was changed, the whole of its former configuration.
//!
//! One JSON file, replaced as a whole (`durable::journal`), so that a crash leaves the old or the new
//! one. A lock keeps a second tool away.

use durable::directory::BaseDirectory;
use durable::error::{DurableError, DurableReason, ForeignEntry};
use durable::journal::JournalFile;
use durable::lock::{self, LockHolder};
use idxd::BusNode;
use idxd::config_file::SavedConfig;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;

const NAME: &str = "config.json";
const SCHEMA_VERSION: u32 = 1;
/// Largest journal that is read, in bytes. A device takes some 10 KB.
const MOST_BYTES: u64 = 64 << 20;

/// Reason why the journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// A file cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// Another process has the lock.
    #[error(
        "another skipline-dsa is changing the devices (it holds the lock {}{}); {}",
        .path.display(), by(.holder), advice(.has_waited)
    )]
    Locked {
        /// Path of the lock.
        path: PathBuf,
        /// The process; `None` if it is not seen.
        holder: Option<LockHolder>,
        /// Whether it was waited for, as long as [`durable::lock::WAIT_LIMIT`] says.
        has_waited: bool,
    },
    /// Another user may have written a file.
    #[error(
        "{0} {1}: another user could choose what is written to devices; nothing was written\n  remedy: \
         look at it; only root may own and write it (chown root, chmod go-w)"
    )]
    Distrusted(PathBuf, String),
    /// A link of another user leads to a file.
    #[error("{0}")]
    Foreign(ForeignEntry),
    /// A file cannot be parsed.
    #[error(
        "{0} is damaged ({1}); nothing is written while it is: look at it, put the values back by hand, \
         then remove it"
    )]
    Damaged(PathBuf, String),
}

/// Words for the process that holds a lock, to follow the lock.
fn by(holder: &Option<LockHolder>) -> String {
    holder.as_ref().map_or_else(String::new, |holder| format!(": {holder}"))
}

fn advice(has_waited: &bool) -> String {
    match has_waited {
        true => {
            let hours = durable::lock::WAIT_LIMIT.as_secs() / 3600;
            format!("waited for {hours} h; end that process, or try again")
        }
        false => "--wait waits for it".to_owned(),
    }
}

/// Entry of the journal: a device that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalEntry {
    /// Name of the device.
    pub device: String,
    /// Time of the first change, in seconds since 1970.
    pub time_unix_s: u64,
    /// Identifier of the boot of the first change, as of the kernel.
    pub boot_id: String,
    /// Command of the first change.
    pub command: String,
    /// Configuration before the first change, as a file of accel-config has it.
    pub former: serde_json::Value,
    /// Configuration after the last change; `None` during a change, and after a kill in one.
    pub left: Option<serde_json::Value>,
}

impl JournalEntry {
    /// Number of the device; `None` if the name is not one of a device.
    #[must_use]
    pub fn number(&self) -> Option<usize> {
        match self.device.parse() {
            Ok(BusNode::Device(number)) => Some(number),
            _ => None,
        }
    }

    /// Parses the configuration before the first change.
    ///
    /// # Errors
    /// If it is not a configuration of the device.
    pub fn former(&self) -> Result<SavedConfig, String> {
        self.parsed(&self.former)
    }

    /// Parses the configuration after the last change; `None` if the change was not completed.
    ///
    /// # Errors
    /// As [`JournalEntry::former`].
    pub fn left(&self) -> Result<Option<SavedConfig>, String> {
        self.left.as_ref().map(|left| self.parsed(left)).transpose()
    }

    fn parsed(&self, value: &serde_json::Value) -> Result<SavedConfig, String> {
        let saved = SavedConfig::parse(&value.to_string()).map_err(|error| error.to_string())?;
        let number = self.number().ok_or_else(|| format!("{} is not a device", self.device))?;
        if saved.devices() == [number] {
            Ok(saved)
        } else {
            Err(format!("the configuration is not one of {}", self.device))
        }
    }
}

/// Converts a configuration to the JSON value that the journal stores.
#[must_use]
pub fn to_value(saved: &SavedConfig) -> serde_json::Value {
    // The text is generated here. If it did not parse, the null would be refused when it is read.
    serde_json::from_str(&saved.to_json()).unwrap_or_default()
}

/// The journal: all devices that were changed and not put back. Default: none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigJournal {
    /// Version of the format: 1.
    pub schema_version: u32,
    /// The entries, by number of the device.
    pub entries: Vec<JournalEntry>,
}

impl Default for ConfigJournal {
    fn default() -> Self {
        Self { schema_version: SCHEMA_VERSION, entries: Vec::new() }
    }
}

impl ConfigJournal {
    /// The entry of a device; `None` if it was not changed.
    #[must_use]
    pub fn entry(&self, number: usize) -> Option<&JournalEntry> {
        self.entries.iter().find(|entry| entry.number() == Some(number))
    }

    /// Adds an entry, or replaces the entry of its device.
    pub fn put(&mut self, entry: JournalEntry) {
        self.entries.retain(|other| other.device != entry.device);
        self.entries.push(entry);
        self.entries.sort_by_key(JournalEntry::number);
    }

    /// Drops the entry of a device.
    pub fn drop_device(&mut self, number: usize) {
        self.entries.retain(|entry| entry.number() != Some(number));
    }
}

impl From<DurableError> for JournalError {
    fn from(error: DurableError) -> Self {
        let path = error.path;
        match error.reason {
            DurableReason::System(error) | DurableReason::Unsynced(error) => {
                Self::File(path, error)
            }
            DurableReason::Locked => {
                let holder = lock::holder_at(&path);
                Self::Locked { path, holder, has_waited: false }
            }
            DurableReason::Distrusted(what) => Self::Distrusted(path, what),
            DurableReason::Foreign(entry) => Self::Foreign(entry),
            DurableReason::Damaged(what) => Self::Damaged(path, what),
            other => Self::Damaged(path, format!("it {other}")),
        }
    }
}

/// Location of the journal and the lock.
#[derive(Clone, Debug)]
pub struct JournalLocation {
    /// The root of the machine, in which no link leads out; `/` for one that runs.
    root: PathBuf,
    /// The directory of the journal; as with the lock, the path begins at the root.
    directory: PathBuf,
    /// File of the lock: one for a machine, for journals in any directory.
    lock: PathBuf,
}

impl JournalLocation {
    /// The location for a machine: a directory below its root. Default of `chosen`: `/var/lib/skipline-dsa`.
    #[must_use]
    pub fn for_machine(root: &Path, chosen: Option<&Path>) -> Self {
        let directory = Path::new("/").join(chosen.unwrap_or(Path::new("var/lib/skipline-dsa")));
        let (root, lock) = (root.to_path_buf(), PathBuf::from("/run/skipline-dsa/lock"));
        Self { root, directory, lock }
    }

    /// The location for a run of the software device, whose devices end with its directory. Default of
    /// `chosen`: `config` in that directory.
    #[must_use]
    pub fn for_run(run: &Path, chosen: Option<&Path>) -> Self {
        let directory =
            chosen.map_or_else(|| run.join("config"), |chosen| Path::new("/").join(chosen));
        Self { root: PathBuf::from("/"), directory, lock: run.join("config.lock/lock") }
    }

    fn base(&self) -> Result<BaseDirectory, DurableError> {
        match self.root == Path::new("/") {
            true => BaseDirectory::filesystem(),
            false => BaseDirectory::confined(&self.root),
        }
    }

    fn file<'a>(&'a self, base: &'a BaseDirectory) -> JournalFile<'a> {
        JournalFile { base, directory: &self.directory, name: NAME, most_bytes: MOST_BYTES }
    }

    /// Path of the journal.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.directory().join(NAME)
    }

    /// Path of the directory of the journal.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        self.root.join(self.directory.strip_prefix("/").unwrap_or(&self.directory))
    }

    /// Reads the journal without taking the lock. A missing file is an empty journal.
    ///
    /// # Errors
    /// If it cannot be read, parsed or trusted.
    pub fn peek(&self) -> Result<ConfigJournal, JournalError> {
        let base = self.base()?;
        let Some(journal) = self.file(&base).read::<ConfigJournal>()? else {
            return Ok(ConfigJournal::default());
        };
        let path = self.journal();
        let damaged = |what: String| JournalError::Damaged(path.clone(), what);
        if journal.schema_version != SCHEMA_VERSION {
            return Err(damaged(format!("schema_version is {}", journal.schema_version)));
        }
        for entry in &journal.entries {
            entry.former().and_then(|_| entry.left()).map_err(damaged)?;
        }
        Ok(journal)
    }

    /// Takes the lock, until the returned value is dropped. `waits`: whether to wait while another
    /// process has it, for an hour at most.
    ///
    /// # Errors
    /// If another process has the lock, or a file cannot be created or trusted.
    pub fn lock(&self, waits: bool) -> Result<LockedJournal, JournalError> {
        let base = self.base()?;
        self.file(&base).create_directory()?;
        let lock =
            lock::take(&base, &self.lock, waits).map_err(|error| {
                match JournalError::from(error) {
                    JournalError::Locked { path, holder, .. } => {
                        JournalError::Locked { path, holder, has_waited: waits }
                    }
                    other => other,
                }
            })?;
        Ok(LockedJournal { place: self.clone(), base, _lock: lock })
    }
}

/// The journal of a machine, whose lock this process has.
#[derive(Debug)]
pub struct LockedJournal {
    place: JournalLocation,
    base: BaseDirectory,
    _lock: OwnedFd,
}

impl LockedJournal {
    /// Reads the journal.
    ///
    /// # Errors
    /// As [`JournalLocation::peek`].
    pub fn read(&self) -> Result<ConfigJournal, JournalError> {
        self.place.peek()
    }

    /// Writes the journal to the disk and syncs it. The file of an empty journal is removed.
    ///
    /// # Errors
    /// If a file operation fails.
    pub fn write(&self, journal: &ConfigJournal) -> Result<(), JournalError> {
        let file = self.place.file(&self.base);
        match journal.entries.is_empty() {
            true => file.remove()?,
            false => file.write(journal)?,
        }
        Ok(())
    }
}

/// The time now, in seconds since 1970.
pub(crate) fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}
