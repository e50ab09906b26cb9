//! Devices where there is no namespace for them: ordinary files, environment variables, and a library in
//! place of libaccel-config.
//!
//! - [`requests`]: what programs ask over a socket, and the answers.
//! - [`queues`]: files of queues that programs have open.
//! - [`files`]: ordinary files that show the configuration, for programs that read /sys themselves.
//!
//! The library in each program has its calls of `open` for /dev/dsa and for attributes answered here;
//! DPDK is told by its own variables where the files are; other readers of the configuration go through
//! libaccel-config, whose place a library of ours takes (`accel-config/`).

mod files;
mod queues;
mod requests;

use super::devices::Devices;
use super::directory::Directory;
use crate::failure::Failure;
use dsa_run::requests::FILES;
use files::PlainFiles;
use queues::QueueFiles;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// libaccel-config as such a run has it.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libaccel-config.so.1"));
/// Its directory in that of the run.
const LIBRARY_DIRECTORY: &str = "lib";

/// Variables that such a run sets.
pub type Environment = Vec<(&'static str, OsString)>;

/// The devices of such a run.
pub struct Plain {
    queues: Arc<QueueFiles>,
}

impl Plain {
    /// Answers requests from now on.
    pub fn serve(devices: &Arc<Devices>, directory: &Directory) -> Result<Self, Failure> {
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

    /// Closes what programs have closed.
    pub fn look(&self) -> impl Fn(&Devices) + Send + 'static {
        let queues = Arc::clone(&self.queues);
        move |_| drop(queues.close_left())
    }
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::failed(format!("{what}: {error}"))
}

/// What programs of such a run need to be told.
pub fn environment(directory: &Path) -> Environment {
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
