//! A journal: a value that is on the disk before a change is made, as one file of JSON.
//!
//! The file is replaced as a whole, so that a crash leaves the old or the new one; that of an empty journal
//! is removed. Two processes are kept apart by a lock ([`crate::lock`]).

use crate::directory::BaseDirectory;
use crate::error::{DurableError, DurableReason};
use crate::whole_file::WriteOptions;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// The file of a journal, and its directory.
#[derive(Clone, Copy, Debug)]
pub struct JournalFile<'a> {
    /// Directory below which the paths are.
    pub base: &'a BaseDirectory,
    /// The directory of the journal, which belongs to the program.
    pub directory: &'a Path,
    /// Name of the file.
    pub name: &'a str,
    /// Greatest length that is read, in bytes.
    pub most_bytes: u64,
}

impl JournalFile<'_> {
    /// Path of the file below the base.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.join(self.name)
    }

    /// Checks that no other user could have written the journal, as far as it exists.
    ///
    /// # Errors
    /// [`DurableReason::Distrusted`], or if the system refuses.
    pub fn check_own(&self) -> Result<(), DurableError> {
        self.base.check_own(self.directory)?;
        self.base.check_own(&self.path())
    }

    /// Creates the directory, but not where another user could replace it.
    ///
    /// # Errors
    /// As [`JournalFile::check_own`].
    pub fn create_directory(&self) -> Result<(), DurableError> {
        self.check_own()?;
        self.base.create_directories(self.directory)?;
        self.check_own()
    }

    /// Reads the journal; `None` if the file does not exist.
    ///
    /// # Errors
    /// If it cannot be read, is not the JSON of such a value, or cannot be trusted.
    pub fn read<T: DeserializeOwned>(&self) -> Result<Option<T>, DurableError> {
        self.check_own()?;
        let path = self.path();
        let Some(text) = self.base.read_text(&path, self.most_bytes)? else { return Ok(None) };
        let damaged = |error: serde_json::Error| {
            DurableError::new(
                &self.base.display_path(&path),
                DurableReason::Damaged(error.to_string()),
            )
        };
        serde_json::from_str(&text).map(Some).map_err(damaged)
    }

    /// The text of a journal, as the file has it.
    ///
    /// # Errors
    /// If the value has no JSON.
    pub fn text<T: Serialize>(&self, journal: &T) -> Result<String, DurableError> {
        serde_json::to_string_pretty(journal)
            .map_err(|error| DurableError::system(&self.base.display_path(&self.path()), error))
    }

    /// Writes a journal to the disk and syncs it.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write<T: Serialize>(&self, journal: &T) -> Result<(), DurableError> {
        let text = self.text(journal)?;
        self.base.replace(&self.path(), text.as_bytes(), WriteOptions::STATE)
    }

    /// Removes the file of an empty journal.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove(&self) -> Result<(), DurableError> {
        self.base.remove(&self.path())
    }
}
