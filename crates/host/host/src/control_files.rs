//! Control files of the kernel: resctrl's schemata and I/O allocation.
//!
//! They are behind a trait because such a file is active: it accepts one domain at a time, refuses
//! masks, and may read back another value than the one that was written.

use std::sync::Arc;

use crate::error::{FileError, Problem};
use crate::root::Root;

/// Mount point of resctrl below the root, as the kernel's documentation has it.
pub const RESCTRL_MOUNT: &str = "sys/fs/resctrl";

/// Backend that reads and writes control files of resctrl.
pub trait ControlFiles {
    /// Reads the whole text of a control file.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn read(&self, path: &str) -> Result<String, FileError>;

    /// Writes one command to a control file.
    ///
    /// # Errors
    /// If the kernel refuses the command.
    fn write(&self, path: &str, command: &str) -> Result<(), FileError>;
}

/// Control files of the kernel that runs, below the given root.
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
