//! Inputs that are read front to back, of any length.

use crate::pipes::{self, Interruptible};
use crate::{is_of_process, is_repeatable, of_process};
use std::cell::Cell;
use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Device and inode of each pipe of which bytes have been read.
static OPENED: Mutex<Option<HashSet<(u64, u64)>>> = Mutex::new(None);

thread_local! {
    static FILES_ONLY: Cell<bool> = const { Cell::new(false) };
}

/// Calls `plan`, within which this thread opens no stream from a pipe: what is planned reads its inputs again
/// later, maybe in other processes.
pub fn files_only<R>(plan: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            FILES_ONLY.set(self.0);
        }
    }
    let _restore = Restore(FILES_ONLY.replace(true));
    plan()
}

/// Opens a file, or a pipe that this process has not opened before.
///
/// # Errors
/// As [`pipes::open`]; if the pipe has been opened before, or only files are allowed ([`files_only`]).
pub fn open(path: &Path) -> io::Result<Interruptible> {
    open_file(path).and_then(Interruptible::new)
}

/// As [`open`], for a reader that waits for bytes in its own way.
///
/// # Errors
/// As [`open`].
pub fn open_file(path: &Path) -> io::Result<File> {
    let metadata = path.metadata().map_err(|error| of_process(path, error))?;
    if metadata.is_dir() || is_repeatable(path, &metadata) {
        return pipes::open(path);
    }
    if FILES_ONLY.get() {
        return Err(io::Error::other(
            "this command reads its inputs several times, and a pipe can be read only once: write \
             its content to a file, and name that",
        ));
    }
    open_once(path, &metadata)
}

/// Opens an input that is not a repeatable file, if its bytes have not been read: a FIFO has others when
/// another program has opened it for writing.
pub(crate) fn open_once(path: &Path, metadata: &Metadata) -> io::Result<File> {
    // /dev/null, and standard input from a file, start again each time that they are opened.
    if metadata.is_file() || path == Path::new("/dev/null") {
        return pipes::open(path);
    }
    let key = (metadata.dev(), metadata.ino());
    let was_read = opened().get_or_insert_default().contains(&key);
    let file = match (was_read, metadata.file_type().is_fifo() && !is_of_process(path)) {
        (false, _) => pipes::open(path)?,
        (true, true) => pipes::open_within(path, Duration::ZERO).map_err(|_| read_already())?,
        (true, false) => return Err(read_already()),
    };
    opened().get_or_insert_default().insert(key);
    Ok(file)
}

fn opened() -> MutexGuard<'static, Option<HashSet<(u64, u64)>>> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_already() -> io::Error {
    io::Error::other(
        "this pipe has been read already, and it can be read only once: write its content to a file, \
         and name that",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_pipe_is_opened_once_and_not_at_all_while_a_plan_is_made() {
        let (reads, mut writes) = io::pipe().expect("the host has pipes");
        writes.write_all(b"content").expect("the pipe takes it");
        drop(writes);
        let path = format!("/proc/self/fd/{}", reads.as_raw_fd());
        let path = Path::new(&path);
        let planned = files_only(|| open(path).map(drop)).expect_err("is a pipe");
        assert!(planned.to_string().contains("reads its inputs several times"), "{planned}");
        let mut content = String::new();
        open(path).expect("is open").read_to_string(&mut content).expect("is read");
        assert_eq!(content, "content");
        let again = open(path).expect_err("was read");
        assert!(again.to_string().contains("has been read already"), "{again}");
    }

    #[test]
    fn a_file_is_opened_as_often_as_one_likes() {
        let file = tempfile::NamedTempFile::new().expect("can be made");
        for _ in 0..2 {
            files_only(|| open(file.path()).map(drop)).expect("is a file");
        }
    }
}
