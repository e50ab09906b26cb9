//! Runs that are under way, by their directories.

use dsa_run::REGISTERS_FILE;
use dsa_run::registers::{RunRegisters, SharedRegisters};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

const PREFIX: &str = "skipline-dsa-";

/// A run whose supervisor is alive.
pub struct LiveRun {
    /// Number of the supervisor's process.
    pub process: u32,
    /// The registers of the run's devices.
    pub registers: &'static RunRegisters,
}

/// The directory in which runs of this user have theirs: XDG_RUNTIME_DIR, else the directory of temporary
/// files.
fn parent_directory() -> PathBuf {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    own.unwrap_or_else(std::env::temp_dir)
}

/// The directory of the run of a process.
pub fn directory_of(process: u32) -> PathBuf {
    parent_directory().join(format!("{PREFIX}{process}"))
}

/// Supervisors whose runs have a directory, alive or not.
fn processes() -> Vec<u32> {
    let Ok(entries) = parent_directory().read_dir() else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut processes: Vec<u32> =
        names.filter_map(|name| name.strip_prefix(PREFIX)?.parse().ok()).collect();
    processes.sort_unstable();
    processes
}

/// All runs of this user whose supervisor is alive.
pub fn all() -> Vec<LiveRun> {
    processes().into_iter().filter_map(open).collect()
}

/// Removes the directories of supervisors that were killed.
pub fn remove_dead() {
    for process in processes().into_iter().filter(|process| !is_alive(*process)) {
        // The directory of another user cannot be removed, and stays.
        let _ = std::fs::remove_dir_all(directory_of(process));
    }
}

fn is_alive(process: u32) -> bool {
    PathBuf::from(format!("/proc/{process}")).exists()
}

fn open(process: u32) -> Option<LiveRun> {
    let directory = directory_of(process);
    // All users may be able to make directories in the parent directory.
    let found = directory.symlink_metadata().ok()?;
    if !found.is_dir() || found.uid() != rustix::process::getuid().as_raw() {
        return None;
    }
    let shared = SharedRegisters::open(&directory.join(REGISTERS_FILE)).ok()?;
    let registers = shared.forever();
    let is_own = registers.supervisor.load(Ordering::Acquire) == process;
    (is_own && is_alive(process)).then_some(LiveRun { process, registers })
}

impl LiveRun {
    /// The devices of the run, by number.
    pub fn devices(&self) -> impl Iterator<Item = &'static dsa_run::registers::DeviceRegisters> {
        let count = self.registers.devices.load(Ordering::Acquire);
        self.registers.device.iter().take(units::narrow::usize_from(count.into()))
    }
}
