//! A file that the user names: replaced as a whole, or written to if it is a pipe or a device.

use crate::directory::{BaseDirectory, DirectoryEntry, MOST_LINKS};
use crate::error::{DurableError, DurableReason, ForeignEntry};
use crate::ownership::{is_own, kind};
use crate::whole_file::{WholeFile, WriteOptions};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A file for a result. It is found and checked to be writable before a long computation, not after it.
#[derive(Debug)]
pub struct OutputFile {
    named: PathBuf,
    destination: OutputDestination,
    options: WriteOptions,
}

/// The file to which the path leads.
#[derive(Debug)]
enum OutputDestination {
    /// A regular file at the end of all links, which need not exist yet: replaced as a whole.
    Replaced(Box<DirectoryEntry>),
    /// A character device or a pipe: written to, never replaced.
    Stream(File),
    /// The file that is this process's standard output.
    StandardOutput,
}

/// A text on its way to an output file; dropped without [`OutputWriter::finish`], a file stays the old one.
#[derive(Debug)]
pub enum OutputWriter {
    /// The draft of a regular file.
    Draft(Box<WholeFile>),
    /// A character device or a pipe.
    Stream(File),
    /// Standard output.
    StandardOutput(io::Stdout),
}

impl OutputFile {
    /// Finds the file, and checks that it can be written.
    ///
    /// # Errors
    /// If the path is a directory, a block device or a socket, if another user's link is on the way, or if
    /// the system refuses.
    pub fn prepare(named: &Path, options: WriteOptions) -> Result<Self, DurableError> {
        Self::find(named, options, true)
    }

    /// As [`OutputFile::prepare`] for a result that is a regular file: pipes, devices and standard output
    /// are refused, and none is opened.
    ///
    /// # Errors
    /// As [`OutputFile::prepare`].
    pub fn prepare_regular(named: &Path, options: WriteOptions) -> Result<Self, DurableError> {
        Self::find(named, options, false)
    }

    fn find(named: &Path, options: WriteOptions, with_streams: bool) -> Result<Self, DurableError> {
        let destination = find(named, with_streams)?;
        if let OutputDestination::Replaced(entry) = &destination {
            drop(WholeFile::create(entry, options)?);
        }
        Ok(Self { named: named.to_path_buf(), destination, options })
    }

    /// Name of the file, as the user gave it.
    #[must_use]
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// Whether the result is a regular file, beside which other files can be written.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        matches!(self.destination, OutputDestination::Replaced(_))
    }

    /// Whether the file is this process's standard output.
    #[must_use]
    pub fn is_standard_output(&self) -> bool {
        matches!(self.destination, OutputDestination::StandardOutput)
    }

    /// Begins to write.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn begin(&self) -> Result<OutputWriter, DurableError> {
        match &self.destination {
            OutputDestination::Replaced(entry) => {
                let draft = WholeFile::create(entry, self.options)?;
                Ok(OutputWriter::Draft(Box::new(draft)))
            }
            OutputDestination::Stream(file) => {
                let file = file.try_clone().map_err(|it| DurableError::system(&self.named, it))?;
                Ok(OutputWriter::Stream(file))
            }
            OutputDestination::StandardOutput => Ok(OutputWriter::StandardOutput(io::stdout())),
        }
    }

    /// Writes the whole text.
    ///
    /// # Errors
    /// If the system refuses; a regular file is left as it was, but for [`DurableReason::Unsynced`].
    pub fn write(&self, text: &str) -> Result<(), DurableError> {
        let mut writer = self.begin()?;
        let written = writer.write_all(text.as_bytes());
        written.map_err(|error| DurableError::system(&self.named, error))?;
        writer.finish().map_err(|error| DurableError { path: self.named.clone(), ..error })
    }
}

impl OutputWriter {
    /// Puts the text in the place of the file; of a stream writes what is left.
    ///
    /// # Errors
    /// As [`WholeFile::commit`].
    pub fn finish(self) -> Result<(), DurableError> {
        match self {
            Self::Draft(draft) => draft.commit(),
            Self::Stream(_) => Ok(()),
            Self::StandardOutput(mut out) => {
                out.flush().map_err(|error| DurableError::system(Path::new("/dev/stdout"), error))
            }
        }
    }
}

