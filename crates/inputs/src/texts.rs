//! Inputs that are kept in memory whole.

use crate::is_repeatable;
use crate::pipes::{self, Interruptible};
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Longest text that is read, in bytes.
pub const LIMIT_BYTES: u64 = 64 << 20;
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A text that cannot be read again.
struct KeptText {
    text: String,
    /// The pipe's identity; `None` if another process has read the text.
    pipe: Option<Identity>,
}

/// Device, inode and time of the last change. A FIFO's time changes when it is written to.
type Identity = (u64, u64, Option<(i64, i64)>);

static KEPT: Mutex<BTreeMap<String, KeptText>> = Mutex::new(BTreeMap::new());

/// Reads a text from a file or a pipe. A byte order mark at its start is part of it.
///
/// The text of a pipe is kept, and returned to those who read the same path later, until the pipe is written
/// to again.
///
/// # Errors
/// As [`pipes::open`]; if it cannot be read, is longer than [`LIMIT_BYTES`], is not UTF-8, or is empty but for
/// white space.
pub fn read(path: &str) -> io::Result<String> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let found = Path::new(path).metadata();
    if let Some(known) = kept.get(path)
        && known.pipe.is_none_or(|pipe| found.as_ref().is_ok_and(|now| identity(now) == pipe))
    {
        return Ok(known.text.clone());
    }
    let found = found?;
    let is_repeatable = found.is_dir() || is_repeatable(Path::new(path), &found);
    if is_repeatable {
        // Reading takes long from a slow disk: other threads need not wait for it.
        drop(kept);
        return read_whole(Path::new(path));
    }
    let text = read_whole(Path::new(path))?;
    let pipe = Some(identity(&Path::new(path).metadata()?));
    kept.insert(path.into(), KeptText { text: text.clone(), pipe });
    Ok(text)
}

fn identity(metadata: &Metadata) -> Identity {
    let is_fifo = metadata.file_type().is_fifo();
    let written = is_fifo.then(|| (metadata.mtime(), metadata.mtime_nsec()));
    (metadata.dev(), metadata.ino(), written)
}

fn read_whole(path: &Path) -> io::Result<String> {
    let file = Interruptible::new(pipes::open(path)?)?;
    let mut bytes = Vec::new();
    file.take(LIMIT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT_BYTES {
        let message =
            format!("longer than {} MiB, which no text of this kind is", LIMIT_BYTES >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, message));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(ErrorKind::InvalidData, format!("not UTF-8 text (byte {at})"))
    })?;
    if text.trim_matches(|c: char| c.is_whitespace() || c == BYTE_ORDER_MARK).is_empty() {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is empty"));
    }
    Ok(text)
}

/// The texts of pipes that this process has read, by path.
pub fn kept() -> BTreeMap<String, String> {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.iter().map(|(path, kept)| (path.clone(), kept.text.clone())).collect()
}

/// The text of the pipe at `path`, if it has been read.
#[must_use]
pub fn kept_text(path: &str) -> Option<String> {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.get(path).map(|kept| kept.text.clone())
}

/// Takes over texts of pipes that another process has read.
pub fn keep(texts: BTreeMap<String, String>) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    for (path, text) in texts {
        kept.insert(path, KeptText { text, pipe: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn the_text_of_a_pipe_can_be_read_again() {
        let (reads, mut writes) = io::pipe().expect("the host has pipes");
        writes.write_all(b"cores = 2\n").expect("the pipe takes it");
        drop(writes);
        let path = format!("/proc/self/fd/{}", reads.as_raw_fd());
        for _ in 0..2 {
            assert_eq!(read(&path).expect("is read"), "cores = 2\n");
        }
        assert_eq!(kept_text(&path).as_deref(), Some("cores = 2\n"));
        assert!(kept().contains_key(&path));
    }

    #[test]
    fn another_pipe_of_the_same_name_is_read_anew() {
        let folder = tempfile::tempdir().expect("can be made");
        let mut found = Vec::new();
        for text in ["first", "second"] {
            let (reads, mut writes) = io::pipe().expect("the host has pipes");
            writes.write_all(text.as_bytes()).expect("the pipe takes it");
            drop(writes);
            let name = folder.path().join("link");
            std::os::unix::fs::symlink(format!("/proc/self/fd/{}", reads.as_raw_fd()), &name)
                .expect("can be made");
            found.push(read(&name.display().to_string()).expect("is read"));
            std::fs::remove_file(&name).expect("is there");
        }
        assert_eq!(found, ["first", "second"]);
    }

    #[test]
    fn a_text_of_another_process_is_taken_over() {
        keep(BTreeMap::from([("/dev/fd/9999".into(), "text".into())]));
        assert_eq!(read("/dev/fd/9999").expect("is kept"), "text");
    }

    #[test]
    fn an_empty_text_is_refused() {
        for content in ["", " \n\t\r\n", "\u{feff}\n"] {
            let mut file = tempfile::NamedTempFile::new().expect("can be made");
            file.write_all(content.as_bytes()).expect("can be written");
            let error = read(&file.path().display().to_string()).expect_err("is empty");
            assert_eq!(error.to_string(), "it is empty", "{content:?}");
        }
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let error = read("/dev/zero").expect_err("has no end");
        assert_eq!(error.to_string(), "longer than 64 MiB, which no text of this kind is");
    }

    #[test]
    fn a_file_that_is_not_text_is_refused_with_the_position() {
        let mut file = tempfile::NamedTempFile::new().expect("can be made");
        file.write_all(b"caf\xe9").expect("can be written");
        let error = read(&file.path().display().to_string()).expect_err("is Latin-1");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert_eq!(error.to_string(), "not UTF-8 text (byte 3)");
    }
}
