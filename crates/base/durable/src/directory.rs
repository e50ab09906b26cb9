//! Paths below a directory: followed name by name, each directory held open, by the rule for links.

mod walk;

use crate::error::{DurableError, DurableReason};
use crate::ownership::{foreign_enterer, foreign_writer, foreign_writer_of_file, is_own, kind};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use walk::{PathWalk, WalkPolicy};

pub(crate) use walk::MOST_LINKS;

/// A directory below which paths are followed.
#[derive(Debug)]
pub struct BaseDirectory {
    descriptor: OwnedFd,
    path: PathBuf,
    /// Whether no path and no link leads out of it.
    is_confined: bool,
}

/// A name in a directory that is held open: where a file is, or will be.
#[derive(Debug)]
pub(crate) struct DirectoryEntry {
    /// Opened by its path alone (O_PATH).
    pub directory: OwnedFd,
    pub name: OsString,
    /// The path for messages.
    pub path: PathBuf,
    /// The file of this name, itself if it is a link; `None` if there is none.
    pub found: Option<Stat>,
    /// Whether users other than root and that of this process may write the directory.
    pub is_shared: bool,
    /// Whether the name is a link of the kernel's process file system, which its text does not describe.
    pub is_process_link: bool,
}

impl BaseDirectory {
    /// The file system: absolute paths begin at `/`, others at the current directory.
    ///
    /// # Errors
    /// If `/` cannot be opened.
    pub fn filesystem() -> Result<Self, DurableError> {
        Self::open(Path::new("/"), false)
    }

    /// A directory that stands in for `/`: absolute paths and links begin there, and none leads out of it.
    ///
    /// # Errors
    /// If it is not a directory that can be opened.
    pub fn confined(path: &Path) -> Result<Self, DurableError> {
        Self::open(path, true)
    }

