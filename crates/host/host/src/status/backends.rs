//! Tries the backends of the machine's controls.

use std::time::Duration;

use serde::Serialize;

use super::Notes;
use crate::control_files::RESCTRL_MOUNT;
use crate::cpu::{CpuId, CpuSocket, Generation};
use crate::error::Problem;
use crate::machine::Host;
use crate::monitor::Monitor;
use crate::pci::Tree;

/// An offset beyond the part of configuration space that every user may read.
const PRIVILEGED_OFFSET: u16 = 0x40;
/// Window that is long enough to open an event.
const TRIAL: Duration = Duration::from_millis(1);

/// A backend of controls, and the result of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Backend {
    /// Name of the backend, like "registers".
    pub name: &'static str,
    /// Whether the backend works here.
    pub works: bool,
}

/// Tries each backend; the reasons why backends do not work are added to the notes.
pub(super) fn detect(
    host: &Host,
    tree: &Tree,
    sockets: &[CpuSocket],
    generation: Option<&Generation>,
    notes: &mut Notes,
) -> Vec<Backend> {
    let cpu = sockets.first().map_or(CpuId(0), CpuSocket::first_cpu);
    let registers = notes.take("registers (msr)", host.registers.detect(cpu)).is_some();
    let config = tree.functions().next().is_some_and(|function| {
        let read = host.config.read(function.bdf, PRIVILEGED_OFFSET);
        notes.take("PCI configuration beyond 64 bytes", read).is_some()
    });
    let resctrl = host.root.exists(&format!("{RESCTRL_MOUNT}/info"));
    let events = events(host, sockets, generation, notes);
    let backend = |name, works| Backend { name, works };
    vec![
        backend("registers", registers),
        backend("PCI configuration", config),
        backend("resctrl", resctrl),
        backend("events", events),
    ]
}

/// Tries to open an uncore event.
fn events(
    host: &Host,
    sockets: &[CpuSocket],
    generation: Option<&Generation>,
    notes: &mut Notes,
) -> bool {
    let monitor = Monitor::prepare(host, generation, sockets);
    for unread in monitor.unavailable() {
        // Cache allocation groups have their own note.
        if !unread.what.contains("groups") {
            notes.add(unread.clone());
        }
    }
    match monitor.try_counting(host, TRIAL) {
        None => false,
        Some(Ok(())) => true,
        Some(Err(error)) => {
            let missing = error.problem == Problem::Missing;
            let what = if missing { "events of this kernel" } else { "events outside the cores" };
            notes.take::<()>(what, Err(error)).is_some()
        }
    }
}
