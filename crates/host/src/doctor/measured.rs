//! Whether devices and copy engines can be measured: their events are opened.

use std::time::Duration;

use crate::cpu::{CpuModel, Generations};
use crate::error::FileError;
use crate::machine::Host;
use crate::monitor::Monitor;
use crate::unread::Unread;

/// Long enough to open an event.
const TRIAL: Duration = Duration::from_millis(1);

/// What there is to know about hits and misses of devices, and about copy engines.
pub(super) fn events_and_engines(host: &Host) -> [Result<Option<String>, Unread>; 2] {
    match monitor(host) {
        Ok(monitor) => [events(host, &monitor), engines(&monitor)],
        Err(error) => [(); 2].map(|()| Err(Unread::of("", &error))),
    }
}

fn monitor(host: &Host) -> Result<Monitor, FileError> {
    let cpu = CpuModel::read(&host.root)?;
    let sockets = crate::cpu::sockets(&host.root)?;
    Ok(Monitor::prepare(host, Generations::built_in().of(&cpu), &sockets))
}

fn events(host: &Host, monitor: &Monitor) -> Result<Option<String>, Unread> {
    match monitor.trial(host, TRIAL) {
        Some(Err(error)) => Err(Unread::of("", &error)),
        Some(Ok(())) if monitor.sees_devices() => Ok(None),
        _ => Err(why_not(monitor, "devices", "this machine has no such events")),
    }
}

fn engines(monitor: &Monitor) -> Result<Option<String>, Unread> {
    match monitor.engines() {
        0 => Err(why_not(monitor, "copy engines", "the kernel lists none (DSA, driver idxd)")),
        number => Ok(Some(format!("bytes and requests of {number} (DSA)"))),
    }
}

fn why_not(monitor: &Monitor, about: &str, otherwise: &str) -> Unread {
    let found = monitor.unavailable().iter().find(|unread| unread.what.contains(about));
    found.cloned().unwrap_or_else(|| Unread::absent("", otherwise))
}