    fn open(path: &Path, is_confined: bool) -> Result<Self, DurableError> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::openat(CWD, path, flags, Mode::empty())
            .map_err(|errno| DurableError::system(path, errno))?;
        Ok(Self { descriptor, path: path.to_path_buf(), is_confined })
    }

    /// The directory's path, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Finds where a path leads: at the end of all links.
    pub(crate) fn entry(&self, path: &Path) -> Result<DirectoryEntry, DurableError> {
        PathWalk::new(self, path, WalkPolicy::FOLLOWED)?.find()
    }

    /// Finds the name at the end of a path, which may itself be a link.
    pub(crate) fn named_entry(&self, path: &Path) -> Result<DirectoryEntry, DurableError> {
        PathWalk::new(self, path, WalkPolicy::NAMED)?.find()
    }

    /// Removes a file and syncs its directory. A file that does not exist is not an error.
    ///
    /// # Errors
    /// If the system refuses, or a link on the way is not followed.
    pub fn remove(&self, path: &Path) -> Result<(), DurableError> {
        let entry = self.named_entry(path)?;
        match rustix::fs::unlinkat(&entry.directory, &entry.name, AtFlags::empty()) {
            Ok(()) => entry.sync_directory().map_err(|errno| DurableError::system(path, errno)),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(DurableError::system(&entry.path, errno)),
        }
    }

    /// Creates a directory and its parents (mode 755, less the umask); those that exist are kept.
    ///
    /// # Errors
    /// If the system refuses, or a link on the way is not followed.
    pub fn create_directories(&self, path: &Path) -> Result<(), DurableError> {
        PathWalk::new(self, path, WalkPolicy::CREATED)?.create()
    }

    /// Opens a directory that only its owner, root or this user, may enter, by its path alone (O_PATH). It is
    /// created if it does not exist, and so are those above it.
    ///
    /// # Errors
    /// [`DurableReason::Distrusted`] if it is a link, belongs to another user or can be entered by others, or
    /// if another user could put another one in its place; or if the system refuses.
    pub(crate) fn private_directory(&self, path: &Path) -> Result<OwnedFd, DurableError> {
        self.create_directories(path.parent().unwrap_or(Path::new("/")))?;
        let entry = PathWalk::new(self, path, WalkPolicy::OWN)?.find()?;
        let system = |errno| DurableError::system(&entry.path, errno);
        let distrusted = |words| DurableError::new(&entry.path, DurableReason::Distrusted(words));
        if entry.found.is_some_and(|found| kind(&found) == FileType::Symlink) {
            return Err(distrusted("is a link".to_owned()));
        }
        match rustix::fs::mkdirat(&entry.directory, &entry.name, Mode::from(0o700)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(system(errno)),
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&entry.directory, &entry.name, flags, Mode::empty());
        let opened = opened.map_err(system)?;
        match foreign_enterer(&rustix::fs::fstat(&opened).map_err(system)?) {
            Some(words) => Err(distrusted(words)),
            None => Ok(opened),
        }
    }

    /// Checks that no other user could have written a file or directory of the program's own, as far as it
    /// exists, or could put something else in its place: neither it nor any directory above it. In a
    /// directory that users share, the sticky bit protects the entries of each.
    ///
    /// # Errors
    /// [`DurableReason::Distrusted`], or if the system refuses.
    pub fn check_own(&self, path: &Path) -> Result<(), DurableError> {
        let entry = match PathWalk::new(self, path, WalkPolicy::OWN)?.find() {
            Err(error) if error.reason.errno() == Some(Errno::NOENT) => return Ok(()),
            found => found?,
        };
        let Some(found) = &entry.found else { return Ok(()) };
        match distrust_reason(found) {
            Some(words) => Err(DurableError::new(&entry.path, DurableReason::Distrusted(words))),
            None => Ok(()),
        }
    }

    /// Reads a text file; `None` if it does not exist. A link of this name is not followed.
    ///
    /// # Errors
    /// If it is not a regular file of at most `limit_bytes` with UTF-8 text, or the system refuses.
    pub fn read_text(&self, path: &Path, limit_bytes: u64) -> Result<Option<String>, DurableError> {
        let fail = |reason| DurableError::new(&self.display_path(path), reason);
        let system = |errno: Errno| fail(DurableReason::System(errno.into()));
        let entry = match self.named_entry(path) {
            Err(error) if error.reason.errno() == Some(Errno::NOENT) => return Ok(None),
            found => found?,
        };
        // Without NONBLOCK the open would wait for ever on a pipe that stands for a file.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&entry.directory, &entry.name, flags, Mode::empty());
        let file = match opened {
            Err(Errno::NOENT) => return Ok(None),
            opened => File::from(opened.map_err(system)?),
        };
        if kind(&rustix::fs::fstat(&file).map_err(system)?) != FileType::RegularFile {
            return Err(fail(DurableReason::NotRegular));
        }
        let mut bytes = Vec::new();
        let read = file.take(limit_bytes + 1).read_to_end(&mut bytes);
        read.map_err(|error| fail(DurableReason::System(error)))?;
        if bytes.len() as u64 > limit_bytes {
            return Err(fail(DurableReason::TooLong { limit_bytes }));
        }
        String::from_utf8(bytes).map(Some).map_err(|_| fail(DurableReason::NotText))
    }

    /// A path below this directory, as messages show it.
    #[must_use]
    pub fn display_path(&self, path: &Path) -> PathBuf {
        match self.is_confined {
            true => self.path.join(path.strip_prefix("/").unwrap_or(path)),
            false => path.to_path_buf(),
        }
    }
}

impl AsFd for BaseDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl DirectoryEntry {
    pub(crate) fn try_clone(&self) -> Result<Self, DurableError> {
        let directory = self.directory.try_clone();
        let directory = directory.map_err(|error| DurableError::system(&self.path, error))?;
        let (name, path) = (self.name.clone(), self.path.clone());
        Ok(Self { directory, name, path, ..*self })
    }

    /// Syncs the directory. One that may be written and not read, and one of a file system that syncs no
    /// directories, is not an error.
    pub(crate) fn sync_directory(&self) -> Result<(), Errno> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.directory, ".", flags, Mode::empty());
        match opened.and_then(rustix::fs::fsync) {
            Ok(()) | Err(Errno::ACCESS | Errno::INVAL) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

/// Reason why a file of the program's own is not one that only root or this user can write.
fn distrust_reason(found: &Stat) -> Option<String> {
    if kind(found) == FileType::Symlink {
        return Some("is a link".to_owned());
    }
    match kind(found) {
        FileType::Directory if is_own(found) => foreign_writer(found),
        _ => foreign_writer_of_file(found),
    }
}
