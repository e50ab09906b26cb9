//! Which NICs and SSDs the traffic of an I/O stack belongs to.

use std::collections::BTreeMap;

use crate::machine::Host;
use crate::pci::{Kind, Tree};
use crate::status::device_names;

/// Devices by the root bus of their stack, as the kernel writes it, each with the device number of its
/// root port.
#[derive(Clone, Debug, Default)]
pub(super) struct Devices(BTreeMap<String, Vec<(u8, String)>>);

impl Devices {
    /// All whose root port can be found; without a list of functions none.
    pub(super) fn read(host: &Host) -> Self {
        let tree = Tree::read(&host.root).unwrap_or_default();
        let mut devices = Self::default();
        for function in tree.functions() {
            if !matches!(function.kind, Kind::Nic | Kind::Ssd | Kind::Storage) {
                continue;
            }
            let Ok(path) = tree.path_up(function.bdf) else { continue };
            let top = path.last().map_or(function.bdf, |root| root.bdf);
            let names =
                device_names(host, function.kind, &format!("sys/bus/pci/devices/{}", function.bdf));
            let name = match names.is_empty() {
                true => function.bdf.to_string(),
                false => format!("{} ({})", names.join(", "), function.bdf),
            };
            let bus = format!("{:04x}:{:02x}", top.domain, top.bus);
            devices.0.entry(bus).or_default().push((top.device, name));
        }
        devices
    }

    /// Those of a stack; with the number of a root port those below it alone.
    pub(super) fn of(&self, bus: Option<&str>, port: Option<u32>) -> Vec<String> {
        let of_stack = bus.and_then(|bus| self.0.get(bus)).into_iter().flatten();
        let wanted =
            of_stack.filter(|(number, _)| port.is_none_or(|port| u32::from(*number) == port));
        wanted.map(|(_, name)| name.clone()).collect()
    }
}
