//! Requests of programs to the supervisor, in a run that has no namespaces.
//!
//! A request is a packet to the socket [`SOCKET`] of the run's directory (SOCK_SEQPACKET). The answer is a
//! packet, too: an error number in four bytes, little endian, 0 for none; then the reply.
//!
//! | request | answer |
//! | --- | --- |
//! | `names` | the names of all devices, queues, groups and engines, a line each |
//! | `read NODE ATTRIBUTE` | the text of the attribute |
//! | `write NODE ATTRIBUTE`, newline, text | |
//! | `bound NODE` | the driver that it is bound to |
//! | `bind DRIVER NODE`, `unbind DRIVER NODE` | |
//! | `place NODE` | the PCI address of its device |
//! | `status CODE` | a `cmd_status`, given in decimal, in words |
//! | `open QUEUE` | the file of a queue, beside the packet (SCM_RIGHTS) |
//! | `identify NUMBER` | the [`crate::Identity`] of the open file with that inode number |
//!
//! The file of a queue is one in memory, as empty as that of a run with namespaces. It is open as long as
//! a descriptor or a mapping of any process has it, as a device's file is.

/// File name of the socket in the run's directory. It exists if the run has no namespaces.
pub const SOCKET: &str = "requests";

/// Largest size of a packet in bytes: a text of 4096 bytes and its request.
pub const MOST_BYTES: usize = 8192;

/// Directory in the run's directory with ordinary files, in place of the /sys and /dev of a run with
/// namespaces. They show the configuration. Writing to them changes nothing.
pub const FILES: &str = "plain";
