//! The file system that serves the driver's files.
//!
//! - [`mount`]: mounts the file system.
//! - [`filesystem`]: requests of the kernel; [`files`]: the files that they access.
//! - [`inodes`]: numbers of paths; [`pollers`]: programs that poll.

mod files;
mod filesystem;
mod inodes;
mod mount;
mod pollers;

pub use mount::{MountedFiles, check_possible, mount};

use dsa_run::Identity;
use idxd::Client;

/// An open file of the file system.
enum OpenEntry {
    /// The text of an attribute, as it was when the file was first read.
    Attribute(Option<Vec<u8>>),
    /// The file of a queue.
    Queue(Client, Identity),
}
