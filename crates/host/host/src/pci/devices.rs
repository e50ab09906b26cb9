//! Devices below root ports: the bridges above a device, and the names of its interfaces and disks.

use super::{FunctionKind, PciFunction, PortType, Tree, express};
use crate::pci_address::Bdf;
use crate::pci_config::PciConfig;
use crate::root::Root;
use crate::unavailable::Unavailable;

impl Tree {
    /// The bridges from a device up to its root port, nearest first; empty if it is part of the root
    /// complex.
    ///
    /// # Errors
    /// If a bridge on the path cannot be read, or the path ends at a port of a switch.
    pub(crate) fn bridges_to_root(
        &self,
        config: &dyn PciConfig,
        bdf: Bdf,
    ) -> Result<Vec<&PciFunction>, Unavailable> {
        let unknown = |reason| Unavailable::without_remedy(format!("root port of {bdf}"), reason);
        let path = self.path_up(bdf).map_err(|error| unknown(error.to_string()))?;
        match path.last().filter(|top| is_of_switch(config, top)) {
            Some(top) => Err(unknown(format!(
                "the way up ends at {}, which is a port of a switch: the bridge above it does not answer",
                top.bdf
            ))),
            None => Ok(path),
        }
    }
}

/// Whether a bridge reports that it is a port of a switch. Without privilege its type cannot be read,
/// and the answer is no.
fn is_of_switch(config: &dyn PciConfig, bridge: &PciFunction) -> bool {
    let link = express(config, bridge.bdf).ok().flatten();
    link.is_some_and(|link| {
        matches!(link.port_type, PortType::SwitchUpstream | PortType::SwitchDownstream)
    })
}

/// Names of a device's interfaces, controllers or disks. sysfs lists them directly below the device, or
/// below its virtio device.
pub(crate) fn device_names(root: &Root, function: &PciFunction) -> Vec<String> {
    let list = |path: String| root.list(&path).unwrap_or_default();
    let folder = format!("sys/bus/pci/devices/{}", function.bdf);
    let below = match function.kind {
        FunctionKind::Nic => "net",
        FunctionKind::Ssd => "nvme",
        _ => "block",
    };
    let direct = list(format!("{folder}/{below}"));
    if !direct.is_empty() {
        return direct;
    }
    let carried = list(folder.clone()).into_iter().filter(|name| name.starts_with("virtio"));
    carried.flat_map(|name| list(format!("{folder}/{name}/{below}"))).collect()
}
