//! Requests to the supervisor ([`dsa_run::requests`]).

use crate::libc_functions::errno;
use crate::run::CurrentRun;
use dsa_run::requests::MOST_BYTES;
use libc::c_int;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// A successful reply of the supervisor.
pub struct SupervisorReply {
    /// Bytes of the reply.
    pub bytes: Vec<u8>,
    /// File that came with the reply, if any.
    pub file: Option<OwnedFd>,
}

/// Sends a request to the supervisor and waits for its reply.
///
/// # Errors
/// The error number of the reply; ENODEV if the supervisor has ended.
pub fn send(run: &CurrentRun, request: &str) -> Result<SupervisorReply, c_int> {
    let path = run.requests.as_ref().ok_or(libc::ENODEV)?;
    // SAFETY: the address is filled in; the descriptor is new.
    unsafe {
        let mut address: libc::sockaddr_un = std::mem::zeroed();
        address.sun_family = libc::AF_UNIX.cast_unsigned().try_into().unwrap_or_default();
        let bytes = path.as_os_str().as_bytes();
        for (to, byte) in address.sun_path.iter_mut().zip(bytes) {
            *to = byte.cast_signed();
        }
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        let socket = libc::socket(libc::AF_UNIX, kind, 0);
        if socket < 0 {
            return Err(errno());
        }
        let socket = OwnedFd::from_raw_fd(socket);
        let length = units::narrow::fit(size_of::<libc::sockaddr_un>());
        let number = socket.as_raw_fd();
        let text = request.as_bytes();
        if libc::connect(number, (&raw const address).cast(), length) != 0
            || libc::send(number, text.as_ptr().cast(), text.len(), libc::MSG_NOSIGNAL)
                != text.len().cast_signed()
        {
            return Err(libc::ENODEV);
        }
        receive(&socket)
    }
}

fn receive(socket: &OwnedFd) -> Result<SupervisorReply, c_int> {
    const ERROR_BYTES: usize = 4;
    let mut bytes = vec![0; MOST_BYTES];
    // Aligned as a header of control data has to be.
    let mut control = [0_u64; 8];
    // SAFETY: all buffers are this function's; a control message of this kind has a descriptor, which is
    // new and belongs to nothing else.
    let (length, file) = unsafe {
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        let received = loop {
            let received =
                libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC);
            // A signal without SA_RESTART may come before the answer does.
            if received >= 0 || errno() != libc::EINTR {
                break received;
            }
        };
        let header = libc::CMSG_FIRSTHDR(&raw const message).as_ref();
        let file = header.filter(|header| header.cmsg_type == libc::SCM_RIGHTS).map(|header| {
            OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<c_int>().read_unaligned())
        });
        (received.max(0).cast_unsigned(), file)
    };
    bytes.truncate(length);
    let (error, rest) = bytes.split_first_chunk::<ERROR_BYTES>().ok_or(libc::ENODEV)?;
    match i32::from_le_bytes(*error) {
        0 => Ok(SupervisorReply { bytes: rest.to_vec(), file }),
        error => Err(error),
    }
}
