//! Paths of /sys and /dev that belong to the run.

use crate::run::{self, CurrentRun};
use dsa_run::requests::FILES;
use libc::c_char;
use std::ffi::CStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

/// Directories that the run provides in place of the kernel.
const RUN_DIRECTORIES: [&str; 3] = ["/sys/bus/dsa", "/sys/module/idxd", "/dev/dsa"];

/// Prefix of the directories of PCI devices.
const BRIDGES: &str = "/sys/devices/pci";

/// A path of the run.
pub struct RunPath<'a> {
    pub run: &'static CurrentRun,
    /// The path as on a machine with devices.
    path: &'a str,
}

/// A file that the supervisor opens.
pub enum OpenRequest<'a> {
    /// The file of a queue, by its name.
    Queue(&'a str),
    /// The text of an attribute: name of the node, name of the attribute.
    Attribute(&'a str, &'a str),
}

/// The path of a call as a path of the run; `None` if the path does not belong to the run.
pub fn run_path<'a>(path: *const c_char) -> Option<RunPath<'a>> {
    let run = run::current().filter(|run| run.requests.is_some())?;
    // SAFETY: the path of a call of the C library; a null one is refused by the kernel.
    let path = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) })?.to_str().ok()?;
    let is_in = |path: &str, directory: &str| {
        let rest = path.strip_prefix(directory);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let in_run = path.strip_prefix(run.directory.to_str()?);
    let below = in_run.and_then(|path| path.strip_prefix('/')?.strip_prefix(FILES));
    if let Some(path) = below.filter(|path| path.starts_with('/')) {
        return Some(RunPath { run, path });
    }
    let own = RunPath { run, path };
    let is_own = RUN_DIRECTORIES.iter().any(|own| is_in(path, own))
        // The host bridges of the run are others than those of the machine.
        || path.starts_with(BRIDGES) && own.with_file(exists);
    is_own.then_some(own)
}

fn exists(path: *const c_char) -> bool {
    // SAFETY: the path ends with zero.
    unsafe { libc::syscall(libc::SYS_access, path, libc::F_OK) == 0 }
}

impl<'a> RunPath<'a> {
    /// The request that opens the file; `None` for directories and links.
    pub fn open_request(&self) -> Option<OpenRequest<'a>> {
        if let Some(queue) = self.path.strip_prefix("/dev/dsa/").filter(|name| !name.is_empty()) {
            return Some(OpenRequest::Queue(queue));
        }
        let (nodes, attribute) = self.path.rsplit_once('/')?;
        Some(OpenRequest::Attribute(nodes.rsplit_once('/')?.1, attribute))
    }

    /// Whether the path is that of a queue's file.
    pub fn is_queue(&self) -> bool {
        matches!(self.open_request(), Some(OpenRequest::Queue(_)))
    }

    /// Calls `work` with the path of the ordinary file below the run's directory. It allocates nothing,
    /// as its callers may be in a signal handler.
    pub fn with_file<R>(&self, work: impl FnOnce(*const c_char) -> R) -> R {
        let mut bytes = [0_u8; libc::PATH_MAX as usize];
        let mut rest = &mut bytes[..];
        let directory = self.run.directory.as_os_str().as_bytes();
        // A path that is too long is cut, and does not exist.
        for part in [directory, b"/", FILES.as_bytes(), self.path.as_bytes(), b"\0"] {
            let _ = rest.write_all(part);
        }
        bytes[bytes.len() - 1] = 0;
        work(bytes.as_ptr().cast())
    }
}
