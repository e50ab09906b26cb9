//! The files of the file system: attributes of paths, opening and reading.

use super::OpenEntry;
use super::inodes::InodeTable;
use super::pollers::PollWaiters;
use crate::run::devices::RunDevices;
use crate::run::driver_files::{self, FileAttribute, TreeEntry};
use crate::run::program::LIBRARY;
use dsa_run::Identity;
use fuser::{Errno, FileAttr, FileType, FopenFlags, INodeNo, OpenAccMode, OpenFlags, Request};
use idxd::Client;
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Number and interval of the tries to open a queue in use, as a close may be on its way.
const OPEN_TRIES: u32 = 10;
const OPEN_INTERVAL: Duration = Duration::from_millis(2);
/// Size of an attribute's file in sysfs.
const ATTRIBUTE_BYTES: u64 = 4096;

/// The files that the file system serves, and those that are open.
pub struct ServedFiles {
    pub devices: Arc<RunDevices>,
    pub waiting: Arc<PollWaiters>,
    pub names: Mutex<InodeTable>,
    pub open: Mutex<HashMap<u64, OpenEntry>>,
    pub handles: AtomicU64,
    pub owner: (u32, u32),
}

impl ServedFiles {
    pub fn names(&self) -> MutexGuard<'_, InodeTable> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn open_files(&self) -> MutexGuard<'_, HashMap<u64, OpenEntry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn entry_at(&self, path: &str) -> Result<TreeEntry, Errno> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        driver_files::entry_at(&self.devices.driver(), &parts).ok_or(Errno::ENOENT)
    }

    pub fn entry(&self, number: INodeNo) -> Result<(String, TreeEntry), Errno> {
        let path = self.names().path(number).ok_or(Errno::ENOENT)?;
        let entry = self.entry_at(&path)?;
        Ok((path, entry))
    }

    pub fn attributes(&self, number: u64, entry: &TreeEntry) -> FileAttr {
        let (kind, perm, size) = match entry {
            TreeEntry::Directory(_) => (FileType::Directory, 0o755, 0),
            TreeEntry::Link(to) => (FileType::Symlink, 0o777, to.len() as u64),
            TreeEntry::Attribute(own) => (FileType::RegularFile, own.mode(), ATTRIBUTE_BYTES),
            // Empty, so that each access to a mapped page is beyond its end.
            TreeEntry::Queue(..) => {
                (FileType::RegularFile, units::narrow::fit(dsa_run::QUEUE_FILE_MODE), 0)
            }
        };
        let time = SystemTime::UNIX_EPOCH;
        let changed = match *entry {
            TreeEntry::Queue(device, queue) => {
                driver_files::queue_file_time(&self.devices.driver(), device, queue)
            }
            _ => time,
        };
        FileAttr {
            ino: INodeNo(number),
            size,
            blocks: 0,
            atime: time,
            mtime: changed,
            ctime: time,
            crtime: time,
            kind,
            perm,
            nlink: 1,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    pub fn open_entry(
        &self,
        request: &Request,
        number: INodeNo,
        flags: OpenFlags,
    ) -> Result<(OpenEntry, FopenFlags), Errno> {
        match self.entry(number)?.1 {
            // Root is refused as well, as the attribute has no function for the access.
            TreeEntry::Attribute(own) if !may_open(own.mode(), flags) => Err(Errno::EACCES),
            TreeEntry::Attribute(_) => {
                Ok((OpenEntry::Attribute(None), FopenFlags::FOPEN_DIRECT_IO))
            }
            TreeEntry::Queue(device, queue) => {
                let process = process_of(request.pid());
                if is_without_library(process) {
                    refuse(process, device, queue);
                    return Err(Errno::EPERM);
                }
                let (client, identity) = self.open_queue(device, queue, process)?;
                Ok((OpenEntry::Queue(client, identity), FopenFlags::FOPEN_NONSEEKABLE))
            }
            TreeEntry::Directory(_) => Err(Errno::EISDIR),
            TreeEntry::Link(_) => Err(Errno::ELOOP),
        }
    }

    /// Opens a queue. The close of its last file may still be on its way, as the kernel does not wait for it.
    fn open_queue(
        &self,
        device: usize,
        queue: usize,
        process: u32,
    ) -> Result<(Client, Identity), Errno> {
        for _ in 0..OPEN_TRIES {
            match self.devices.open(device, queue, process) {
                Err(error) if error == idxd::Errno::EBUSY => std::thread::sleep(OPEN_INTERVAL),
                opened => return opened.map_err(kernel_error),
            }
        }
        Err(Errno::EBUSY)
    }

    pub fn read_attribute(&self, number: INodeNo, handle: u64) -> Result<Vec<u8>, Errno> {
        if let Some(OpenEntry::Attribute(Some(text))) = self.open_files().get(&handle) {
            return Ok(text.clone());
        }
        let (_, TreeEntry::Attribute(attribute)) = self.entry(number)? else {
            return Err(Errno::EIO);
        };
        if let FileAttribute::PciConfig(device) = attribute {
            return Ok(self.devices.config_space(device));
        }
        let text = attribute.read(&self.devices.driver(), self.devices.hardware());
        Ok(text.map_err(kernel_error)?.into_bytes())
    }
}

/// Whether a file with these permissions can be opened with these flags.
fn may_open(mode: u16, flags: OpenFlags) -> bool {
    match flags.acc_mode() {
        OpenAccMode::O_RDONLY => mode & 0o444 != 0,
        OpenAccMode::O_WRONLY => mode & 0o222 != 0,
        OpenAccMode::O_RDWR => mode & 0o444 != 0 && mode & 0o222 != 0,
    }
}

pub fn kernel_error(error: idxd::Errno) -> Errno {
    Errno::from_i32(error.0)
}

/// Whether a process does not have the library of the run, without which its first descriptor ends it. A process
/// whose mappings cannot be read, as in another PID namespace, counts as having it.
fn is_without_library(process: u32) -> bool {
    let maps = std::fs::read(format!("/proc/{process}/maps"));
    maps.is_ok_and(|maps| {
        let name = LIBRARY.as_bytes();
        !maps.is_empty() && !maps.windows(name.len()).any(|part| part == name)
    })
}

fn refuse(process: u32, device: usize, queue: usize) {
    let program = std::fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default();
    eprintln!(
        "skipline-dsa: {} (process {process}) may not open wq{device}.{queue}: it has not loaded the library of \
         the run, as it is statically linked, or was started with another LD_PRELOAD; `skipline-dsa doctor \
         PROGRAM` says which",
        program.display()
    );
}

/// The process that a thread belongs to.
fn process_of(thread: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    process.and_then(|number| number.trim().parse().ok()).unwrap_or(thread)
}
