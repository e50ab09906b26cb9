//! Files of queues that programs have open.
//!
//! Each open creates a file in memory. The supervisor locks it for the program: the lock belongs to the open
//! file, so it ends when the last process has closed the last descriptor and mapping of the file, however
//! that process has ended. The supervisor detects this by taking the lock itself.

use crate::run::devices::RunDevices;
use crate::run::driver_files;
use dsa_run::Identity;
use idxd::{Client, Errno};
use rustix::fs::{FlockOperation, MemfdFlags, SealFlags};
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The open files of all queues.
pub struct QueueFiles {
    devices: Arc<RunDevices>,
    file_system: u64,
    open: Mutex<Vec<OpenQueueFile>>,
    /// Locked while files are closed or handed out: with the lock no file is on its way.
    closing: Mutex<()>,
}

/// A file that a program has open.
struct OpenQueueFile {
    /// The supervisor's own open file of it, which has no lock.
    file: File,
    number: u64,
    client: Client,
    identity: Identity,
}

/// A file on its way to a program. Until this is dropped the file is not checked for being closed, as the
/// supervisor still has the program's descriptor.
pub struct HandedFile<'a> {
    pub descriptor: OwnedFd,
    _closing: MutexGuard<'a, ()>,
}

impl QueueFiles {
    /// A set without open files.
    pub fn new(devices: Arc<RunDevices>) -> io::Result<Self> {
        let (_, file) = locked_file()?;
        Ok(Self {
            devices,
            file_system: file.metadata()?.dev(),
            open: Mutex::default(),
            closing: Mutex::default(),
        })
    }

    /// Number of the file system of these files, and of other files in memory.
    pub fn file_system(&self) -> u64 {
        self.file_system
    }

    fn open_files(&self) -> MutexGuard<'_, Vec<OpenQueueFile>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a queue for a process.
    pub fn open(&self, device: usize, queue: usize, process: u32) -> Result<HandedFile<'_>, Errno> {
        // A queue that was closed just before is free.
        let closing = self.close_abandoned();
        let (client, identity) = self.devices.open(device, queue, process)?;
        let changed = driver_files::queue_file_time(&self.devices.driver(), device, queue);
        let made = locked_file().and_then(|(descriptor, file)| {
            let number = file.metadata()?.ino();
            file.set_permissions(Permissions::from_mode(dsa_run::QUEUE_FILE_MODE))?;
            file.set_modified(changed)?;
            Ok((descriptor, file, number))
        });
        match made {
            Ok((descriptor, file, number)) => {
                self.open_files().push(OpenQueueFile { file, number, client, identity });
                Ok(HandedFile { descriptor, _closing: closing })
            }
            Err(error) => {
                self.devices.close(&client);
                Err(Errno(error.raw_os_error().unwrap_or(libc::EIO)))
            }
        }
    }

    /// The identity of an open file, by its inode number.
    pub fn identity(&self, number: u64) -> Option<Identity> {
        let open = self.open_files();
        open.iter().find(|file| file.number == number).map(|file| file.identity)
    }

    /// Closes the files that no process has open any more; returns the lock that keeps files from being
    /// closed.
    pub fn close_abandoned(&self) -> MutexGuard<'_, ()> {
        let is_abandoned = |file: &mut OpenQueueFile| {
            rustix::fs::flock(&file.file, FlockOperation::NonBlockingLockExclusive).is_ok()
        };
        let closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        let abandoned: Vec<OpenQueueFile> =
            self.open_files().extract_if(.., is_abandoned).collect();
        for file in abandoned {
            self.devices.close(&file.client);
        }
        closing
    }
}

/// Creates an empty file in memory: a descriptor for a program, which has the lock, and another open file.
fn locked_file() -> io::Result<(OwnedFd, File)> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let descriptor = rustix::fs::memfd_create("skipline-dsa queue", flags)?;
    // The file can never have a page, and writes to it fail.
    rustix::fs::fcntl_add_seals(&descriptor, SealFlags::GROW | SealFlags::SEAL)?;
    rustix::fs::flock(&descriptor, FlockOperation::NonBlockingLockExclusive)?;
    let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    let file = File::options().read(true).write(true).open(path)?;
    Ok((descriptor, file))
}
