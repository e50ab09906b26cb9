//! Writes registers and control files in one call, and this tool's files so that a crash loses nothing.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use durable::error::DurableError;
use durable::whole_file::WriteOptions;
use rustix::fs::OFlags;

use super::Root;
use crate::error::{FileError, Problem};

impl Root {
    /// Writes bytes at an offset of an existing file in one call: a register accepts no partial write.
    ///
    /// # Errors
    /// If the system refuses, or accepts only some of the bytes.
    pub fn write_at(&self, path: &str, offset: u64, bytes: &[u8]) -> Result<(), FileError> {
        let file = self.regular(path, OFlags::WRONLY)?;
        let written = file.write_at(bytes, offset).map_err(|error| self.io_error(path, &error))?;
        if written != bytes.len() {
            let problem = Problem::ShortWrite { got: written, wanted: bytes.len() };
            return Err(self.error(path, problem));
        }
        Ok(())
    }

    /// Writes to a control file of the kernel, in one call.
    ///
    /// # Errors
    /// If the system refuses, or accepts only part of the text.
    pub fn write_control(&self, path: &str, text: &str) -> Result<(), FileError> {
        let mut file = self.regular(path, OFlags::WRONLY)?;
        let written = file.write(text.as_bytes()).map_err(|error| self.io_error(path, &error))?;
        if written != text.len() {
            let problem = Problem::ShortWrite { got: written, wanted: text.len() };
            return Err(self.error(path, problem));
        }
        Ok(())
    }

    /// Replaces a file as a whole: after a crash the disk has either the old or the new one.
    ///
    /// # Errors
    /// If the new file cannot be written, renamed or synced.
    pub fn replace(&self, path: &str, text: &str) -> Result<(), FileError> {
        let replaced =
            self.base.replace(&absolute_path(path), text.as_bytes(), WriteOptions::STATE);
        replaced.map_err(|error| self.durable_error(path, error))
    }

    /// Removes a file and syncs its directory. A file that does not exist is not an error.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove(&self, path: &str) -> Result<(), FileError> {
        self.base.remove(&absolute_path(path)).map_err(|error| self.durable_error(path, error))
    }

    /// Creates a directory and its parents; those that exist are kept.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn make_directories(&self, path: &str) -> Result<(), FileError> {
        let made = self.base.create_directories(&absolute_path(path));
        made.map_err(|error| self.durable_error(path, error))
    }

    fn durable_error(&self, path: &str, error: DurableError) -> FileError {
        self.error(path, Problem::from_durable(error.reason))
    }
}

/// A path of the machine as one that begins at the root.
pub(crate) fn absolute_path(path: &str) -> PathBuf {
    Path::new("/").join(path.trim_start_matches('/'))
}
