//! The journal: for each device that was changed, the whole of its former configuration.
//!
//! One JSON file, replaced as a whole (written beside, synced, renamed, directory synced), so that a
//! crash leaves the old or the new one. A lock keeps a second tool away.

use idxd::BusNode;
use idxd::config_file::SavedConfig;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;

const NAME: &str = "config.json";
const SCHEMA_VERSION: u32 = 1;
/// Longest journal that is read; one device has some 10 KB.
const MOST_BYTES: u64 = 64 << 20;

/// Why the journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The system refuses.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// Another one has the lock.
    #[error(
        "another skipline-dsa is changing the devices (it holds the lock {0}); --wait waits for it"
    )]
    Locked(PathBuf),
    /// Another user may have put or changed it.
    #[error(
        "{0} {1}: another user could choose what is written to devices; nothing was written\n  remedy: \
         look at it; only root may own and write it (chown root, chmod go-w)"
    )]
    Distrusted(PathBuf, String),
    /// It cannot be understood.
    #[error(
        "{0} is damaged ({1}); nothing is written while it is: look at it, put the values back by hand, \
         then remove it"
    )]
    Damaged(PathBuf, String),
}

/// A device that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalEntry {
    /// Its name.
    pub device: String,
    /// Seconds since 1970, of the first change.
    pub time_unix_s: u64,
    /// The kernel's identifier of that boot.
    pub boot_id: String,
    /// What changed it first.
    pub command: String,
    /// Its configuration before, as a file of accel-config has it.
    pub former: serde_json::Value,
    /// Its configuration after the last change; none while one is under way, and after a kill.
    pub left: Option<serde_json::Value>,
}

impl JournalEntry {
    /// The number of its device.
    #[must_use]
    pub fn number(&self) -> Option<usize> {
        match self.device.parse() {
            Ok(BusNode::Device(number)) => Some(number),
            _ => None,
        }
    }

    /// What the device had before.
    ///
    /// # Errors
    /// If it is no configuration of it.
    pub fn former(&self) -> Result<SavedConfig, String> {
        self.parsed(&self.former)
    }

    /// What the last change left, if it came to its end.
    ///
    /// # Errors
    /// As [`JournalEntry::former`].
    pub fn left(&self) -> Result<Option<SavedConfig>, String> {
        self.left.as_ref().map(|left| self.parsed(left)).transpose()
    }

    fn parsed(&self, value: &serde_json::Value) -> Result<SavedConfig, String> {
        let saved = SavedConfig::parse(&value.to_string()).map_err(|error| error.to_string())?;
        let number = self.number().ok_or_else(|| format!("{} is no device", self.device))?;
        if saved.devices() == [number] {
            Ok(saved)
        } else {
            Err(format!("the configuration is not one of {}", self.device))
        }
    }
}

/// A configuration as the journal keeps it.
#[must_use]
pub fn kept(saved: &SavedConfig) -> serde_json::Value {
    // It is a text of ours; null would be refused when it is read.
    serde_json::from_str(&saved.to_json()).unwrap_or_default()
}

/// All devices that were changed and not put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigJournal {
    /// Of this format.
    pub schema_version: u32,
    /// By number of the device.
    pub entries: Vec<JournalEntry>,
}

impl Default for ConfigJournal {
    fn default() -> Self {
        Self { schema_version: SCHEMA_VERSION, entries: Vec::new() }
    }
}

impl ConfigJournal {
    /// The entry of a device.
    #[must_use]
    pub fn entry(&self, number: usize) -> Option<&JournalEntry> {
        self.entries.iter().find(|entry| entry.number() == Some(number))
    }

    /// Puts an entry in the place of that of its device.
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

/// Where the journal and the lock are.
#[derive(Clone, Debug)]
pub struct JournalLocation {
    /// The directory of the journal.
    pub directory: PathBuf,
    /// The lock: one for a machine, wherever journals are.
    pub lock: PathBuf,
}

impl JournalLocation {
    /// That of a machine, below its root, or in a directory that was asked for.
    #[must_use]
    pub fn of_machine(root: &Path, asked: Option<&Path>) -> Self {
        let directory = asked.unwrap_or(Path::new("var/lib/skipline-dsa"));
        // As with the root of a machine, the path of a directory begins there.
        let directory = root.join(directory.strip_prefix("/").unwrap_or(directory));
        Self { directory, lock: root.join("run/skipline-dsa.lock") }
    }

