//! Files that the user names with `--out`: replaced as a whole, or left as they were.

use std::path::Path;

use durable::error::{DurableError, DurableReason};
use durable::output::OutputFile;
use durable::whole_file::WriteOptions;
use rustix::io::Errno;

use crate::failure::HostFailure;
use crate::output::emit_file;

/// The file for a result. It is checked to be writable before a long measurement, not after it.
#[derive(Debug)]
pub struct OutFile {
    file: OutputFile,
}

impl OutFile {
    /// Checks that a file of this name can be written.
    ///
    /// # Errors
    /// If the path is a directory, a block device or a socket, if a link of another user is on the way, or
    /// if the system refuses.
    pub fn prepare(named: &Path) -> Result<Self, HostFailure> {
        let file = OutputFile::prepare(named, WriteOptions::STATE);
        Ok(Self { file: file.map_err(|error| refusal(named, &error))? })
    }

    /// Name of the file, as the user gave it.
    pub fn named(&self) -> &Path {
        self.file.named()
    }

    /// Whether the result is a regular file, beside which other files can be written.
    pub fn is_kept(&self) -> bool {
        self.file.is_kept()
    }

    /// Writes the whole text.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&self, text: &str) -> Result<(), HostFailure> {
        if self.file.is_standard_output() {
            return Ok(emit_file(text)?);
        }
        let shown = self.named().display();
        self.file.write(text).map_err(|error| match error.reason {
            reason @ DurableReason::Unsynced(_) => HostFailure::failed(format!("{shown} {reason}")),
            reason if self.is_kept() => HostFailure::failed(format!(
                "{shown}: cannot be written: {reason}; the old one is left"
            )),
            reason => HostFailure::failed(format!("{shown}: cannot be written: {reason}")),
        })
    }
}

fn has_directory(file: &Path) -> bool {
    let above = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    file.file_name().is_some() && above.is_dir()
}

/// The failure of a file that cannot be written.
fn refusal(named: &Path, error: &DurableError) -> HostFailure {
    let shown = named.display();
    match &error.reason {
        DurableReason::Foreign(entry) => HostFailure::refused(format!("--out {shown}: {entry}")),
        DurableReason::NotReplaceable(kind) if *kind != "a directory" => {
            HostFailure::bad_input(format!(
                "--out {shown}: is {kind} and would be lost; name a file, a pipe or a device like \
                 /dev/null"
            ))
        }
        reason @ DurableReason::NamesDirectory => {
            HostFailure::bad_input(format!("--out {shown} {reason}"))
        }
        reason => match reason.errno() {
            // /proc and the like take no new files, with this error though the directory exists.
            Some(Errno::NOENT) if has_directory(named) => {
                HostFailure::bad_input(format!("--out {shown}: cannot be written: {reason}"))
            }
            Some(Errno::NOENT | Errno::NOTDIR | Errno::ISDIR) | None => {
                HostFailure::bad_input(format!(
                    "--out {shown}: not a file in a directory that exists; name one like this-host.toml"
                ))
            }
            Some(_) => {
                HostFailure::bad_input(format!("--out {shown}: cannot be written: {reason}"))
            }
        },
    }
}
