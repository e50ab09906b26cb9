//! A lock that only root or this user can take, and the process that holds a lock.
//!
//! Every wait for a lock has a limit of time: whoever holds it may never let go.

mod holder;

use crate::directory::BaseDirectory;
use crate::error::{DurableError, DurableReason};
use crate::ownership::{is_own, kind};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

pub use holder::{LockHolder, holder};

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

/// Takes the lock of a file, which is created if it does not exist; the lock is held until all descriptors
/// of it are closed. Waits while another process has it, for `limit` at most.
///
/// Only the file's owner can open it (mode 600): any other user who could take the lock could keep it for
/// ever. A file that others could open before may still be open in a process of theirs, and locked: it is
/// then replaced by another file.
///
/// # Errors
/// [`DurableReason::Locked`] if another process has it; [`DurableReason::Distrusted`] if the file is a link
/// or belongs to another user; or if the system refuses.
pub fn take_within(
    base: &BaseDirectory,
    path: &Path,
    limit: Duration,
) -> Result<OwnedFd, DurableError> {
    let began = Instant::now();
    let system = |errno| DurableError::system(&base.display_path(path), errno);
    loop {
        let (lock, found) = open(base, path)?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            // Another process may have put another file in its place meanwhile.
            Ok(()) if leads_to(base, path, &found)? => return Ok(lock),
            Ok(()) | Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if holder::is_of_other_users(&found) => {
                remove(base, path, &found)?;
            }
            Err(Errno::WOULDBLOCK) if began.elapsed() < limit => thread::sleep(RETRY),
            Err(Errno::WOULDBLOCK) => {
                return Err(DurableError::new(&base.display_path(path), DurableReason::Locked));
            }
            Err(errno) => return Err(system(errno)),
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
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if began.elapsed() < limit => thread::sleep(RETRY),
            ended => return ended,
        }
    }
}

fn open(base: &BaseDirectory, path: &Path) -> Result<(OwnedFd, Stat), DurableError> {
    let entry = base.named_entry(path)?;
    let system = |errno| DurableError::system(&entry.path, errno);
    if entry.found.is_some_and(|found| kind(&found) == FileType::Symlink) {
        let words = DurableReason::Distrusted("is a link".to_owned());
        return Err(DurableError::new(&entry.path, words));
    }
    // Without NONBLOCK the open would wait for ever on a pipe that stands for a file.
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = flags | OFlags::NOCTTY | OFlags::CLOEXEC;
    let lock = rustix::fs::openat(&entry.directory, &entry.name, flags, Mode::from(0o600));
    let lock = lock.map_err(system)?;
    let found = rustix::fs::fstat(&lock).map_err(system)?;
    if kind(&found) != FileType::RegularFile {
        return Err(DurableError::new(&entry.path, DurableReason::NotRegular));
    }
    // The permissions of a file with another name would be changed for all who use that name.
    let words = match found.st_nlink {
        _ if !is_own(&found) => Some(format!("belongs to user {}", found.st_uid)),
        // Without a name: another process has just removed it.
        0 | 1 => None,
        names => Some(format!("has {names} names")),
    };
    if let Some(words) = words {
        return Err(DurableError::new(&entry.path, DurableReason::Distrusted(words)));
    }
    // Other users can open a file that an earlier version or another program created.
    rustix::fs::fchmod(&lock, Mode::from(0o600)).map_err(system)?;
    Ok((lock, found))
}

/// Whether the path still leads to the file that was opened.
fn leads_to(base: &BaseDirectory, path: &Path, opened: &Stat) -> Result<bool, DurableError> {
    let now = base.named_entry(path)?.found;
    Ok(now.is_some_and(|now| (now.st_dev, now.st_ino) == (opened.st_dev, opened.st_ino)))
}

/// Removes the file of a lock that only other users hold, if the path still leads to it.
fn remove(base: &BaseDirectory, path: &Path, opened: &Stat) -> Result<(), DurableError> {
    if !leads_to(base, path, opened)? {
        return Ok(());
    }
    let entry = base.named_entry(path)?;
    match rustix::fs::unlinkat(&entry.directory, &entry.name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(DurableError::system(&entry.path, errno)),
    }
}
