//! The directory that the processes of a run share.

use crate::failure::CommandFailure;
use crate::live_runs;
use dsa_run::registers::{RunRegisters, SharedRegisters, process_namespace};
use dsa_run::{PLAN_FILE, RECORDS_DIRECTORY, REGISTERS_FILE};
use inputs::texts::{KEYS_LIMIT_BYTES, read_once};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The directory of a run; dropped, it is removed.
pub struct RunDirectory {
    path: PathBuf,
    process: u32,
}

impl RunDirectory {
    /// Creates the directory where other commands search for runs, and removes those of dead runs. With
    /// `records` the processes log their descriptors; `plan` are the faults to inject.
    pub fn create(records: bool, plan: Option<&str>) -> Result<Self, CommandFailure> {
        let process = std::process::id();
        let path = live_runs::directory_of(process);
        live_runs::remove_dead();
        // A run with the number of this process has ended.
        let _ = std::fs::remove_dir_all(&path);
        let private = |path: &Path| std::fs::DirBuilder::new().mode(0o700).create(path);
        let failed = |error| CommandFailure::failed(format!("{}: {error}", path.display()));
        private(&path).map_err(failed)?;
        let created = Self { path: path.clone(), process };
        for part in ["files", "was"] {
            private(&path.join(part)).map_err(failed)?;
        }
        if records {
            private(&path.join(RECORDS_DIRECTORY)).map_err(failed)?;
        }
        if let Some(plan) = plan {
            std::fs::write(path.join(PLAN_FILE), plan).map_err(failed)?;
        }
        Ok(created)
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the registers of the devices in shared memory.
    pub fn registers(&self) -> Result<&'static RunRegisters, CommandFailure> {
        let path = self.path.join(REGISTERS_FILE);
        let shared = SharedRegisters::create(&path)
            .map_err(|error| CommandFailure::failed(format!("{}: {error}", path.display())))?;
        let registers = shared.forever();
        registers.supervisor.store(self.process, Ordering::Release);
        registers.process_namespace.store(process_namespace(), Ordering::Release);
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let ns = now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned();
        registers.start_ns.store(ns, Ordering::Release);
        Ok(registers)
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        // The file system in it ends with the namespace of this process; nothing may be deleted through it.
        let _ =
            rustix::mount::unmount(self.path.join("files"), rustix::mount::UnmountFlags::DETACH);
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Reads and checks an injection plan.
pub fn read_plan(path: &Path) -> Result<String, CommandFailure> {
    let bad = |error: &dyn std::fmt::Display| {
        CommandFailure::bad_input(format!("--inject {}: {error}", path.display()))
    };
    let text = read_once(path, KEYS_LIMIT_BYTES).map_err(|error| bad(&error))?;
    dsa::inject::InjectionPlan::parse(&text).map_err(|error| bad(&error))?;
    Ok(text)
}
