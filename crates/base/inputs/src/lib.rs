//! Files and pipes that a command reads: each once, within bounds, and for as long as the user waits.
//!
//! A *stream* is read front to back: a recording. A *text* is short and may be read again: a scenario, a
//! table, a result.
//! A regular file can be opened as often as a command likes. A pipe gives its bytes once, and a path such as
//! /dev/stdin names something else in another process: a text of these is kept after the first read
//! ([`texts`]), a stream of these can be opened once ([`streams`]). [`pipes`] waits for bytes, and stops when
//! the user interrupts the command. What is shown of them goes through [`foreign`].
//! Where there is no Unix, as in a browser, streams and texts are files that the program has in memory
//! (`memory_files`).

pub mod foreign;
#[cfg(any(test, not(unix)))]
pub mod memory_files;
#[cfg(unix)]
pub mod pipes;
#[cfg(unix)]
pub mod streams;
mod text_content;
#[cfg(unix)]
pub mod texts;

#[cfg(not(unix))]
pub use memory_files::{streams, texts};

#[cfg(unix)]
use std::fs::Metadata;
use std::io::{self, ErrorKind};
#[cfg(unix)]
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Whether a path names an open file of the process: /dev/stdin, /dev/fd/3, /proc/self/fd/0.
#[cfg(unix)]
fn is_of_process(path: &Path) -> bool {
    let is_descriptor = |folder: &Path| folder.ends_with("fd") && folder.starts_with("/proc");
    path == Path::new("/dev/stdin")
        || path.starts_with("/dev/fd")
        || path.parent().is_some_and(is_descriptor)
}

/// Whether the bytes at `path` can be read again, also by another process.
#[cfg(unix)]
fn is_repeatable(path: &Path, metadata: &Metadata) -> bool {
    metadata.is_file() && !is_of_process(path)
}

/// Replaces "no such file" where a file of the process is not open: no other path would help.
#[cfg(unix)]
fn of_process(path: &Path, error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::NotFound && is_of_process(path) {
        return io::Error::new(ErrorKind::NotConnected, "it is not open in this process");
    }
    error
}

/// Whether the input at `path` can be read only once, or only by this process: a pipe, a device, standard
/// input. Also one that another process has read and handed over.
#[must_use]
#[cfg(unix)]
pub fn is_pipe(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    path.to_str().is_some_and(texts::is_kept)
        || path.metadata().is_ok_and(|found| !found.is_dir() && !is_repeatable(path, &found))
}

/// Whether the input at `path` can be read only once: files in memory can be read again.
#[must_use]
#[cfg(not(unix))]
pub fn is_pipe(_path: impl AsRef<Path>) -> bool {
    false
}

/// Whether a file of this kind may have bytes later than it is opened.
#[cfg(unix)]
fn may_be_silent(metadata: &Metadata) -> bool {
    let kind = metadata.file_type();
    kind.is_fifo() || kind.is_socket() || kind.is_char_device()
}

/// The reason of the system in words, for a message that names the file.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file".into(),
        ErrorKind::IsADirectory => "it is a directory".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::NotADirectory => "its folder is not a directory".into(),
        _ => error.to_string(),
    }
}
