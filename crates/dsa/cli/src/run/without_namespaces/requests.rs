//! Answers the requests of programs ([`dsa_run::requests`] lists them).

use super::files::PlainFiles;
use super::queues::{HandedFile, QueueFiles};
use crate::run::devices::RunDevices;
use crate::run::driver_files::FileAttribute;
use dsa_run::requests::{MOST_BYTES, SOCKET};
use idxd::{BusNode, CommandStatus, DriverName, Errno};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// Most connections that wait to be accepted.
const BACKLOG: i32 = 64;

/// Answers the requests of all programs.
struct RequestServer {
    devices: Arc<RunDevices>,
    queues: Arc<QueueFiles>,
    files: PlainFiles,
}

/// The answer to a request: bytes, and the file of a queue, if one was opened.
#[derive(Default)]
struct RequestAnswer<'a> {
    bytes: Vec<u8>,
    file: Option<HandedFile<'a>>,
}

impl From<String> for RequestAnswer<'_> {
    fn from(text: String) -> Self {
        Self { bytes: text.into_bytes(), file: None }
    }
}

/// Answers at the socket of a run's directory until the process ends.
pub fn serve(
    directory: &Path,
    devices: &Arc<RunDevices>,
    queues: &Arc<QueueFiles>,
    files: PlainFiles,
) -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(directory.join(SOCKET))?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    let (devices, queues) = (Arc::clone(devices), Arc::clone(queues));
    let server = Arc::new(RequestServer { devices, queues, files });
    std::thread::Builder::new().spawn(move || {
        loop {
            let Ok(connection) = rustix::net::accept_with(&socket, flags) else { continue };
            let server = Arc::clone(&server);
            // A request may wait for a queue to drain, and others go on. Without a thread the connection
            // is closed, which is an error for the program.
            drop(std::thread::Builder::new().spawn(move || server.converse(&connection)));
        }
    })?;
    Ok(())
}

impl RequestServer {
    /// Answers one program until it closes the connection.
    fn converse(&self, connection: &OwnedFd) {
        let Ok(program) = rustix::net::sockopt::socket_peercred(connection) else { return };
        let process = program.pid.as_raw_nonzero().get().cast_unsigned();
        let mut packet = vec![0; MOST_BYTES];
        while let Ok((length @ 1.., _)) =
            rustix::net::recv(connection, &mut packet[..], rustix::net::RecvFlags::empty())
        {
            let answer = std::str::from_utf8(&packet[..length]).map_err(|_| Errno::EINVAL);
            let answer = answer.and_then(|text| self.answer(text, process));
            if send(connection, &answer).is_err() {
                return;
            }
        }
    }

    fn answer(&self, packet: &str, process: u32) -> Result<RequestAnswer<'_>, Errno> {
        let (request, text) = packet.split_once('\n').unwrap_or((packet, ""));
        let words: Vec<&str> = request.split(' ').collect();
        let devices = &self.devices;
        match words[..] {
            ["names"] => {
                let driver = devices.driver();
                Ok(driver.nodes().map(|node| format!("{node}\n")).collect::<String>().into())
            }
            ["read", own, name] => {
                let (node, driver) = (node(own)?, devices.driver());
                driver.read(node, name, devices.hardware()).map(RequestAnswer::from)
            }
            ["write", own, name] => self.write(node(own)?, name, text),
            ["bound", own] => {
                let bound = devices.driver().bound(node(own)?).ok_or(Errno::ENODEV)?;
                Ok(bound.name().to_owned().into())
            }
            ["bind", driver, own] => self.bind(driver, true, own),
            ["unbind", driver, own] => self.bind(driver, false, own),
            ["place", own] => {
                let driver = devices.driver();
                let device = driver.devices().get(node(own)?.device()).ok_or(Errno::ENODEV)?;
                Ok(device.part().pci_address.clone().into())
            }
            ["status", code] => {
                let code = code.parse().map_err(|_| Errno::EINVAL)?;
                let sentence = CommandStatus(code).sentence().unwrap_or("a code that is not known");
                Ok(sentence.to_owned().into())
            }
            ["open", queue] => {
                let Ok(BusNode::Queue(device, queue)) = node(queue) else {
                    return Err(Errno::ENOENT);
                };
                // A queue that is not enabled for programs has no file.
                devices.driver().cdev_minor(device, queue).ok_or(Errno::ENOENT)?;
                let file = self.queues.open(device, queue, process)?;
                Ok(RequestAnswer { bytes: Vec::new(), file: Some(file) })
            }
            ["identify", number] => {
                let number = number.parse().map_err(|_| Errno::EINVAL)?;
                let identity = self.queues.identity(number).ok_or(Errno::ENOENT)?;
                Ok(RequestAnswer { bytes: identity.bytes(), file: None })
            }
            _ => Err(Errno::EINVAL),
        }
    }

    fn write(&self, node: BusNode, name: &str, text: &str) -> Result<RequestAnswer<'_>, Errno> {
        let attributes = self.devices.driver().attributes(node);
        let found = attributes.iter().find(|own| own.name == name).ok_or(Errno::ENOENT)?;
        if !found.writable {
            return Err(Errno::EACCES);
        }
        self.change(&FileAttribute::Node(node, name.to_owned(), true), text)
    }

    fn bind(&self, driver: &str, is_bind: bool, name: &str) -> Result<RequestAnswer<'_>, Errno> {
        let driver = DriverName::from_str(driver)?;
        self.change(&FileAttribute::Bind(driver, is_bind), &format!("{name}\n"))
    }

    /// Writes an attribute, and updates the files, so that a program which reads them afterwards sees the
    /// change.
    fn change(&self, attribute: &FileAttribute, text: &str) -> Result<RequestAnswer<'_>, Errno> {
        self.devices.write(attribute, text)?;
        self.files.update(&self.devices);
        Ok(RequestAnswer::default())
    }
}

fn node(name: &str) -> Result<BusNode, Errno> {
    BusNode::from_str(name).map_err(|_| Errno::ENODEV)
}

fn send(connection: &OwnedFd, answer: &Result<RequestAnswer<'_>, Errno>) -> io::Result<()> {
    let none = RequestAnswer::default();
    let (error, answer) = match answer {
        Ok(answer) => (0, answer),
        Err(error) => (error.0, &none),
    };
    let head = error.to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let file = answer.file.as_ref().map(|file| [file.descriptor.as_fd()]);
    if let Some(file) = &file {
        control.push(SendAncillaryMessage::ScmRights(file));
    }
    let parts = [IoSlice::new(&head), IoSlice::new(&answer.bytes)];
    rustix::net::sendmsg(connection, &parts, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}
