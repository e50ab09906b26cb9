//! A draft that takes the place of a file as a whole.

use crate::directory::{BaseDirectory, DirectoryEntry};
use crate::error::{DurableError, DurableReason};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::Path;

/// Drafts whose names are tried before another user must be in the way of each.
const MOST_NAMES: u32 = 64;

/// Permissions of a new file, and whether it is on the disk before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// Permissions of the new file, less the umask; those of the old file do not count.
    pub mode: u32,
    /// Whether file and directory are synced. Without it readers see the old file or the new one, and a
    /// power failure may leave neither.
    pub is_synced: bool,
}

impl WriteOptions {
    /// A file of results: any user may read it, as far as the umask allows.
    pub const RESULT: Self = Self { mode: 0o666, is_synced: true };
    /// A file that only its owner writes, and any user reads.
    pub const STATE: Self = Self { mode: 0o644, is_synced: true };
    /// A file that ends with its process.
    pub const TRANSIENT: Self = Self { mode: 0o666, is_synced: false };
}

/// The draft of a file, beside it; dropped without [`WholeFile::commit`], it is removed.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    draft: OsString,
    entry: DirectoryEntry,
    is_synced: bool,
    /// Whether the draft has taken the place of the file.
    is_placed: bool,
}

impl WholeFile {
    /// Creates a draft with a name that other users cannot foresee.
    pub(crate) fn create(
        entry: &DirectoryEntry,
        options: WriteOptions,
    ) -> Result<Self, DurableError> {
        for number in 0..MOST_NAMES {
            let random = RandomState::new().hash_one(number);
            let draft = OsString::from(format!(".skipline.{random:016x}"));
            match open_new(entry, &draft, options) {
                Err(Errno::EXIST) => {}
                opened => return Self::new(entry, draft, opened, options),
            }
        }
        Err(DurableError::system(&entry.path, Errno::EXIST))
    }

    /// Creates a draft named after the file; a draft that a crash has left is replaced.
    pub(crate) fn create_over_leftover(
        entry: &DirectoryEntry,
        options: WriteOptions,
    ) -> Result<Self, DurableError> {
        let mut draft = entry.name.clone();
        draft.push(".new");
        let removed = rustix::fs::unlinkat(&entry.directory, &draft, AtFlags::empty());
        let opened = match removed {
            Ok(()) | Err(Errno::NOENT) => open_new(entry, &draft, options),
            Err(errno) => Err(errno),
        };
        Self::new(entry, draft, opened, options)
    }

    fn new(
        entry: &DirectoryEntry,
        draft: OsString,
        opened: Result<File, Errno>,
        options: WriteOptions,
    ) -> Result<Self, DurableError> {
        let file = opened.map_err(|errno| DurableError::system(&entry.path, errno))?;
        let entry = entry.try_clone()?;
        let is_synced = options.is_synced;
        Ok(Self { file, draft, entry, is_synced, is_placed: false })
    }

    /// Puts the draft in the place of the file.
    ///
    /// # Errors
    /// If the draft cannot be synced or renamed: the old file is left. If the directory cannot be synced
    /// ([`DurableReason::Unsynced`]): the file is the new one.
    pub fn commit(mut self) -> Result<(), DurableError> {
        let path = &self.entry.path;
        if self.is_synced {
            self.file.sync_all().map_err(|error| DurableError::system(path, error))?;
        }
        let directory = &self.entry.directory;
        rustix::fs::renameat(directory, &self.draft, directory, &self.entry.name)
            .map_err(|errno| DurableError::system(path, errno))?;
        self.is_placed = true;
        if self.is_synced {
            let unsynced = |errno: Errno| DurableReason::Unsynced(errno.into());
            let synced = self.entry.sync_directory();
            synced.map_err(|errno| DurableError::new(&self.entry.path, unsynced(errno)))?;
        }
        Ok(())
    }
}

impl BaseDirectory {
    /// Replaces a file as a whole. A link of this name is replaced itself.
    ///
    /// # Errors
    /// If the draft cannot be written, renamed or synced, or a link on the way is not followed.
    pub fn replace(
        &self,
        path: &Path,
        bytes: &[u8],
        options: WriteOptions,
    ) -> Result<(), DurableError> {
        let entry = self.named_entry(path)?;
        let mut file = WholeFile::create_over_leftover(&entry, options)?;
        file.write_all(bytes).map_err(|error| DurableError::system(&entry.path, error))?;
        file.commit()
    }
}

/// Opens a file that must not exist: a link of this name is not followed.
fn open_new(entry: &DirectoryEntry, name: &OsStr, options: WriteOptions) -> Result<File, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::from(options.mode);
    rustix::fs::openat(&entry.directory, name, flags, mode).map(File::from)
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.is_placed {
            // A partial file is of no use. The first error is reported, not that of the removal.
            let _ = rustix::fs::unlinkat(&self.entry.directory, &self.draft, AtFlags::empty());
        }
    }
}
