//! Root ports, their DDIO switch, and the NICs and SSDs below them.

use serde::Serialize;

use super::Notes;
use crate::controls::{ControlTarget, SwitchError, check_switch, is_listed};
use crate::cpu::{Generation, Proof};
use crate::error::Problem;
use crate::machine::Host;
use crate::pci::{FunctionKind, LinkStatus, PciFunction, Tree, device_names, express};
use crate::pci_address::Bdf;
use crate::rings::Rings;
use crate::unavailable::Unavailable;

/// State of a root port's DDIO switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum DdioState {
    /// On: writes of devices allocate in the LLC.
    On,
    /// Off: writes of devices go to memory.
    Off,
    /// The port does not answer: it is powered off, removed or hung.
    NoResponse,
    /// The register cannot be read; the reason is in the status's list of unread items.
    Unread,
}

/// A root port or the root complex, with the devices below it.
#[derive(Clone, Debug, Serialize)]
pub struct PortStatus {
    /// Address of the root port; `None` for the root complex.
    pub port: Option<Bdf>,
    /// NUMA node of the port; `None` if the firmware does not name one.
    pub node: Option<u32>,
    /// State of the port's DDIO switch; `None` if the port is not known to have one.
    pub ddio: Option<DdioState>,
    /// Result of published measurements of the switch on this generation.
    pub ddio_proof: Option<Proof>,
    /// NICs and storage controllers below the port.
    pub devices: Vec<DeviceStatus>,
}

/// A NIC or storage controller.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceStatus {
    /// PCI address of the device.
    pub bdf: Bdf,
    /// Kind of the device.
    pub kind: FunctionKind,
    /// Vendor and device ID, as `lspci -n` shows them, like `8086:1592`.
    pub id: String,
    /// Name of the driver; `None` if no driver is bound.
    pub driver: Option<String>,
    /// Names of the device's interfaces, controllers or disks.
    pub names: Vec<String>,
    /// Bridges between the device and its root port, nearest first.
    pub through: Vec<Bdf>,
    /// PCIe link of the device, with transfer sizes; `None` if they cannot be read.
    pub link: Option<LinkStatus>,
    /// Pairs of interface and sizes of its descriptor rings.
    pub rings: Vec<(String, Rings)>,
}

/// Reads the ports with devices or a switch, in the order of their addresses; the root complex comes
/// last.
pub(super) fn read(
    host: &Host,
    tree: &Tree,
    generation: Option<&Generation>,
    notes: &mut Notes,
) -> Vec<PortStatus> {
    let mut ports: Vec<PortStatus> = Vec::new();
    for function in tree.functions() {
        let wanted =
            matches!(function.kind, FunctionKind::Nic | FunctionKind::Ssd | FunctionKind::Storage);
        if !wanted {
            continue;
        }
        let path = match tree.bridges_to_root(host.config.as_ref(), function.bdf) {
            Ok(path) => path,
            Err(unread) => {
                notes.add(unread);
                continue;
            }
        };
        let root = path.last().copied();
        let device = device(host, function, &path, notes);
        let port = root.map(|root| root.bdf);
        let node = root.and_then(|root| root.node).or(function.node);
        let same =
            |known: &&mut PortStatus| known.port == port && (port.is_some() || known.node == node);
        match ports.iter_mut().find(same) {
            Some(known) => known.devices.push(device),
            None => ports.push(PortStatus {
                port,
                node,
                ddio: root.and_then(|root| ddio(host, root, generation, notes)),
                ddio_proof: generation.and_then(|g| Some(g.port_switch.as_ref()?.proof)),
                devices: vec![device],
            }),
        }
    }
    add_listed(host, tree, generation, &mut ports, notes);
    ports.sort_by_key(|port| (port.port.is_none(), port.port));
    ports
}

/// Adds the root ports that have a switch and no devices below: `tune ddio` changes them as well.
fn add_listed(
    host: &Host,
    tree: &Tree,
    generation: Option<&Generation>,
    ports: &mut Vec<PortStatus>,
    notes: &mut Notes,
) {
    let known = generation.and_then(|generation| generation.port_switch.as_ref());
    let listed = |port: &&PciFunction| known.is_some_and(|switch| is_listed(port, switch));
    for root in tree.functions().filter(listed) {
        if ports.iter().all(|known| known.port != Some(root.bdf)) {
            ports.push(PortStatus {
                port: Some(root.bdf),
                node: root.node,
                ddio: ddio(host, root, generation, notes),
                ddio_proof: known.map(|switch| switch.proof),
                devices: Vec::new(),
            });
        }
    }
}

fn ddio(
    host: &Host,
    port: &PciFunction,
    generation: Option<&Generation>,
    notes: &mut Notes,
) -> Option<DdioState> {
    let switch = generation?.port_switch.as_ref().filter(|switch| is_listed(port, switch))?;
    let what = format!("DDIO switch of port {}", port.bdf);
    let target = ControlTarget::Port { function: port.bdf, offset: switch.offset };
    let value = match check_switch(host, port.bdf, switch) {
        Ok(()) => target.read(host),
        Err(SwitchError::File(error)) => Err(error),
        Err(other) => {
            notes.add(Unavailable::without_remedy(what, other.to_string()));
            return None;
        }
    };
    let is_dead = value.as_ref().is_err_and(|error| error.problem == Problem::NoAnswer);
    Some(match notes.take(&what, value) {
        None if is_dead => DdioState::NoResponse,
        None => DdioState::Unread,
        Some(value) if value >> switch.allocating_bit & 1 == 1 => DdioState::On,
        Some(_) => DdioState::Off,
    })
}

fn device(
    host: &Host,
    function: &PciFunction,
    path: &[&PciFunction],
    notes: &mut Notes,
) -> DeviceStatus {
    let folder = format!("sys/bus/pci/devices/{}", function.bdf);
    let names = device_names(&host.root, function);
    let link = express(host.config.as_ref(), function.bdf);
    let link = notes.take(&format!("link of {}", function.bdf), link).flatten();
    let mut rings = Vec::new();
    if function.kind == FunctionKind::Nic {
        for name in &names {
            match host.rings.rings(name) {
                Ok(found) => rings.push((name.clone(), found)),
                Err(error) => {
                    notes.add(Unavailable::from_error(format!("rings of {name}"), &error));
                }
            }
        }
    }
    let through = path.len().saturating_sub(1);
    DeviceStatus {
        bdf: function.bdf,
        kind: function.kind,
        id: format!("{:04x}:{:04x}", function.vendor, function.device),
        driver: host.root.link_name(&format!("{folder}/driver")).ok(),
        names,
        through: path[..through].iter().map(|bridge| bridge.bdf).collect(),
        link,
        rings,
    }
}
