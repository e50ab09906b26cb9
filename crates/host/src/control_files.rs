//! Control files of the kernel: resctrl's schemata and I/O allocation.
//!
//! Behind a trait because such a file is active: it takes one domain at a time, refuses masks, and
//! may hold something else than what was written.

use std::sync::Arc;

use crate::error::{FileError, Problem};
use crate::root::Root;

/// Mount point of resctrl below the root, as the kernel's documentation has it.
pub const RESCTRL_MOUNT: &str = "sys/fs/resctrl";

/// Reads and writes control files.
pub trait ControlFiles {
    /// The whole text.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(&self, path: &str) -> Result<String, FileError>;

    /// Writes one command.
    ///
    /// # Errors
    /// If the kernel refuses it.
    fn write(&self, path: &str, command: &str) -> Result<(), FileError>;
}

/// The kernel's own files.
#[derive(Clone, Debug)]
pub struct KernelFiles(pub Arc<Root>);

impl KernelFiles {
    /// Adds resctrl's reason for refusing the last command (`info/last_cmd_status`).
    fn with_reason(&self, error: FileError) -> FileError {
        let reason = self.0.read_line(&format!("{RESCTRL_MOUNT}/info/last_cmd_status"));
        match (&error.problem, reason) {
            (Problem::Invalid, Ok(reason)) if reason != "ok" => {
                FileError { problem: Problem::Other(format!("the kernel says: {reason}")), ..error }
            }
            _ => error,
        }
    }
}

impl ControlFiles for KernelFiles {
    fn read(&self, path: &str) -> Result<String, FileError> {
        self.0.read_text(path)
    }

    fn write(&self, path: &str, command: &str) -> Result<(), FileError> {
        self.0.write_control(path, command).map_err(|error| self.with_reason(error))
    }
}