impl Write for OutputWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Draft(draft) => draft.write(bytes),
            Self::Stream(file) => file.write(bytes),
            Self::StandardOutput(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Draft(draft) => draft.flush(),
            Self::Stream(file) => file.flush(),
            Self::StandardOutput(out) => out.flush(),
        }
    }
}

/// Finds the file to which a path leads. `with_streams`: whether it may be something else than a regular
/// file.
fn find(named: &Path, with_streams: bool) -> Result<OutputDestination, DurableError> {
    // The components of a path do not show it.
    let bytes = named.as_os_str().as_bytes();
    if [b"/".as_slice(), b"/."].iter().any(|end| bytes.ends_with(end)) && bytes != b"/" {
        return Err(DurableError::new(named, DurableReason::NamesDirectory));
    }
    let refused = |words| DurableError::new(named, DurableReason::NotReplaceable(words));
    let base = BaseDirectory::filesystem()?;
    let mut path = named.to_path_buf();
    for _ in 0..MOST_LINKS {
        let entry = base.entry(&path).map_err(|error| match error.reason.errno() {
            Some(Errno::ISDIR) => refused("a directory"),
            _ => error,
        })?;
        let Some(found) = entry.target_stat()? else {
            return Ok(OutputDestination::Replaced(Box::new(entry)));
        };
        if is_standard_output(&found) {
            if !with_streams {
                return Err(refused("standard output"));
            }
            return Ok(OutputDestination::StandardOutput);
        }
        match kind(&found) {
            FileType::CharacterDevice | FileType::Fifo if with_streams => {
                return open_stream(&entry, &found);
            }
            FileType::CharacterDevice => return Err(refused("a device")),
            FileType::Fifo => return Err(refused("a pipe")),
            FileType::RegularFile if entry.is_process_link => path = entry.process_link_target()?,
            FileType::RegularFile => return Ok(OutputDestination::Replaced(Box::new(entry))),
            FileType::Directory => return Err(refused("a directory")),
            FileType::BlockDevice => return Err(refused("a block device")),
            _ => return Err(refused("a socket")),
        }
    }
    Err(DurableError::system(named, Errno::LOOP))
}

/// Opens a pipe or device; no pipe that another user has put where others may write.
fn open_stream(entry: &DirectoryEntry, found: &Stat) -> Result<OutputDestination, DurableError> {
    let is_pipe = kind(found) == FileType::Fifo && !entry.is_process_link;
    if is_pipe && entry.is_shared && !is_own(found) {
        let foreign = ForeignEntry { path: entry.path.clone(), owner: found.st_uid, target: None };
        return Err(DurableError::new(&entry.path, DurableReason::Foreign(foreign)));
    }
    let follow = if entry.is_process_link { OFlags::empty() } else { OFlags::NOFOLLOW };
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC | follow;
    let system = |errno| DurableError::system(&entry.path, errno);
    let opened = rustix::fs::openat(&entry.directory, &entry.name, flags, Mode::empty());
    let opened = opened.map_err(system)?;
    // Another user may have put a hard link to a file in its place since it was looked at.
    let now = rustix::fs::fstat(&opened).map_err(system)?;
    if (now.st_dev, now.st_ino) != (found.st_dev, found.st_ino) {
        return Err(system(Errno::AGAIN));
    }
    Ok(OutputDestination::Stream(File::from(opened)))
}

/// Whether the file is standard output: `/dev/stdout` is a link, possibly to a regular file to which this
/// process prints more text.
fn is_standard_output(found: &Stat) -> bool {
    rustix::fs::fstat(io::stdout())
        .is_ok_and(|out| (out.st_dev, out.st_ino) == (found.st_dev, found.st_ino))
}

impl DirectoryEntry {
    /// The file at the end of the path; `None` if there is none.
    fn target_stat(&self) -> Result<Option<Stat>, DurableError> {
        if !self.is_process_link {
            return Ok(self.found);
        }
        rustix::fs::statat(&self.directory, &self.name, AtFlags::empty())
            .map(Some)
            .map_err(|errno| DurableError::system(&self.path, errno))
    }

    /// Path of the regular file to which a link of the process file system leads.
    fn process_link_target(&self) -> Result<PathBuf, DurableError> {
        let target = rustix::fs::readlinkat(&self.directory, &self.name, Vec::new());
        let target = target.map_err(|errno| DurableError::system(&self.path, errno))?;
        let above = self.path.parent().unwrap_or(Path::new("/"));
        Ok(above.join(OsString::from_vec(target.into_bytes())))
    }
}
