//! SSDs and copy engines, and which counters are read of all devices.

use crate::pci::FunctionKind;
use crate::pci_address::Bdf;
use crate::status::HostStatus;

use super::ObservedMachine;
use super::activity::{DiskCounts, Watched};
use super::values::Findings;
use crate::machine::Host;

const ENGINES: &str = "sys/bus/dsa/devices";
/// Bytes in a second below which a device is idle.
const IDLE_BYTES_PER_S: f64 = 1e6;

/// The interfaces, disks and CPUs of which activity is read.
pub(super) fn watched(host: &Host, status: &HostStatus) -> Watched {
    let devices = || status.ports().flat_map(|port| &port.devices);
    let nics = devices().filter(|device| device.kind == FunctionKind::Nic);
    let interfaces = nics
        .flat_map(|device| device.names.iter().map(move |name| (device.bdf, name)))
        .map(|(bdf, name)| (name.clone(), interface_folder(host, bdf, name)))
        .collect();
    let disks = devices().filter(|device| device.kind == FunctionKind::Ssd);
    let disks = disks.flat_map(|device| &device.names).flat_map(|name| namespaces(host, name));
    let cpus = status.sockets.iter().flat_map(|socket| socket.cpus.clone()).collect();
    Watched { interfaces, disks: disks.collect(), cpus }
}

/// Directory of an interface in sysfs: those of virtio devices are below a device of their own.
pub(super) fn interface_folder(host: &Host, bdf: Bdf, name: &str) -> String {
    let own = format!("sys/bus/pci/devices/{bdf}/net/{name}");
    if host.root.exists(&own) { own } else { format!("sys/class/net/{name}") }
}

/// Block devices of an NVMe controller, like `nvme0n1` of `nvme0`.
fn namespaces(host: &Host, controller: &str) -> Vec<String> {
    let prefix = format!("{controller}n");
    let mut names = host.root.list("sys/block").unwrap_or_default();
    names.retain(|name| name.strip_prefix(&prefix).is_some_and(is_number));
    names
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Tells what SSDs moved: the simulator's kinds of SSDs are few, so that theirs is asked for.
pub(super) fn storage(seen: &ObservedMachine<'_>, findings: &mut Findings) {
    let devices = seen.status.ports().flat_map(|port| &port.devices);
    let mut is_busy = false;
    for device in devices.filter(|device| device.kind == FunctionKind::Ssd) {
        for disk in device.names.iter().flat_map(|name| namespaces(seen.host, name)) {
            if let Some(text) = describe(&disk, seen.activity.disk(&disk), seen.activity.seconds) {
                findings.left_out.push(format!("{text} ({}, {})", device.bdf, device.id));
                is_busy = true;
            }
        }
    }
    if is_busy {
        findings.ask(
            "ssd",
            "which known SSD is most like the busy ones (`skipline platforms`)? a tenant \
                             with application = \"block-io\" then adds them",
        );
    }
}

/// Describes the I/O of a disk in the window; `None` if it was idle.
fn describe(disk: &str, counts: Option<DiskCounts>, seconds: f64) -> Option<String> {
    let counts = counts?;
    let moved = counts.read_bytes.saturating_add(counts.written_bytes) as f64;
    let requests = counts.reads.saturating_add(counts.writes);
    if moved / seconds < IDLE_BYTES_PER_S || requests == 0 {
        return None;
    }
    Some(format!(
        "SSD {disk} read {:.2} GB/s and wrote {:.2} GB/s in requests of {:.0} KiB, {:.1} at a time",
        counts.read_bytes as f64 / seconds / 1e9,
        counts.written_bytes as f64 / seconds / 1e9,
        moved / requests as f64 / 1024.0,
        counts.waited_ms as f64 / 1000.0 / seconds
    ))
}

/// Tells of the work queues of copy engines, and what the engines moved.
pub(super) fn engines(seen: &ObservedMachine<'_>, findings: &mut Findings) {
    let root = &seen.host.root;
    for name in root.list(ENGINES).unwrap_or_default() {
        if !name.starts_with("wq") {
            continue;
        }
        let file = |file: &str| root.read_line(&format!("{ENGINES}/{name}/{file}"));
        if let (Ok(state), Ok(mode), Ok(size)) = (file("state"), file("mode"), file("size"))
            && state == "enabled"
        {
            findings.left_out.push(format!("work queue {name}: {mode}, {size} entries, enabled"));
        }
    }
    let Some(last) = seen.windows.last() else { return };
    for engine in &last.engines {
        let moved = engine.inbound_bytes_per_s + engine.outbound_bytes_per_s;
        if moved >= IDLE_BYTES_PER_S {
            findings.left_out.push(format!(
                "copy engine {} read {:.2} GB/s and wrote {:.2} GB/s; which operations is not counted",
                engine.device,
                engine.inbound_bytes_per_s / 1e9,
                engine.outbound_bytes_per_s / 1e9
            ));
        }
    }
}
