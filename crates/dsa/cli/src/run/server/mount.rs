//! Mounts the file system in the run's directory.

use super::files::ServedFiles;
use super::inodes::InodeTable;
use super::pollers::PollWaiters;
use crate::failure::CommandFailure;
use crate::run::devices::RunDevices;
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

/// Number of requests that are served at a time.
const THREADS: usize = 4;

/// The mounted file system.
pub struct MountedFiles {
    /// Device number of the file system, by which programs recognise its files.
    pub number: u64,
    /// Programs that poll for an error.
    pub waiting: Arc<PollWaiters>,
}

/// Checks that /dev/fuse can be opened: to be called before the process enters namespaces.
pub fn check_possible() -> Result<(), CommandFailure> {
    fuse().map(drop)
}

fn fuse() -> Result<File, CommandFailure> {
    let opened = File::options().read(true).write(true).open("/dev/fuse");
    opened.map_err(|error| failed("/dev/fuse", &error))
}

fn failed(what: &str, error: &std::io::Error) -> CommandFailure {
    CommandFailure::failed(format!("{what}: {error}"))
}

/// Mounts the file system at `files` of a directory, and serves it until the process ends.
pub fn mount(devices: &Arc<RunDevices>, directory: &Path) -> Result<MountedFiles, CommandFailure> {
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
    let waiting = Arc::new(PollWaiters::default());
    let files = ServedFiles {
        devices: Arc::clone(devices),
        waiting: Arc::clone(&waiting),
        names: Mutex::new(InodeTable::default()),
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
    Ok(MountedFiles { number, waiting })
}
