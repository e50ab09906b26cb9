//! Files of the machine, all below one directory: `/`, or a tree in place of it.
//!
//! A tree is treated as hostile: links cannot lead out of it, loops and special files are errors, and
//! nothing is read beyond a limit.

mod writes;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use durable::directory::BaseDirectory;
use durable::error::DurableError;
use inputs::foreign::in_line;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::error::{FileError, Problem};

pub(crate) use writes::absolute_path;

/// Greatest length of a text file of the kernel.
const TEXT_LIMIT_BYTES: u64 = 4 << 20;
/// Greatest number of entries of a directory.
const ENTRY_LIMIT: usize = 65_536;

/// The directory below which all files of the machine are; paths are relative to it.
#[derive(Debug)]
pub struct Root {
    base: BaseDirectory,
    real: bool,
}

impl Root {
    /// Opens `/`: the running machine.
    ///
    /// # Errors
    /// If `/` cannot be opened.
    pub fn real() -> Result<Self, FileError> {
        Self::new(BaseDirectory::filesystem(), true)
    }

    /// Opens a directory tree in place of a machine.
    ///
    /// # Errors
    /// If it does not exist, is not a directory, or is not readable.
    pub fn from_tree(path: &Path) -> Result<Self, FileError> {
        Self::new(BaseDirectory::confined(path), false)
    }

    fn new(opened: Result<BaseDirectory, DurableError>, real: bool) -> Result<Self, FileError> {
        let base = opened.map_err(|error| {
            FileError::new(error.path.display(), Problem::from_durable(error.reason))
        })?;
        Ok(Self { base, real })
    }

    /// The directory of the machine, for the files that this tool itself has below it.
    pub(crate) fn base(&self) -> &BaseDirectory {
        &self.base
    }

