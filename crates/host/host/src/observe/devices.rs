//! Which counters are read of all devices.

use crate::pci::FunctionKind;
use crate::pci_address::Bdf;
use crate::status::HostStatus;

use super::activity::Watched;
use crate::machine::Host;

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
pub(super) fn namespaces(host: &Host, controller: &str) -> Vec<String> {
    let prefix = format!("{controller}n");
    let mut names = host.root.list("sys/block").unwrap_or_default();
    names.retain(|name| name.strip_prefix(&prefix).is_some_and(is_number));
    names
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
