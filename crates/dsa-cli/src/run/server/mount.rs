//! The file system at its place in the run's directory.

use super::files::Files;
use super::names::Names;
use super::waiting::Waiting;
use crate::failure::Failure;
use crate::run::devices::Devices;
use fuser::{Config, Session, SessionACL};
use rustix::mount::MountFlags;
use std::collections::HashMap;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// Requests that are served at a time.
const THREADS: usize = 4;

/// The file system, mounted.
pub struct Mounted {
    /// Number of its device, by which programs know its files.
    pub number: u64,
    /// Those who poll for an error.
    pub waiting: Arc<Waiting>,
}

/// Whether there is a kernel's side of it: asked before the process enters namespaces.
pub fn is_possible() -> Result<(), Failure> {
    fuse().map(drop)
}

fn fuse() -> Result<File, Failure> {
    let opened = File::options().read(true).write(true).open("/dev/fuse");
    opened.map_err(|error| failed("/dev/fuse", &error))
}

fn failed(what: &str, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{what}: {error}"))
}

/// Mounts it at `files` of a directory.
pub fn mount(devices: &Arc<Devices>, directory: &Path) -> Result<Mounted, Failure> {
    let at = directory.join("files");
    let fuse = fuse()?;
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let options = format!(
        "fd={},rootmode=40000,user_id={},group_id={},allow_other,default_permissions",
        fuse.as_raw_fd(),
        user.as_raw(),
        group.as_raw()
    );
    let options = CString::new(options).unwrap_or_default();
    rustix::mount::mount(
        "skipline-dsa",
        &at,
        "fuse.skipline-dsa",
        MountFlags::NOSUID | MountFlags::NODEV,
        options.as_c_str(),
    )
    .map_err(|error| failed("mount of the devices' files", &error.into()))?;
    let waiting = Arc::new(Waiting::default());
    let files = Files {
        devices: Arc::clone(devices),
        waiting: Arc::clone(&waiting),
        names: Mutex::new(Names::default()),
        open: Mutex::new(HashMap::new()),
        handles: AtomicU64::new(1),
        owner: (user.as_raw(), group.as_raw()),
    };
    let mut config = Config::default();
    config.n_threads = Some(THREADS);
    let session = Session::from_fd(files, fuse.into(), SessionACL::All, config)
        .map_err(|error| failed("the devices' file system", &error))?;
    waiting.set_notifier(session.notifier());
    let _server = std::thread::spawn(move || session.run());
    let number =
        std::fs::metadata(&at).map_err(|error| failed("the devices' files", &error))?.dev();
    Ok(Mounted { number, waiting })
}
