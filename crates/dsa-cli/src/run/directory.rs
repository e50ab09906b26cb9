//! The directory of a run, which its processes share.

use crate::failure::Failure;
use crate::runs;
use dsa_run::registers::{Registers, Shared, process_namespace};
use dsa_run::{PLAN_FILE, RECORDS_DIRECTORY, REGISTERS_FILE};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The directory; dropped, it is removed.
pub struct Directory {
    path: PathBuf,
    process: u32,
}

impl Directory {
    /// Creates it where other commands look for runs.
    pub fn create(records: bool, plan: Option<&str>) -> Result<Self, Failure> {
        let process = std::process::id();
        let path = runs::directory_of(process);
        runs::remove_dead();
        // A run with the number of this process has ended.
        let _ = std::fs::remove_dir_all(&path);
        let private = |path: &Path| std::fs::DirBuilder::new().mode(0o700).create(path);
        let failed = |error| Failure::failed(format!("{}: {error}", path.display()));
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

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the registers of its devices.
    pub fn registers(&self) -> Result<&'static Registers, Failure> {
        let path = self.path.join(REGISTERS_FILE);
        let shared = Shared::create(&path)
            .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
        let registers = shared.forever();
        registers.supervisor.store(self.process, Ordering::Release);
        registers.process_namespace.store(process_namespace(), Ordering::Release);
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let ns = now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned();
        registers.start_ns.store(ns, Ordering::Release);
        Ok(registers)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What is mounted inside ends with the namespace of this process; it is not deleted through it.
        let _ =
            rustix::mount::unmount(self.path.join("files"), rustix::mount::UnmountFlags::DETACH);
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Reads an injection plan.
pub fn read_plan(path: &Path) -> Result<String, Failure> {
    let bad = |error: &dyn std::fmt::Display| {
        Failure::bad_input(format!("--inject {}: {error}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| bad(&error))?;
    dsa::inject::Plan::parse(&text).map_err(|error| bad(&error))?;
    Ok(text)
}
