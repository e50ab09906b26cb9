//! The devices whose bytes a part of an I/O stack counts.
//!
//! Source: Intel Xeon Scalable uncore performance guide (IIO): part N counts the root port with device
//! number N on the stack's bus. On later CPUs the board decides, and no interface
//! reports it. Devices behind a VMD have a PCI domain of their own and no stack that the kernel names.

use serde::Serialize;

use crate::machine::Host;
use crate::pci::{FunctionKind, PciFunction, Tree, device_names};
use crate::pci_address::Bdf;

/// Number of parts of a stack if parts are root ports.
const PARTS: u8 = 4;

/// A device behind a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PortDevice {
    /// PCI address of the device.
    pub bdf: Bdf,
    /// Names of the device's interfaces, controllers or disks.
    pub names: Vec<String>,
}

/// Scope of the devices that are listed with a part of an I/O stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountedDevices {
    /// The devices are behind the part's root port.
    Port,
    /// The devices are those of the whole stack: the part counts some of them.
    #[default]
    Stack,
}

/// A device, and the function of the root complex above it.
struct AttachedDevice {
    device: PortDevice,
    top: Bdf,
    /// Whether `top` is a root port, and not the device itself.
    below_port: bool,
}

impl AttachedDevice {
    /// Number of the part that counts the device if parts are root ports; `None` for devices of chipset
    /// and root complex.
    fn part(&self) -> Option<u32> {
        let is_of_stack = self.below_port && self.top.device < PARTS && self.top.function == 0;
        is_of_stack.then(|| u32::from(self.top.device))
    }
}

/// The devices of all I/O stacks.
#[derive(Default)]
pub(super) struct StackDevices(Vec<AttachedDevice>);

impl StackDevices {
    /// Finds the devices that move data, and the function of the root complex above each.
    pub(super) fn from_tree(host: &Host, tree: &Tree) -> Self {
        let attached = |function: &PciFunction| {
            // Without its root port a device has no stack either.
            let path = tree.bridges_to_root(host.config.as_ref(), function.bdf).ok()?;
            let top = path.last().map_or(function.bdf, |root| root.bdf);
            // The root complex has many functions of its own that move no data.
            let moves_data = match function.kind {
                FunctionKind::Nic | FunctionKind::Ssd | FunctionKind::Storage => true,
                FunctionKind::Other => !path.is_empty(),
                FunctionKind::Bridge => false,
            };
            let device =
                || PortDevice { bdf: function.bdf, names: device_names(&host.root, function) };
            moves_data.then(|| AttachedDevice {
                device: device(),
                top,
                below_port: !path.is_empty(),
            })
        };
        Self(tree.functions().filter_map(attached).collect())
    }

    /// The devices that a part of the stack with a root bus counts, and their scope.
    pub(super) fn devices_of_part(
        &self,
        bus: &str,
        part: u32,
        parts_are_devices: bool,
    ) -> (CountedDevices, Vec<PortDevice>) {
        let of = |wanted: &dyn Fn(&AttachedDevice) -> bool| -> Vec<PortDevice> {
            let of_stack = self.0.iter().filter(|it| root_bus(it.top) == bus);
            of_stack.filter(|it| wanted(it)).map(|it| it.device.clone()).collect()
        };
        if !parts_are_devices {
            return (CountedDevices::Stack, of(&|_| true));
        }
        let of_port = of(&|it| it.part() == Some(part));
        if of_port.is_empty() {
            return (CountedDevices::Stack, of(&|it| it.part().is_none()));
        }
        (CountedDevices::Port, of_port)
    }
}

fn root_bus(bdf: Bdf) -> String {
    format!("{:04x}:{:02x}", bdf.domain, bdf.bus)
}
