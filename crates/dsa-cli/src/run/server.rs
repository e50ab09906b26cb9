//! The file system that serves the driver's files.
//!
//! - [`mount`]: the file system at its place.
//! - [`filesystem`]: requests of the kernel; [`files`]: what they find.
//! - [`names`]: paths by number; [`waiting`]: programs that poll.

mod files;
mod filesystem;
mod mount;
mod names;
mod waiting;

pub use mount::{Mounted, is_possible, mount};

use dsa_run::Identity;
use idxd::Client;

/// An open file.
enum Open {
    /// The text of an attribute, as it was when the file was first read.
    Attribute(Option<Vec<u8>>),
    Queue(Client, Identity),
}