    /// Whether this is the running machine.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.real
    }

    /// `path` as messages show it: below the directory of the tree.
    #[must_use]
    pub fn display_path(&self, path: &str) -> PathBuf {
        self.base.path().join(path)
    }

    fn handle(&self, path: &str, flags: OFlags) -> Result<OwnedFd, FileError> {
        // Without NONBLOCK the open would wait for ever on a pipe that stands for a file.
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let resolve = if self.real {
            ResolveFlags::empty()
        } else {
            ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS
        };
        let opened = if self.real {
            rustix::fs::openat(&self.base, relative_path(path), flags, Mode::empty())
        } else {
            open_inside(&self.base, path, flags, resolve)
        };
        opened.map_err(|errno| self.error(path, Problem::from_errno(errno)))
    }

    pub(crate) fn error(&self, path: &str, problem: Problem) -> FileError {
        FileError::new(self.display_path(path).display(), problem)
    }

    fn io_error(&self, path: &str, error: &io::Error) -> FileError {
        self.error(path, Problem::from_io(error))
    }

    /// Opens a regular file; on the running machine also a character device.
    fn regular(&self, path: &str, flags: OFlags) -> Result<File, FileError> {
        let file = self.handle(path, flags)?;
        let kind = rustix::fs::fstat(&file)
            .map(|stat| FileType::from_raw_mode(stat.st_mode))
            .map_err(|errno| self.error(path, Problem::from_errno(errno)))?;
        // Registers of the real machine are character devices; a tree has none.
        let device = self.real && kind == FileType::CharacterDevice;
        if kind != FileType::RegularFile && !device {
            return Err(self.error(path, Problem::NotAFile));
        }
        Ok(File::from(file))
    }

    /// Reads a text file.
    ///
    /// # Errors
    /// If the file cannot be read, is longer than 4 MiB or is not UTF-8.
    pub fn read_text(&self, path: &str) -> Result<String, FileError> {
        let limit_bytes = TEXT_LIMIT_BYTES;
        let file = self.regular(path, OFlags::RDONLY)?;
        let mut bytes = Vec::new();
        file.take(limit_bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.io_error(path, &error))?;
        if bytes.len() as u64 > limit_bytes {
            return Err(self.error(path, Problem::TooLong { limit_bytes }));
        }
        String::from_utf8(bytes).map_err(|_| self.error(path, Problem::NotText))
    }

    /// Reads a text file up to the first empty line that follows others: /proc/cpuinfo of a large machine
    /// has the same lines for each of its CPUs, megabytes in all.
    ///
    /// # Errors
    /// If the file cannot be read, or this part of it is longer than 4 MiB or is not UTF-8.
    pub(crate) fn read_first_paragraph(&self, path: &str) -> Result<String, FileError> {
        let file = self.regular(path, OFlags::RDONLY)?;
        let mut lines = BufReader::new(file.take(TEXT_LIMIT_BYTES + 1));
        let (mut bytes, mut has_begun) = (Vec::new(), false);
        loop {
            let start = bytes.len();
            let read = lines.read_until(b'\n', &mut bytes);
            if read.map_err(|error| self.io_error(path, &error))? == 0 {
                break;
            }
            let is_empty = bytes[start..].iter().all(u8::is_ascii_whitespace);
            if is_empty && has_begun {
                break;
            }
            has_begun |= !is_empty;
        }
        if bytes.len() as u64 > TEXT_LIMIT_BYTES {
            return Err(self.error(path, Problem::TooLong { limit_bytes: TEXT_LIMIT_BYTES }));
        }
        String::from_utf8(bytes).map_err(|_| self.error(path, Problem::NotText))
    }

    /// Reads a file of one line, trims white space, and makes it fit to be shown: some of these are names.
    ///
    /// # Errors
    /// As [`Root::read_text`].
    pub fn read_line(&self, path: &str) -> Result<String, FileError> {
        Ok(in_line(self.read_text(path)?.trim()).into_owned())
    }

    /// Reads a file with a decimal number, or a hexadecimal one after `0x`.
    ///
    /// # Errors
    /// As [`Root::read_text`], and if the content is not such a number.
    pub fn read_number(&self, path: &str) -> Result<u64, FileError> {
        let text = self.read_line(path)?;
        number(&text).ok_or_else(|| self.malformed(path, &text, "a whole number"))
    }

    /// The error of a file whose content is not as `expected`.
    #[must_use]
    pub fn malformed(&self, path: &str, found: &str, expected: &'static str) -> FileError {
        self.error(path, Problem::Malformed { found: shorten(found), expected })
    }

    /// Reads bytes at an offset of a file until `bytes` is full.
    ///
    /// # Errors
    /// If the file cannot be read or ends before.
    pub fn read_at(&self, path: &str, offset: u64, bytes: &mut [u8]) -> Result<(), FileError> {
        let file = self.regular(path, OFlags::RDONLY)?;
        let wanted = bytes.len();
        let mut got = 0;
        while got < wanted {
            match file.read_at(&mut bytes[got..], offset + got as u64) {
                Ok(0) => return Err(self.error(path, Problem::ShortRead { got, wanted })),
                Ok(more) => got += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.io_error(path, &error)),
            }
        }
        Ok(())
    }

    pub(crate) fn directory(&self, path: &str) -> Result<OwnedFd, FileError> {
        self.handle(path, OFlags::DIRECTORY | OFlags::RDONLY)
    }

    /// Lists the names in a directory, sorted.
    ///
    /// # Errors
    /// If the directory cannot be read, or has more than 65536 entries.
    pub fn list(&self, path: &str) -> Result<Vec<String>, FileError> {
        let directory = self.directory(path)?;
        let fail = |errno| self.error(path, Problem::from_errno(errno));
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(directory.as_fd()).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
            if names.len() > ENTRY_LIMIT {
                return Err(self.error(path, Problem::TooMany { limit: ENTRY_LIMIT }));
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The last component of a link's target, like the driver's name behind `driver`.
    ///
    /// # Errors
    /// If the path is not a link.
    pub fn link_name(&self, path: &str) -> Result<String, FileError> {
        let (directory_path, name) = path.rsplit_once('/').unwrap_or(("", path));
        let directory = self.directory(directory_path)?;
        let target = rustix::fs::readlinkat(&directory, name, Vec::new())
            .map_err(|errno| self.error(path, Problem::from_errno(errno)))?;
        let target = target.to_string_lossy();
        Ok(in_line(target.rsplit('/').next().unwrap_or_default()).into_owned())
    }

    /// Whether something can be opened at this path.
    #[must_use]
    pub fn exists(&self, path: &str) -> bool {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        if self.real {
            rustix::fs::openat(&self.base, relative_path(path), flags, Mode::empty()).is_ok()
        } else {
            let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
            open_inside(&self.base, path, flags, resolve).is_ok()
        }
    }
}

/// Opens a path below `directory`; links cannot lead out of it.
///
/// The kernel returns EAGAIN when anything on the machine is renamed while it follows a `..`; the
/// call is then repeated.
fn open_inside(
    directory: &BaseDirectory,
    path: &str,
    flags: OFlags,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    const ATTEMPTS: u32 = 10_000;
    for _ in 1..ATTEMPTS {
        match rustix::fs::openat2(directory, relative_path(path), flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN) => {}
            answer => return answer,
        }
    }
    rustix::fs::openat2(directory, relative_path(path), flags, Mode::empty(), resolve)
}

fn relative_path(path: &str) -> &str {
    let path = path.trim_start_matches('/');
    if path.is_empty() { "." } else { path }
}

/// Parses a whole number: decimal, or hexadecimal after `0x`.
#[must_use]
pub fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}

/// The first 40 characters, in one line.
fn shorten(text: &str) -> String {
    let first: String = text.chars().take(40).collect();
    let mut short = in_line(&first).into_owned();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}
