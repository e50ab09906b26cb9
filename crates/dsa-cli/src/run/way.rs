//! How programs get to the devices' files.

use super::devices::Devices;
use super::directory::Directory;
use super::namespace::{self, Namespace};
use super::plain::{self, Environment, Plain};
use super::server::{self, Mounted};
use crate::failure::Failure;
use std::fmt;
use std::sync::Arc;

/// How programs get to the devices' files.
pub enum Way {
    /// A file system, shown in a namespace.
    Mounted(Namespace, Mounted),
    /// Requests of programs, and why.
    Plain(Plain, String),
}

impl Way {
    /// The first one, if it is wanted and the system allows it.
    pub fn find(
        wants_namespaces: bool,
        devices: &Arc<Devices>,
        directory: &Directory,
    ) -> Result<Self, Failure> {
        let refused = if wants_namespaces {
            match mounted(devices, directory) {
                Ok(way) => return Ok(way),
                Err(failure) => failure.to_string(),
            }
        } else {
            "as asked".to_owned()
        };
        Ok(Self::Plain(Plain::serve(devices, directory)?, refused))
    }

    /// Number of the file system that has the files of queues.
    pub fn file_system(&self) -> u64 {
        match self {
            Self::Mounted(_, mounted) => mounted.number,
            Self::Plain(plain, _) => plain.file_system(),
        }
    }

    /// What is looked after while the program runs.
    pub fn look(&self) -> Box<dyn Fn(&Devices) + Send> {
        match self {
            Self::Mounted(_, mounted) => {
                let waiting = Arc::clone(&mounted.waiting);
                Box::new(move |devices| waiting.tell(|device| devices.has_error(device)))
            }
            Self::Plain(plain, _) => Box::new(plain.look()),
        }
    }

    /// What programs have to be told.
    pub fn environment(&self, directory: &Directory) -> Environment {
        match self {
            Self::Mounted(..) => Environment::new(),
            Self::Plain(..) => plain::environment(directory.path()),
        }
    }
}

fn mounted(devices: &Arc<Devices>, directory: &Directory) -> Result<Way, Failure> {
    server::is_possible()?;
    let namespace = namespace::enter()?;
    let mounted = server::mount(devices, directory.path())?;
    namespace::show(directory.path(), devices)?;
    Ok(Way::Mounted(namespace, mounted))
}

impl fmt::Display for Way {
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
