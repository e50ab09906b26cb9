//! Files of queues that programs have open.
//!
//! Each open gives a file in memory of its own. The supervisor locks it for the program: the lock is that
//! of the open file, so it ends when the last process has closed the last descriptor and mapping of it,
//! however that process has ended. The supervisor sees that by taking the lock itself.

use crate::run::devices::Devices;
use dsa_run::Identity;
use idxd::{Client, Errno};
use rustix::fs::{FlockOperation, MemfdFlags, SealFlags};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All of them.
pub struct QueueFiles {
    devices: Arc<Devices>,
    file_system: u64,
    open: Mutex<Vec<OpenFile>>,
    /// Held while files are closed: who finds none to close knows that none is on its way.
    closing: Mutex<()>,
}

/// A file that a program has open.
struct OpenFile {
    /// The supervisor's own way to it, which has no lock.
    file: File,
    number: u64,
    client: Client,
    identity: Identity,
}

/// A file on its way to a program. Until this is dropped nothing looks whether it is closed: the
/// supervisor still has the descriptor that the program has.
pub struct Handed<'a> {
    pub descriptor: OwnedFd,
    _closing: MutexGuard<'a, ()>,
}

impl QueueFiles {
    /// None yet.
    pub fn new(devices: Arc<Devices>) -> io::Result<Self> {
        let (_, file) = locked_file()?;
        Ok(Self {
            devices,
            file_system: file.metadata()?.dev(),
            open: Mutex::default(),
            closing: Mutex::default(),
        })
    }

    /// Number of the file system that they are in, and other files in memory, too.
    pub fn file_system(&self) -> u64 {
        self.file_system
    }

    fn open_files(&self) -> MutexGuard<'_, Vec<OpenFile>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a queue for a process.
    pub fn open(&self, device: usize, queue: usize, process: u32) -> Result<Handed<'_>, Errno> {
        // What was closed just before is free.
        let closing = self.close_left();
        let (client, identity) = self.devices.open(device, queue, process)?;
        let made = locked_file().and_then(|(descriptor, file)| {
            let number = file.metadata()?.ino();
            Ok((descriptor, file, number))
        });
        match made {
            Ok((descriptor, file, number)) => {
                self.open_files().push(OpenFile { file, number, client, identity });
                Ok(Handed { descriptor, _closing: closing })
            }
            Err(error) => {
                self.devices.close(&client);
                Err(Errno(error.raw_os_error().unwrap_or(libc::EIO)))
            }
        }
    }

    /// Which queue an open file is.
    pub fn identity(&self, number: u64) -> Option<Identity> {
        let open = self.open_files();
        open.iter().find(|file| file.number == number).map(|file| file.identity)
    }

    /// Closes those that no process has any more.
    pub fn close_left(&self) -> MutexGuard<'_, ()> {
        let is_left = |file: &mut OpenFile| {
            rustix::fs::flock(&file.file, FlockOperation::NonBlockingLockExclusive).is_ok()
        };
        let closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        let left: Vec<OpenFile> = self.open_files().extract_if(.., is_left).collect();
        for file in left {
            self.devices.close(&file.client);
        }
        closing
    }
}

/// A file in memory that stays empty: the descriptor for a program, which has the lock, and another way
/// to it.
fn locked_file() -> io::Result<(OwnedFd, File)> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let descriptor = rustix::fs::memfd_create("skipline-dsa queue", flags)?;
    // A page of it can never be there: what a program writes to the file itself fails.
    rustix::fs::fcntl_add_seals(&descriptor, SealFlags::GROW | SealFlags::SEAL)?;
    rustix::fs::flock(&descriptor, FlockOperation::NonBlockingLockExclusive)?;
    let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    let file = File::options().read(true).write(true).open(path)?;
    Ok((descriptor, file))
}
