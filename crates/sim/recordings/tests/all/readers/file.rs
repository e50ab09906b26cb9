//! Bytes as a file without a name, and as a pipe.

use std::fs::File;
use std::io::{Write as _, pipe};
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};

/// Bytes that a pipe holds before anything reads them.
const PIPE_BYTES: usize = 1 << 16;

/// An open file that can be opened again by its path.
pub struct OpenFile(OwnedFd);

impl OpenFile {
    /// A file of these bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let memory = memfd_create("recording", MemfdFlags::CLOEXEC).expect("the host has memory");
        let mut file = File::from(memory);
        file.write_all(bytes).expect("the host has memory");
        Self(file.into())
    }

    /// A pipe whose writer wrote these bytes and is gone; `None` if it would wait for a reader.
    pub fn piped(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > PIPE_BYTES {
            return None;
        }
        let (reads, mut writes) = pipe().expect("the host has descriptors");
        writes.write_all(bytes).expect("the pipe has a reader");
        Some(Self(reads.into()))
    }

    pub fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }
}
