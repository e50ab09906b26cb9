//! Files that the user names with `--out`: replaced as a whole, or left as they were.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::fstat;

use crate::failure::HostFailure;
use crate::output::emit_file;

/// Most symbolic links that are followed; more are taken for a loop, as by the kernel.
const MOST_LINKS: usize = 40;

/// The file for a result. It is checked to be writable before a long measurement, not after it.
#[derive(Debug)]
pub struct OutFile {
    named: PathBuf,
    destination: OutDestination,
}

/// The kind of file behind the path.
#[derive(Debug)]
enum OutDestination {
    /// A regular file at the end of all links, which need not exist yet: replaced as a whole.
    Replaced(PathBuf),
    /// A character device or a pipe: written to, never replaced.
    Stream(File),
    /// The file that is this process's standard output.
    StandardOutput,
}

impl OutFile {
    /// Checks that a file of this name can be written.
    ///
    /// # Errors
    /// If the path is a directory, a block device or a socket, or the system refuses.
    pub fn prepare(named: &Path) -> Result<Self, HostFailure> {
        let shown = named.display();
        let cannot = |error: io::Error| {
            let error = without_path(&error);
            HostFailure::bad_input(format!("--out {shown}: cannot be written: {error}"))
        };
        let destination = match std::fs::metadata(named) {
            Ok(found) if is_standard_output(&found) => OutDestination::StandardOutput,
            Ok(found) if found.is_dir() => return Err(no_file(named)),
            Ok(found) if is_stream(found.file_type()) => {
                OutDestination::Stream(OpenOptions::new().write(true).open(named).map_err(cannot)?)
            }
            Ok(found) if !found.is_file() => return Err(special(named, found.file_type())),
            _ => {
                let file = end_of_links(named).map_err(cannot)?;
                if !folder_of(&file).is_dir() {
                    return Err(no_file(named));
                }
                tempfile::NamedTempFile::new_in(folder_of(&file)).map_err(cannot)?;
                OutDestination::Replaced(file)
            }
        };
        Ok(Self { named: named.to_path_buf(), destination })
    }

    /// Name of the file, as the user gave it.
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// Whether the result is a regular file, beside which other files can be written.
    pub fn is_kept(&self) -> bool {
        matches!(self.destination, OutDestination::Replaced(_))
    }

    /// Writes the whole text.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&self, text: &str) -> Result<(), HostFailure> {
        let shown = self.named.display();
        match &self.destination {
            OutDestination::StandardOutput => Ok(emit_file(text)?),
            OutDestination::Stream(stream) => {
                (&*stream).write_all(text.as_bytes()).map_err(|error| {
                    HostFailure::failed(format!("{shown}: cannot be written: {error}"))
                })
            }
            OutDestination::Replaced(file) => replace(file, text).map_err(|error| {
                let error = without_path(&error);
                HostFailure::failed(format!(
                    "{shown}: cannot be written: {error}; the old one is left"
                ))
            }),
        }
    }
}

/// The system's message of an error, without the path that tempfile adds: the user has not named that file.
fn without_path(error: &io::Error) -> String {
    match error.get_ref() {
        Some(_) => error.kind().to_string(),
        None => error.to_string(),
    }
}

fn no_file(named: &Path) -> HostFailure {
    HostFailure::bad_input(format!(
        "--out {}: not a file in a directory that exists; name one like this-host.toml",
        named.display()
    ))
}

fn special(named: &Path, kind: FileType) -> HostFailure {
    let kind = if kind.is_block_device() { "a block device" } else { "a socket" };
    HostFailure::bad_input(format!(
        "--out {}: is {kind} and would be lost; name a file, a pipe or a device like /dev/null",
        named.display()
    ))
}

/// Whether the file is a character device or a pipe: replacing it would remove it for all programs.
fn is_stream(kind: FileType) -> bool {
    kind.is_char_device() || kind.is_fifo()
}

/// Whether the file is standard output: `/dev/stdout` is a link, possibly to a regular file to which this
/// process prints more text.
fn is_standard_output(found: &std::fs::Metadata) -> bool {
    fstat(io::stdout()).is_ok_and(|out| (out.st_dev, out.st_ino) == (found.dev(), found.ino()))
}

/// The path at the end of all symbolic links, whether a file exists there or not.
fn end_of_links(file: &Path) -> io::Result<PathBuf> {
    let mut file = file.to_path_buf();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&file) {
            Ok(target) => file = folder_of(&file).join(target),
            Err(_) => return Ok(file),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn replace(file: &Path, text: &str) -> io::Result<()> {
    let mut temporary = tempfile::Builder::new()
        .prefix(".skipline-host.")
        .permissions(PermissionsExt::from_mode(0o644))
        .tempfile_in(folder_of(file))?;
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().sync_all()?;
    temporary.persist(file).map(drop).map_err(|error| error.error)
}
