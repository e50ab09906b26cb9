//! The run that this process belongs to.

use dsa_run::registers::{RunRegisters, SharedRegisters, process_namespace};
use dsa_run::requests::SOCKET;
use dsa_run::{REGISTERS_FILE, RUN_DIRECTORY};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// The run of this process.
pub struct CurrentRun {
    /// Registers of the devices of the run.
    pub registers: &'static RunRegisters,
    /// Directory of the run.
    pub directory: PathBuf,
    /// Path of the socket for requests to the supervisor, if the run has no namespaces.
    pub requests: Option<PathBuf>,
}

static RUN: OnceLock<CurrentRun> = OnceLock::new();

/// The run of this process; `None` outside of one.
pub fn current() -> Option<&'static CurrentRun> {
    RUN.get()
}

/// Joins the run that the environment names. Returns false if there is none, or it cannot be joined.
pub fn join() -> bool {
    let Some(directory) = std::env::var_os(RUN_DIRECTORY).map(PathBuf::from) else { return false };
    match SharedRegisters::open(&directory.join(REGISTERS_FILE)) {
        Ok(registers) => {
            let registers = registers.forever();
            release_previous_program(registers);
            let requests = Some(directory.join(SOCKET)).filter(|path| path.exists());
            RUN.set(CurrentRun { registers, directory, requests }).is_ok()
        }
        // A library of another release, or a run that has ended: this program has no device.
        Err(_) => false,
    }
}

/// Releases the queue entries of the program that this process was before `exec`. Its engines have ended, and
/// its entries would otherwise stay occupied until the process ends, so that the queue would not drain.
fn release_previous_program(registers: &RunRegisters) {
    if registers.process_namespace.load(Ordering::Acquire) != process_namespace() {
        return;
    }
    let devices = units::narrow::usize_from(registers.devices.load(Ordering::Acquire).into());
    for device in registers.device.iter().take(devices) {
        device.release_process(std::process::id());
    }
}
