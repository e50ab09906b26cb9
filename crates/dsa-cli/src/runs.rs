//! Runs that are under way, by their directories.

use dsa_run::REGISTERS_FILE;
use dsa_run::registers::{Registers, Shared};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

const PREFIX: &str = "skipline-dsa-";

/// A run.
pub struct Run {
    /// Process of its supervisor.
    pub process: u32,
    /// Its devices.
    pub registers: &'static Registers,
}

/// Where runs of this user have their directories.
fn place() -> PathBuf {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    own.unwrap_or_else(std::env::temp_dir)
}

/// The directory of the run of a process.
pub fn directory_of(process: u32) -> PathBuf {
    place().join(format!("{PREFIX}{process}"))
}

/// The processes whose runs have a directory.
fn processes() -> Vec<u32> {
    let Ok(entries) = place().read_dir() else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut processes: Vec<u32> =
        names.filter_map(|name| name.strip_prefix(PREFIX)?.parse().ok()).collect();
    processes.sort_unstable();
    processes
}

/// All runs of this user whose supervisor is there.
pub fn all() -> Vec<Run> {
    processes().into_iter().filter_map(open).collect()
}

/// Removes what supervisors have left that were killed.
pub fn remove_dead() {
    for process in processes().into_iter().filter(|process| !is_there(*process)) {
        // That of another user stays.
        let _ = std::fs::remove_dir_all(directory_of(process));
    }
}

fn is_there(process: u32) -> bool {
    PathBuf::from(format!("/proc/{process}")).exists()
}

fn open(process: u32) -> Option<Run> {
    let directory = directory_of(process);
    // The place may be one where all users can make directories.
    let found = directory.symlink_metadata().ok()?;
    if !found.is_dir() || found.uid() != rustix::process::getuid().as_raw() {
        return None;
    }
    let shared = Shared::open(&directory.join(REGISTERS_FILE)).ok()?;
    let registers = shared.forever();
    let is_own = registers.supervisor.load(Ordering::Acquire) == process;
    (is_own && is_there(process)).then_some(Run { process, registers })
}

impl Run {
    /// Its devices.
    pub fn devices(&self) -> impl Iterator<Item = &'static dsa_run::registers::Device> {
        let count = self.registers.devices.load(Ordering::Acquire);
        self.registers.device.iter().take(units::narrow::usize_from(count.into()))
    }
}
