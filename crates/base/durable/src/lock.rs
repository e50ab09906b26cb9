//! A lock that only root or this user can take.

use crate::directory::BaseDirectory;
use crate::error::{DurableError, DurableReason};
use crate::ownership::{is_own, kind};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Takes the lock of a file, which is created if it does not exist; the lock is held until all descriptors
/// of it are closed. `waits`: whether to wait while another process has it.
///
/// Only the file's owner can open it (mode 600): any other user who could take the lock could keep it for
/// ever.
///
/// # Errors
/// [`DurableReason::Locked`] if another process has it; [`DurableReason::Distrusted`] if the file is a link
/// or belongs to another user; or if the system refuses.
pub fn take(base: &BaseDirectory, path: &Path, waits: bool) -> Result<OwnedFd, DurableError> {
    let lock = open(base, path)?;
    let how = match waits {
        true => FlockOperation::LockExclusive,
        false => FlockOperation::NonBlockingLockExclusive,
    };
    match rustix::fs::flock(&lock, how) {
        Ok(()) => Ok(lock),
        Err(Errno::WOULDBLOCK) => {
            Err(DurableError::new(&base.display_path(path), DurableReason::Locked))
        }
        Err(errno) => Err(DurableError::system(&base.display_path(path), errno)),
    }
}

fn open(base: &BaseDirectory, path: &Path) -> Result<OwnedFd, DurableError> {
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
        1 => None,
        names => Some(format!("has {names} names")),
    };
    if let Some(words) = words {
        return Err(DurableError::new(&entry.path, DurableReason::Distrusted(words)));
    }
    // Other users can open a file that an earlier version or another program created.
    rustix::fs::fchmod(&lock, Mode::from(0o600)).map_err(system)?;
    Ok(lock)
}
