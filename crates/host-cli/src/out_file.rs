//! Files that the user names with `--out`: the whole text or the old file.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::fstat;

use crate::failure::Failure;
use crate::output::emit_file;

/// Links that are followed before they are taken for a loop, as the kernel counts them.
const MOST_LINKS: usize = 40;

/// Where a result goes. It is found to be writable before a long measurement, not after it.
#[derive(Debug)]
pub struct OutFile {
    named: PathBuf,
    destination: Destination,
}

#[derive(Debug)]
enum Destination {
    /// A regular file, or none so far, at the end of all links: replaced as a whole.
    Replaced(PathBuf),
    /// A character device or a pipe, which only takes what is written to it.
    Stream(File),
    /// What this process prints to, whatever it is.
    StandardOutput,
}

impl OutFile {
    /// Finds out what is at the path.
    ///
    /// # Errors
    /// If it cannot be written to, or the system refuses.
    pub fn prepare(named: &Path) -> Result<Self, Failure> {
        let shown = named.display();
        let cannot = |error: io::Error| {
            let error = without_path(&error);
            Failure::bad_input(format!("--out {shown}: cannot be written: {error}"))
        };
        let destination = match std::fs::metadata(named) {
            Ok(found) if is_standard_output(&found) => Destination::StandardOutput,
            Ok(found) if found.is_dir() => return Err(no_file(named)),
            Ok(found) if is_stream(found.file_type()) => {
                Destination::Stream(OpenOptions::new().write(true).open(named).map_err(cannot)?)
            }
            Ok(found) if !found.is_file() => return Err(special(named, found.file_type())),
            _ => {
                let file = end_of_links(named).map_err(cannot)?;
                if !folder_of(&file).is_dir() {
                    return Err(no_file(named));
                }
                tempfile::NamedTempFile::new_in(folder_of(&file)).map_err(cannot)?;
                Destination::Replaced(file)
            }
        };
        Ok(Self { named: named.to_path_buf(), destination })
    }

    /// The name that the user gave.
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// Whether a file is there afterwards, beside which others can lie.
    pub fn is_kept(&self) -> bool {
        matches!(self.destination, Destination::Replaced(_))
    }

    /// Writes the whole text.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&self, text: &str) -> Result<(), Failure> {
        let shown = self.named.display();
        match &self.destination {
            Destination::StandardOutput => Ok(emit_file(text)?),
            Destination::Stream(stream) => (&*stream)
                .write_all(text.as_bytes())
                .map_err(|error| Failure::failed(format!("{shown}: cannot be written: {error}"))),
            Destination::Replaced(file) => replace(file, text).map_err(|error| {
                let error = without_path(&error);
                Failure::failed(format!("{shown}: cannot be written: {error}; the old one is left"))
            }),
        }
    }
}

/// An error in the system's words: tempfile adds the path of a file that the user has not named.
fn without_path(error: &io::Error) -> String {
    match error.get_ref() {
        Some(_) => error.kind().to_string(),
        None => error.to_string(),
    }
}

fn no_file(named: &Path) -> Failure {
    Failure::bad_input(format!(
        "--out {}: not a file in a directory that exists; name one like this-host.toml",
        named.display()
    ))
}

fn special(named: &Path, kind: FileType) -> Failure {
    let kind = if kind.is_block_device() { "a block device" } else { "a socket" };
    Failure::bad_input(format!(
        "--out {}: is {kind} and would be lost; name a file, a pipe or a device like /dev/null",
        named.display()
    ))
}

/// Whether it takes bytes one after another: a file in its stead would remove it for all programs.
fn is_stream(kind: FileType) -> bool {
    kind.is_char_device() || kind.is_fifo()
}

/// Whether it is standard output: `/dev/stdout` is a link, possibly to a regular file that printed
/// text follows in.
fn is_standard_output(found: &std::fs::Metadata) -> bool {
    fstat(io::stdout()).is_ok_and(|out| (out.st_dev, out.st_ino) == (found.dev(), found.ino()))
}

/// Where links lead, also if there is nothing yet.
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
