//! The file system that serves the driver's files.

mod mount;
mod names;
mod waiting;

pub use mount::{Mounted, mount};

use super::devices::Devices;
use super::tree::{self, Attribute, Entry};
use dsa_run::{IDENTIFY, Identity, WRITE_IN_PROCESS};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, IoctlFlags,
    LockOwner, OpenAccMode, OpenFlags, PollEvents, PollFlags, PollNotifier, ReplyAttr, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyOpen, ReplyPoll, ReplyWrite, Request,
    TimeOrNow, WriteFlags,
};
use idxd::Client;
use names::Names;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use waiting::Waiting;

/// Nothing is kept by the kernel: files come and go as queues are configured.
const NOT_KEPT: Duration = Duration::ZERO;
/// How often, and how long, an open of a queue in use looks whether a close is on its way.
const CLOSING_LOOKS: u32 = 10;
const CLOSING_LOOK: Duration = Duration::from_millis(2);
/// Size of an attribute, as sysfs says it.
const ATTRIBUTE_BYTES: u64 = 4096;
/// An open file.
enum Open {
    /// The text of an attribute, as it was when the file was first read.
    Attribute(Option<Vec<u8>>),
    Queue(Client, Identity),
}

struct Files {
    devices: Arc<Devices>,
    waiting: Arc<Waiting>,
    names: Mutex<Names>,
    open: Mutex<HashMap<u64, Open>>,
    handles: AtomicU64,
    owner: (u32, u32),
}

impl Files {
    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_files(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry_at(&self, path: &str) -> Result<Entry, Errno> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        tree::at(&self.devices.driver(), &parts).ok_or(Errno::ENOENT)
    }

    fn entry(&self, number: INodeNo) -> Result<(String, Entry), Errno> {
        let path = self.names().path(number).ok_or(Errno::ENOENT)?;
        let entry = self.entry_at(&path)?;
        Ok((path, entry))
    }

    fn attributes(&self, number: u64, entry: &Entry) -> FileAttr {
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

    fn open_entry(
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

    fn read_attribute(&self, number: INodeNo, handle: u64) -> Result<Vec<u8>, Errno> {
        if let Some(Open::Attribute(Some(text))) = self.open_files().get(&handle) {
            return Ok(text.clone());
        }
        let (_, Entry::Attribute(attribute)) = self.entry(number)? else {
            return Err(Errno::EIO);
        };
        let text = attribute.read(&self.devices.driver(), self.devices.hardware());
        Ok(text.map_err(kernel_error)?.into_bytes())
    }

    fn write_attribute(&self, attribute: &Attribute, data: &[u8]) -> Result<(), Errno> {
        let text = std::str::from_utf8(data).map_err(|_| Errno::EINVAL)?;
        let mut driver = self.devices.driver();
        attribute.write(text, &mut driver, self.devices.hardware()).map_err(kernel_error)
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

fn kernel_error(error: idxd::Errno) -> Errno {
    Errno::from_i32(error.0)
}

/// The process of a thread.
fn process_of(thread: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    process.and_then(|number| number.trim().parse().ok()).unwrap_or(thread)
}

impl Filesystem for Files {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.entry(parent).and_then(|(path, _)| {
            let path = format!("{path}/{}", name.to_str().ok_or(Errno::ENOENT)?);
            let entry = self.entry_at(&path)?;
            let number = self.names().number(&path);
            Ok(self.attributes(number, &entry))
        });
        match found {
            Ok(attributes) => reply.entry(&NOT_KEPT, &attributes, Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.entry(number) {
            Ok((_, entry)) => reply.attr(&NOT_KEPT, &self.attributes(number.0, &entry)),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        // A shell truncates what it writes to, which sysfs takes and ignores.
        if mode.is_some() || user.is_some() || group.is_some() {
            return reply.error(Errno::EPERM);
        }
        match self.entry(number) {
            Ok((_, entry)) => reply.attr(&NOT_KEPT, &self.attributes(number.0, &entry)),
            Err(error) => reply.error(error),
        }
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        match self.entry(number) {
            Ok((_, Entry::Link(to))) => reply.data(to.as_bytes()),
            Ok(_) => reply.error(Errno::EINVAL),
            Err(error) => reply.error(error),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let (path, names) = match self.entry(number) {
            Ok((path, Entry::Directory(names))) => (path, names),
            Ok(_) => return reply.error(Errno::ENOTDIR),
            Err(error) => return reply.error(error),
        };
        let all = [".", ".."].into_iter().chain(names.iter().map(String::as_str));
        for (position, name) in all.enumerate().skip(units::narrow::usize_from(offset)) {
            let below = format!("{path}/{name}");
            let (own, kind) = match self.entry_at(&below) {
                Ok(entry) => {
                    let own = self.names().number(&below);
                    (own, self.attributes(own, &entry).kind)
                }
                Err(_) => (number.0, FileType::Directory),
            };
            if reply.add(INodeNo(own), position as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn open(&self, request: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.open_entry(request, number, flags) {
            Ok((open, flags)) => {
                let handle = self.handles.fetch_add(1, Ordering::Relaxed);
                self.open_files().insert(handle, open);
                reply.opened(FileHandle(handle), flags);
            }
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.read_attribute(number, handle.0) {
            Ok(text) => {
                let start = text.len().min(units::narrow::usize_from(offset));
                let end = text.len().min(start + units::narrow::usize_from(size.into()));
                reply.data(&text[start..end]);
                // A reader in small steps sees one text; who reads from the start sees the present one.
                let kept = (end < text.len()).then_some(text);
                if let Some(Open::Attribute(own)) = self.open_files().get_mut(&handle.0) {
                    *own = kept;
                }
            }
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        _: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let written = match self.entry(number) {
            Ok((_, Entry::Attribute(attribute))) => self.write_attribute(&attribute, data),
            Ok((_, Entry::Queue(..))) => Err(Errno::from_i32(WRITE_IN_PROCESS)),
            Ok(_) => Err(Errno::EISDIR),
            Err(error) => Err(error),
        };
        match written {
            Ok(()) => reply.written(units::narrow::fit(data.len())),
            Err(error) => reply.error(error),
        }
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        let closed = self.open_files().remove(&handle.0);
        if let Some(Open::Queue(client, _)) = closed {
            self.devices.close(&client);
        }
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn ioctl(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: IoctlFlags,
        command: u32,
        _: &[u8],
        _: u32,
        reply: ReplyIoctl,
    ) {
        match self.open_files().get(&handle.0) {
            Some(Open::Queue(_, identity)) if command == IDENTIFY => {
                reply.ioctl(0, &identity.bytes());
            }
            _ => reply.error(Errno::ENOTTY),
        }
    }

    fn poll(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        notifier: PollNotifier,
        _: PollEvents,
        _: PollFlags,
        reply: ReplyPoll,
    ) {
        let device = match self.open_files().get(&handle.0) {
            Some(Open::Queue(client, _)) => client.device(),
            // An attribute can always be read.
            _ => return reply.poll(PollEvents::POLLIN),
        };
        if self.devices.has_error(device) {
            return reply.poll(PollEvents::POLLIN);
        }
        self.waiting.add(device, notifier.handle());
        reply.poll(PollEvents::empty());
    }
}
