//! The run that this process belongs to.

use dsa_run::registers::{RunRegisters, SharedRegisters, process_namespace};
use dsa_run::requests::SOCKET;
use dsa_run::{REGISTERS_FILE, RUN_DIRECTORY};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// A run.
pub struct CurrentRun {
    /// Registers of its devices.
    pub registers: &'static RunRegisters,
    /// Its directory.
    pub directory: PathBuf,
    /// Where the supervisor is asked, if the run has no namespaces.
    pub requests: Option<PathBuf>,
}

static RUN: OnceLock<CurrentRun> = OnceLock::new();

/// The run of this process; `None` outside of one.
pub fn current() -> Option<&'static CurrentRun> {
    RUN.get()
}

/// Joins the run that the environment names; false without one.
pub fn join() -> bool {
    let Some(directory) = std::env::var_os(RUN_DIRECTORY).map(PathBuf::from) else { return false };
    match SharedRegisters::open(&directory.join(REGISTERS_FILE)) {
        Ok(registers) => {
            let registers = registers.forever();
            forget_program_before(registers);
            let requests = Some(directory.join(SOCKET)).filter(|path| path.exists());
            RUN.set(CurrentRun { registers, directory, requests }).is_ok()
        }
        // A library of another release, or a run that has ended: this program has no device.
        Err(_) => false,
    }
}

/// This process may have been another program until now, whose engines ended with it (`exec`). What they
/// had of queues would stay taken until the process ends, and a queue with it would not drain.
fn forget_program_before(registers: &RunRegisters) {
    if registers.process_namespace.load(Ordering::Acquire) != process_namespace() {
        return;
    }
    let devices = units::narrow::usize_from(registers.devices.load(Ordering::Acquire).into());
    for device in registers.device.iter().take(devices) {
        device.release_of(std::process::id());
    }
}
