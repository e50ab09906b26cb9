//! The run that this process belongs to.

use dsa_run::registers::{Registers, Shared};
use dsa_run::{REGISTERS_FILE, RUN_DIRECTORY};
use std::path::PathBuf;
use std::sync::OnceLock;

/// A run.
pub struct Run {
    /// Registers of its devices.
    pub registers: &'static Registers,
    /// Its directory.
    pub directory: PathBuf,
}

static RUN: OnceLock<Run> = OnceLock::new();

/// The run of this process; `None` outside of one.
pub fn current() -> Option<&'static Run> {
    RUN.get()
}

/// Joins the run that the environment names; false without one.
pub fn join() -> bool {
    let Some(directory) = std::env::var_os(RUN_DIRECTORY).map(PathBuf::from) else { return false };
    match Shared::open(&directory.join(REGISTERS_FILE)) {
        Ok(registers) => RUN.set(Run { registers: registers.forever(), directory }).is_ok(),
        // A library of another release, or a run that has ended: this program has no device.
        Err(_) => false,
    }
}
