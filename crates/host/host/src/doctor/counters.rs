//! Checks whether events of devices and copy engines can be counted: opens them.

use std::time::Duration;

use crate::cpu::{CpuModel, Generations};
use crate::error::FileError;
use crate::machine::Host;
use crate::monitor::Monitor;
use crate::unavailable::Unavailable;

/// Window that is long enough to open an event.
const TRIAL: Duration = Duration::from_millis(1);

/// Checks events of hits and misses of devices, and those of copy engines.
pub(super) fn events_and_engines(host: &Host) -> [Result<Option<String>, Unavailable>; 2] {
    match monitor(host) {
        Ok(monitor) => [events(host, &monitor), engines(&monitor)],
        Err(error) => [(); 2].map(|()| Err(Unavailable::from_error("", &error))),
    }
}

fn monitor(host: &Host) -> Result<Monitor, FileError> {
    let cpu = CpuModel::read(&host.root)?;
    let sockets = crate::cpu::sockets(&host.root)?;
    Ok(Monitor::prepare(host, Generations::built_in().find(&cpu), &sockets))
}

fn events(host: &Host, monitor: &Monitor) -> Result<Option<String>, Unavailable> {
    match monitor.try_counting(host, TRIAL) {
        Some(Err(error)) => Err(Unavailable::from_error("", &error)),
        Some(Ok(())) if monitor.counts_device_hits() => Ok(None),
        _ => Err(unavailable_reason(monitor, "devices", "this machine has no such events")),
    }
}

fn engines(monitor: &Monitor) -> Result<Option<String>, Unavailable> {
    match monitor.engines() {
        0 => Err(unavailable_reason(
            monitor,
            "copy engines",
            "the kernel lists none (DSA, driver idxd)",
        )),
        number => Ok(Some(format!("bytes and requests of {number} (DSA)"))),
    }
}

fn unavailable_reason(monitor: &Monitor, about: &str, otherwise: &str) -> Unavailable {
    let found = monitor.unavailable().iter().find(|unread| unread.what.contains(about));
    found.cloned().unwrap_or_else(|| Unavailable::without_remedy("", otherwise))
}