    /// That of a run of the software device, whose devices end with its directory.
    #[must_use]
    pub fn of_run(run: &Path, asked: Option<&Path>) -> Self {
        let directory =
            asked.map_or_else(|| run.join("config"), |asked| Path::new("/").join(asked));
        Self { directory, lock: run.join("config.lock") }
    }

    /// The journal's file.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.directory.join(NAME)
    }

    /// The journal, without the lock.
    ///
    /// # Errors
    /// If it cannot be read or trusted.
    pub fn peek(&self) -> Result<ConfigJournal, JournalError> {
        check_trust(&self.directory)?;
        let path = self.journal();
        check_trust(&path)?;
        let file = |error| JournalError::File(path.clone(), error);
        let text = match fs::metadata(&path) {
            Ok(found) if found.len() > MOST_BYTES => {
                return Err(JournalError::Damaged(path, format!("it has {} bytes", found.len())));
            }
            Ok(_) => fs::read_to_string(&path).map_err(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(ConfigJournal::default());
            }
            Err(error) => return Err(file(error)),
        };
        let damaged = |what: String| JournalError::Damaged(path.clone(), what);
        let journal: ConfigJournal =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if journal.schema_version != SCHEMA_VERSION {
            return Err(damaged(format!("schema_version is {}", journal.schema_version)));
        }
        for entry in &journal.entries {
            entry.former().and_then(|_| entry.left()).map_err(damaged)?;
        }
        Ok(journal)
    }

    /// Takes the lock, which lasts as long as the answer; `waits` says whether to wait for another one.
    ///
    /// # Errors
    /// If another one has it, or the system refuses.
    pub fn lock(&self, waits: bool) -> Result<LockedJournal, JournalError> {
        let file = |path: &Path| {
            let path = path.to_path_buf();
            move |error: io::Error| JournalError::File(path, error)
        };
        for directory in [self.lock.parent().unwrap_or(Path::new("/")), &self.directory] {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o755).create(directory).map_err(file(directory))?;
        }
        check_trust(&self.directory)?;
        // Who could open it could hold it for ever.
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(&self.lock)
            .map_err(file(&self.lock))?;
        let how = match waits {
            true => FlockOperation::LockExclusive,
            false => FlockOperation::NonBlockingLockExclusive,
        };
        match flock(&lock, how) {
            Ok(()) => Ok(LockedJournal { place: self.clone(), _lock: lock }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(JournalError::Locked(self.lock.clone())),
            Err(error) => Err(file(&self.lock)(error.into())),
        }
    }
}

/// The journal, and the machine locked.
#[derive(Debug)]
pub struct LockedJournal {
    place: JournalLocation,
    _lock: File,
}

impl LockedJournal {
    /// The journal.
    ///
    /// # Errors
    /// As [`JournalLocation::peek`].
    pub fn read(&self) -> Result<ConfigJournal, JournalError> {
        self.place.peek()
    }

    /// Puts a journal on the disk; an empty one is removed.
    ///
    /// # Errors
    /// If the system refuses a step of it.
    pub fn write(&self, journal: &ConfigJournal) -> Result<(), JournalError> {
        let path = self.place.journal();
        let put = || -> io::Result<()> {
            if journal.entries.is_empty() {
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => return File::open(&self.place.directory)?.sync_all(),
                }
            }
            let draft = self.place.directory.join(format!("{NAME}.new"));
            match fs::remove_file(&draft) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let text = serde_json::to_string_pretty(journal)?;
            // New: if the name is a link, it is not followed.
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o644).open(&draft)?;
            let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
            if let Err(error) = written {
                // A partial file is of no use; the first error is the one to tell.
                let _ = fs::remove_file(&draft);
                return Err(error);
            }
            fs::rename(&draft, &path)?;
            File::open(&self.place.directory)?.sync_all()
        };
        put().map_err(|error| JournalError::File(path.clone(), error))
    }
}

/// Checks owner, mode and kind of what is in the journal's place, if it is there.
fn check_trust(path: &Path) -> Result<(), JournalError> {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(JournalError::File(path.to_path_buf(), error)),
    };
    let own = [0, rustix::process::geteuid().as_raw()].contains(&found.uid());
    let what = if found.file_type().is_symlink() {
        "is a link".to_owned()
    } else if !own {
        format!("belongs to user {}", found.uid())
    } else if found.mode() & 0o022 != 0 {
        format!("can be written by others (mode {:o})", found.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(JournalError::Distrusted(path.to_path_buf(), what))
}

/// Seconds since 1970.
pub(crate) fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}
