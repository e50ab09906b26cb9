//! Devices without namespaces: ordinary files, environment variables, and a library in place of
//! libaccel-config.
//!
//! - [`requests`]: requests of programs over a socket, and the answers.
//! - [`queues`]: files of queues that programs have open.
//! - [`files`]: ordinary files that show the configuration, for programs that read /sys themselves.
//!
//! The trap library in each program sends its calls of `open` for /dev/dsa and for attributes here. DPDK
//! finds the files by its own variables; other readers of the configuration use libaccel-config, which a
//! library of ours replaces (`accel-config/`).

mod files;
mod queues;
mod requests;

use super::devices::RunDevices;
use super::directory::RunDirectory;
use crate::failure::CommandFailure;
use dsa_run::requests::FILES;
use files::PlainFiles;
use queues::QueueFiles;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// The library in place of libaccel-config.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libaccel-config.so.1"));
/// The directory of that library, within the directory of the run.
const LIBRARY_DIRECTORY: &str = "lib";

/// Environment variables of the programs of a run.
pub type RunEnvironment = Vec<(&'static str, OsString)>;

/// The devices of a run without namespaces.
pub struct PlainAccess {
    queues: Arc<QueueFiles>,
}

impl PlainAccess {
    /// Starts to answer requests, and writes the files of the run.
    pub fn serve(
        devices: &Arc<RunDevices>,
        directory: &RunDirectory,
    ) -> Result<Self, CommandFailure> {
        let queues = QueueFiles::new(Arc::clone(devices));
        let queues = Arc::new(queues.map_err(|error| failed("a file of a queue", &error))?);
        let files = PlainFiles::create(directory.path().join(FILES), devices);
        let files = files.map_err(|error| failed("files of the devices", &error))?;
        requests::serve(directory.path(), devices, &queues, files)
            .map_err(|error| failed("the socket of the run", &error))?;
        let libraries = directory.path().join(LIBRARY_DIRECTORY);
        std::fs::create_dir(&libraries)
            .and_then(|()| std::fs::write(libraries.join("libaccel-config.so.1"), LIBRARY))
            .map_err(|error| failed("libaccel-config.so.1", &error))?;
        Ok(Self { queues })
    }

    /// Number of the file system that has the files of queues.
    pub fn file_system(&self) -> u64 {
        self.queues.file_system()
    }

    /// A function that closes the files that no program has open any more.
    pub fn watcher(&self) -> impl Fn(&RunDevices) + Send + 'static {
        let queues = Arc::clone(&self.queues);
        move |_| drop(queues.close_abandoned())
    }
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> CommandFailure {
    CommandFailure::failed(format!("{what}: {error}"))
}

/// The environment variables by which programs find the devices.
pub fn environment(directory: &Path) -> RunEnvironment {
    let mut libraries = directory.join(LIBRARY_DIRECTORY).into_os_string();
    if let Some(before) = std::env::var_os("LD_LIBRARY_PATH").filter(|before| !before.is_empty()) {
        libraries.push(":");
        libraries.push(before);
    }
    let files = directory.join(FILES);
    vec![
        ("DSA_DEV_PATH", files.join("dev/dsa").into()),
        ("DSA_SYSFS_PATH", files.join("sys/bus/dsa/devices").into()),
        ("LD_LIBRARY_PATH", libraries),
    ]
}
