//! Inputs that are kept in memory whole.

use crate::pipes::{self, Interruptible};
use crate::text_content::{text, too_long};
use crate::{is_repeatable, of_process, streams};
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use crate::text_content::{KEYS_LIMIT_BYTES, LIMIT_BYTES};

/// The content of a pipe, which cannot be read again.
struct PipeContent {
    bytes: Vec<u8>,
    /// The pipe's identity; `None` if another process has read it.
    pipe: Option<Identity>,
}

/// Device, inode and time of the last change. A FIFO's time changes when it is written to.
type Identity = (u64, u64, Option<(i64, i64)>);

/// Held while a pipe is read, which may take as long as its writer likes.
static READING: Mutex<()> = Mutex::new(());
static KEPT: Mutex<BTreeMap<String, PipeContent>> = Mutex::new(BTreeMap::new());

/// Reads a text from a file or a pipe, without the byte order mark at its start.
///
/// # Errors
/// As [`read_bytes`]; if it is not UTF-8, or is empty but for white space.
pub fn read(path: &str) -> io::Result<String> {
    text(read_bytes(path)?)
}

/// As [`read`], for a scenario, a platform or another file of keys.
///
/// # Errors
/// As [`read`]; if it is longer than [`KEYS_LIMIT_BYTES`].
pub fn read_keys(path: &str) -> io::Result<String> {
    text(read_bytes_within(path, KEYS_LIMIT_BYTES)?)
}

/// Reads a text of at most `limit_bytes` as [`read`] does, but keeps the content of no pipe: for a program that
/// reads each of its inputs once.
///
/// # Errors
/// As [`read`].
pub fn read_once(path: &Path, limit_bytes: u64) -> io::Result<String> {
    let file = pipes::open(path).map_err(|error| of_process(path, error))?;
    text(read_whole(file, limit_bytes)?)
}

/// Reads what may be a text from a file or a pipe.
///
/// The content of a pipe is kept, and returned to those who read the same path later, until the pipe is written
/// to again.
///
/// # Errors
/// As [`pipes::open`]; if it cannot be read, or is longer than [`LIMIT_BYTES`]; if it is a pipe that was read as
/// a stream.
pub fn read_bytes(path: &str) -> io::Result<Vec<u8>> {
    read_bytes_within(path, LIMIT_BYTES)
}

/// As [`read_bytes`]; nothing is kept of a pipe with more than `limit_bytes`.
fn read_bytes_within(path: &str, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let within = |bytes: Vec<u8>| match bytes.len() as u64 > limit_bytes {
        true => Err(too_long(limit_bytes)),
        false => Ok(bytes),
    };
    if let Some(bytes) = kept_bytes(path) {
        return within(bytes);
    }
    let at = Path::new(path);
    let found = at.metadata().map_err(|error| of_process(at, error))?;
    if found.is_dir() || is_repeatable(at, &found) {
        return read_whole(pipes::open(at)?, limit_bytes);
    }
    // Two threads that want the same pipe get the same content.
    let _turn = READING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = kept_bytes(path) {
        return within(bytes);
    }
    let bytes = read_whole(streams::open_once(at, &found)?, limit_bytes)?;
    let pipe = Some(identity(&at.metadata()?));
    all().insert(path.into(), PipeContent { bytes: bytes.clone(), pipe });
    Ok(bytes)
}

fn all() -> MutexGuard<'static, BTreeMap<String, PipeContent>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn identity(metadata: &Metadata) -> Identity {
    let is_fifo = metadata.file_type().is_fifo();
    let written = is_fifo.then(|| (metadata.mtime(), metadata.mtime_nsec()));
    (metadata.dev(), metadata.ino(), written)
}

fn read_whole(file: File, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Interruptible::new(file)?.take(limit_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit_bytes {
        return Err(too_long(limit_bytes));
    }
    Ok(bytes)
}

/// The contents of pipes that this process has read, by path.
pub fn kept() -> BTreeMap<String, Vec<u8>> {
    all().iter().map(|(path, kept)| (path.clone(), kept.bytes.clone())).collect()
}

/// Whether the content of the pipe at `path` has been read.
#[must_use]
pub fn is_kept(path: &str) -> bool {
    all().contains_key(path)
}

/// The content of the pipe at `path`, if it has been read and the pipe has not been written to since.
#[must_use]
pub fn kept_bytes(path: &str) -> Option<Vec<u8>> {
    let kept = all();
    let known = kept.get(path)?;
    let is_same = |pipe| Path::new(path).metadata().is_ok_and(|now| identity(&now) == pipe);
    known.pipe.is_none_or(is_same).then(|| known.bytes.clone())
}

/// Takes over contents of pipes that another process has read.
pub fn keep(contents: BTreeMap<String, Vec<u8>>) {
    let keep = |(path, bytes)| (path, PipeContent { bytes, pipe: None });
    all().extend(contents.into_iter().map(keep));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Write};
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
        assert_eq!(kept_bytes(&path).as_deref(), Some(b"cores = 2\n".as_slice()));
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
        keep(BTreeMap::from([("/dev/fd/9999".into(), b"text".to_vec())]));
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
        assert_eq!(error.to_string(), "longer than 256 MiB, which no text of this kind is");
    }

    #[test]
    fn a_file_of_keys_is_read_up_to_its_own_limit() {
        let mut file = tempfile::NamedTempFile::new().expect("can be made");
        file.write_all(&[b'a'; 4 << 20]).expect("can be written");
        let path = file.path().to_str().expect("is UTF-8").to_string();
        assert_eq!(read_keys(&path).expect("is short enough").len(), 4 << 20);
        file.write_all(b"a").expect("can be written");
        // Another test reads /dev/zero, and what cannot be read again is read once in a process.
        for path in [&*path, "/dev/full"] {
            let error = read_keys(path).expect_err("is too long");
            assert_eq!(error.to_string(), "longer than 4 MiB, which no text of this kind is");
        }
    }

    #[test]
    fn nothing_is_kept_of_a_pipe_that_is_too_long_for_a_file_of_keys() {
        let (reads, mut writes) = io::pipe().expect("the host has pipes");
        let path = format!("/proc/self/fd/{}", reads.as_raw_fd());
        // The writer is refused the rest once the only reader is closed.
        let writer = std::thread::spawn(move || writes.write_all(&vec![b'a'; 8 << 20]));
        let error = read_keys(&path).expect_err("is too long");
        assert_eq!(error.to_string(), "longer than 4 MiB, which no text of this kind is");
        assert!(!is_kept(&path));
        drop(reads);
        writer.join().expect("no panic").expect_err("is not read to its end");
    }

    #[test]
    fn another_limit_holds_for_files_and_for_what_has_no_end() {
        let mut file = tempfile::NamedTempFile::new().expect("can be made");
        file.write_all(&[b'a'; 1 << 20]).expect("can be written");
        assert_eq!(read_once(file.path(), 1 << 20).expect("is short enough").len(), 1 << 20);
        file.write_all(b"a").expect("can be written");
        for path in [file.path(), Path::new("/dev/zero")] {
            let error = read_once(path, 1 << 20).expect_err("is too long");
            assert_eq!(error.to_string(), "longer than 1 MiB, which no text of this kind is");
        }
        let error = read_once(Path::new("/"), 1 << 20).expect_err("is a directory");
        assert_eq!(error.kind(), ErrorKind::IsADirectory);
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
