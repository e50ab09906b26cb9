//! The access of programs to the devices' files: by a file system in a namespace, or without namespaces.

use super::devices::RunDevices;
use super::directory::RunDirectory;
use super::namespace::{self, Namespace};
use super::server::{self, MountedFiles};
use super::without_namespaces::{self, PlainAccess, RunEnvironment};
use crate::failure::CommandFailure;
use std::fmt;
use std::sync::Arc;

/// The access of programs to the devices' files.
pub enum DeviceAccess {
    /// By a file system that is mounted in a namespace.
    Mounted(Namespace, MountedFiles),
    /// By requests of programs over a socket, with the reason why there is no namespace.
    Plain(PlainAccess, String),
}

impl DeviceAccess {
    /// Mounts the file system, if `wants_namespaces` and the system allows it; otherwise serves requests.
    ///
    /// # Errors
    /// If requests cannot be served either.
    pub fn find(
        wants_namespaces: bool,
        devices: &Arc<RunDevices>,
        directory: &RunDirectory,
    ) -> Result<Self, CommandFailure> {
        let refused = if wants_namespaces {
            match mount_in_namespace(devices, directory) {
                Ok(access) => return Ok(access),
                Err(failure) => failure.to_string(),
            }
        } else {
            "as asked".to_owned()
        };
        Ok(Self::Plain(PlainAccess::serve(devices, directory)?, refused))
    }

    /// Number of the file system that has the files of queues.
    pub fn file_system(&self) -> u64 {
        match self {
            Self::Mounted(_, mounted) => mounted.number,
            Self::Plain(plain, _) => plain.file_system(),
        }
    }

    /// Whether programs find the devices where the kernel has them.
    pub fn has_namespaces(&self) -> bool {
        matches!(self, Self::Mounted(..))
    }

    /// A function that the supervisor calls again and again while the program runs: it wakes programs that
    /// poll, or closes abandoned files.
    pub fn watcher(&self) -> Box<dyn Fn(&RunDevices) + Send> {
        match self {
            Self::Mounted(_, mounted) => {
                let waiting = Arc::clone(&mounted.waiting);
                Box::new(move |devices| waiting.notify(|device| devices.has_error(device)))
            }
            Self::Plain(plain, _) => Box::new(plain.watcher()),
        }
    }

    /// Environment variables by which programs find the devices.
    pub fn environment(&self, directory: &RunDirectory) -> RunEnvironment {
        match self {
            Self::Mounted(..) => RunEnvironment::new(),
            Self::Plain(..) => without_namespaces::environment(directory.path()),
        }
    }
}

fn mount_in_namespace(
    devices: &Arc<RunDevices>,
    directory: &RunDirectory,
) -> Result<DeviceAccess, CommandFailure> {
    server::check_possible()?;
    let namespace = namespace::enter()?;
    let mounted = server::mount(devices, directory.path())?;
    namespace::show(directory.path(), devices)?;
    Ok(DeviceAccess::Mounted(namespace, mounted))
}

impl fmt::Display for DeviceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted(namespace, _) => namespace.fmt(f),
            Self::Plain(_, why) => write!(
                f,
                "without namespaces ({why}): by environment variables and a library in place of \
                 libaccel-config"
            ),
        }
    }
}
