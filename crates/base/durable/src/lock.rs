//! A lock that only root or this user can take, and the process that holds a lock.
//!
//! Every wait for a lock has a limit of time: the process that holds it may never let go.

mod holder;

use crate::directory::BaseDirectory;
use crate::error::{DurableError, DurableReason};
use crate::ownership::kind;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

pub use holder::{LockHolder, SeenProcess, holder, holder_at};

/// Longest time that a program waits for a lock which only root or its own user can take.
pub const WAIT_LIMIT: Duration = Duration::from_secs(3600);
/// Time between two attempts to take a lock.
const RETRY: Duration = Duration::from_millis(20);

/// Takes the lock of a file, as [`take_within`]. `waits`: whether to wait while another process has it, for
/// [`WAIT_LIMIT`] at most.
///
/// # Errors
/// As [`take_within`].
pub fn take(base: &BaseDirectory, path: &Path, waits: bool) -> Result<OwnedFd, DurableError> {
    take_within(base, path, if waits { WAIT_LIMIT } else { Duration::ZERO })
}

/// Takes the lock of a file, which is created if it does not exist, as is its directory; the lock is held
/// until all descriptors of it are closed. Waits while another process has it, for `limit` at most.
///
/// Only the directory's owner can enter it (mode 700), so that no other user ever opens the file: one who
/// could take the lock could keep it for ever.
///
/// # Errors
/// [`DurableReason::Locked`] if another process has it; [`DurableReason::Distrusted`] if the directory is a
/// link, belongs to another user or can be entered by others; or if the system refuses.
pub fn take_within(
    base: &BaseDirectory,
    path: &Path,
    limit: Duration,
) -> Result<OwnedFd, DurableError> {
    let began = Instant::now();
    loop {
        let lock = open(base, path)?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            // Another process may have removed the file or its directory meanwhile.
            Ok(()) if is_at(&lock, base, path)? => return Ok(lock),
            Ok(()) | Err(Errno::INTR | Errno::WOULDBLOCK) if began.elapsed() < limit => {
                thread::sleep(RETRY);
            }
            Ok(()) | Err(Errno::INTR | Errno::WOULDBLOCK) => {
                return Err(DurableError::new(&base.display_path(path), DurableReason::Locked));
            }
            Err(errno) => return Err(DurableError::system(&base.display_path(path), errno)),
        }
    }
}

/// Takes the lock of an open file that any user can open. Waits while another process has it, for `limit` at
/// most.
///
/// # Errors
/// [`Errno::WOULDBLOCK`] if another process has it; or if the system refuses.
pub fn take_open(file: impl AsFd, limit: Duration) -> Result<(), Errno> {
    let began = Instant::now();
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::INTR | Errno::WOULDBLOCK) if began.elapsed() < limit => {
                thread::sleep(RETRY);
            }
            Err(Errno::INTR) => return Err(Errno::WOULDBLOCK),
            ended => return ended,
        }
    }
}

fn open(base: &BaseDirectory, path: &Path) -> Result<OwnedFd, DurableError> {
    let directory = base.private_directory(path.parent().unwrap_or(Path::new("/")))?;
    let system = |errno| DurableError::system(&base.display_path(path), errno);
    let name = path.file_name().ok_or_else(|| system(Errno::ISDIR))?;
    // Without NONBLOCK the open would wait for ever on a pipe that stands for a file.
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = flags | OFlags::NOCTTY | OFlags::CLOEXEC;
    let lock = rustix::fs::openat(directory, name, flags, Mode::from(0o600)).map_err(system)?;
    if kind(&rustix::fs::fstat(&lock).map_err(system)?) != FileType::RegularFile {
        return Err(DurableError::new(&base.display_path(path), DurableReason::NotRegular));
    }
    Ok(lock)
}

/// Whether the path still leads to the file that was opened.
fn is_at(lock: &OwnedFd, base: &BaseDirectory, path: &Path) -> Result<bool, DurableError> {
    let opened = rustix::fs::fstat(lock);
    let opened = opened.map_err(|errno| DurableError::system(&base.display_path(path), errno))?;
    match base.named_entry(path) {
        Err(error) if error.reason.errno() == Some(Errno::NOENT) => Ok(false),
        entry => {
            let now = entry?.found;
            Ok(now.is_some_and(|now| (now.st_dev, now.st_ino) == (opened.st_dev, opened.st_ino)))
        }
    }
}
