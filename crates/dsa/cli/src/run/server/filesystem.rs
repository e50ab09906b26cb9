//! Answers the requests of the kernel.

use super::OpenEntry;
use super::files::{ServedFiles, kernel_error};
use crate::run::driver_files::{FileAttribute, TreeEntry};
use dsa_run::{IDENTIFY, WRITE_IN_PROCESS};
use fuser::{
    Errno, FileHandle, FileType, Filesystem, Generation, INodeNo, IoctlFlags, LockOwner, OpenFlags,
    PollEvents, PollFlags, PollNotifier, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyIoctl, ReplyOpen, ReplyPoll, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

/// The kernel caches nothing: files come and go as queues are configured.
const NOT_CACHED: Duration = Duration::ZERO;

/// Does work in a thread of its own if it may wait for a queue: the few threads that serve requests are for
/// all devices.
fn run_aside(may_wait: bool, work: impl FnOnce() + Send + 'static) {
    if may_wait {
        // Where no thread can be had, the request is answered with an error: its reply is dropped.
        drop(std::thread::Builder::new().spawn(work));
    } else {
        work();
    }
}

impl Filesystem for ServedFiles {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.entry(parent).and_then(|(path, _)| {
            let path = format!("{path}/{}", name.to_str().ok_or(Errno::ENOENT)?);
            let entry = self.entry_at(&path)?;
            let number = if let TreeEntry::Attribute(FileAttribute::Bind(..)) = entry {
                self.names().fresh_number(&path)
            } else {
                self.names().number(&path)
            };
            Ok(self.attributes(number, &entry))
        });
        match found {
            Ok(attributes) => reply.entry(&NOT_CACHED, &attributes, Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.entry(number) {
            Ok((_, entry)) => reply.attr(&NOT_CACHED, &self.attributes(number.0, &entry)),
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
            Ok((_, entry)) => reply.attr(&NOT_CACHED, &self.attributes(number.0, &entry)),
            Err(error) => reply.error(error),
        }
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        match self.entry(number) {
            Ok((_, TreeEntry::Link(to))) => reply.data(to.as_bytes()),
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
            Ok((path, TreeEntry::Directory(names))) => (path, names),
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
                // A reader in small steps gets one text; a read from the start gets the present one.
                let kept = (end < text.len()).then_some(text);
                if let Some(OpenEntry::Attribute(own)) = self.open_files().get_mut(&handle.0) {
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
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let attribute = match self.entry(number) {
            Ok((_, TreeEntry::Attribute(FileAttribute::PciConfig(device)))) => {
                self.devices.write_config_space(device, offset, data);
                return reply.written(units::narrow::fit(data.len() as u64));
            }
            Ok((_, TreeEntry::Attribute(attribute))) => attribute,
            Ok((_, TreeEntry::Queue(..))) => return reply.error(Errno::from_i32(WRITE_IN_PROCESS)),
            Ok(_) => return reply.error(Errno::EISDIR),
            Err(error) => return reply.error(error),
        };
        let Ok(text) = String::from_utf8(data.to_vec()) else { return reply.error(Errno::EINVAL) };
        let may_wait = !attribute.drains(&text, &self.devices.driver()).is_empty();
        let devices = Arc::clone(&self.devices);
        run_aside(may_wait, move || match devices.write(&attribute, &text) {
            Ok(()) => reply.written(units::narrow::fit(text.len())),
            Err(error) => reply.error(kernel_error(error)),
        });
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
        if let Some(OpenEntry::Queue(client, _)) = closed {
            let devices = Arc::clone(&self.devices);
            return run_aside(devices.is_busy(&client), move || {
                devices.close(&client);
                reply.ok();
            });
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
            Some(OpenEntry::Queue(_, identity)) if command == IDENTIFY => {
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
            Some(OpenEntry::Queue(client, _)) => client.device(),
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
