//! What is at a path, and what opening, reading and writing it does.

use super::Open;
use super::names::Names;
use super::waiting::Waiting;
use crate::run::devices::Devices;
use crate::run::tree::{self, Entry};
use dsa_run::Identity;
use fuser::{Errno, FileAttr, FileType, FopenFlags, INodeNo, OpenAccMode, OpenFlags, Request};
use idxd::Client;
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// How often, and how long, an open of a queue in use looks whether a close is on its way.
const CLOSING_LOOKS: u32 = 10;
const CLOSING_LOOK: Duration = Duration::from_millis(2);
/// Size of an attribute, as sysfs says it.
const ATTRIBUTE_BYTES: u64 = 4096;

/// The files, and those that are open.
pub struct Files {
    pub devices: Arc<Devices>,
    pub waiting: Arc<Waiting>,
    pub names: Mutex<Names>,
    pub open: Mutex<HashMap<u64, Open>>,
    pub handles: AtomicU64,
    pub owner: (u32, u32),
}

impl Files {
    pub fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn open_files(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn entry_at(&self, path: &str) -> Result<Entry, Errno> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        tree::at(&self.devices.driver(), &parts).ok_or(Errno::ENOENT)
    }

    pub fn entry(&self, number: INodeNo) -> Result<(String, Entry), Errno> {
        let path = self.names().path(number).ok_or(Errno::ENOENT)?;
        let entry = self.entry_at(&path)?;
        Ok((path, entry))
    }

    pub fn attributes(&self, number: u64, entry: &Entry) -> FileAttr {
        let (kind, perm, size) = match entry {
            Entry::Directory(_) => (FileType::Directory, 0o755, 0),
            Entry::Link(to) => (FileType::Symlink, 0o777, to.len() as u64),
            Entry::Attribute(own) => (FileType::RegularFile, own.mode(), ATTRIBUTE_BYTES),
            // Empty, so that each access to its page is one beyond its end.
            Entry::Queue(..) => (FileType::RegularFile, 0o600, 0),
        };
        let time = SystemTime::UNIX_EPOCH;
        FileAttr {
            ino: INodeNo(number),
            size,
            blocks: 0,
            atime: time,
            mtime: time,
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
    ) -> Result<(Open, FopenFlags), Errno> {
        match self.entry(number)?.1 {
            // Also of root, as an attribute has no function for it.
            Entry::Attribute(own) if !is_possible(own.mode(), flags) => Err(Errno::EACCES),
            Entry::Attribute(_) => Ok((Open::Attribute(None), FopenFlags::FOPEN_DIRECT_IO)),
            Entry::Queue(device, queue) => {
                let process = process_of(request.pid());
                let (client, identity) = self.open_queue(device, queue, process)?;
                Ok((Open::Queue(client, identity), FopenFlags::FOPEN_NONSEEKABLE))
            }
            Entry::Directory(_) => Err(Errno::EISDIR),
            Entry::Link(_) => Err(Errno::ELOOP),
        }
    }

    /// A file that was closed just before may be on its way: the kernel does not wait for that.
    fn open_queue(
        &self,
        device: usize,
        queue: usize,
        process: u32,
    ) -> Result<(Client, Identity), Errno> {
        for _ in 0..CLOSING_LOOKS {
            match self.devices.open(device, queue, process) {
                Err(error) if error == idxd::Errno::EBUSY => std::thread::sleep(CLOSING_LOOK),
                opened => return opened.map_err(kernel_error),
            }
        }
        Err(Errno::EBUSY)
    }

    pub fn read_attribute(&self, number: INodeNo, handle: u64) -> Result<Vec<u8>, Errno> {
        if let Some(Open::Attribute(Some(text))) = self.open_files().get(&handle) {
            return Ok(text.clone());
        }
        let (_, Entry::Attribute(attribute)) = self.entry(number)? else {
            return Err(Errno::EIO);
        };
        let text = attribute.read(&self.devices.driver(), self.devices.hardware());
        Ok(text.map_err(kernel_error)?.into_bytes())
    }
}

/// Whether a file of these permissions can be opened so.
fn is_possible(mode: u16, flags: OpenFlags) -> bool {
    match flags.acc_mode() {
        OpenAccMode::O_RDONLY => mode & 0o444 != 0,
        OpenAccMode::O_WRONLY => mode & 0o222 != 0,
        OpenAccMode::O_RDWR => mode & 0o444 != 0 && mode & 0o222 != 0,
    }
}

pub fn kernel_error(error: idxd::Errno) -> Errno {
    Errno::from_i32(error.0)
}

/// The process of a thread.
fn process_of(thread: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    process.and_then(|number| number.trim().parse().ok()).unwrap_or(thread)
}
