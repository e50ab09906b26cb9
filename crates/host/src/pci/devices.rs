//! What is below root ports: the bridges on the way, and the names that people use.

use super::{Function, FunctionKind, PortType, Tree, express};
use crate::pci_address::Bdf;
use crate::pci_config::PciConfig;
use crate::root::Root;
use crate::unavailable::Unavailable;

impl Tree {
    /// The bridges from a device up to its root port, nearest first; empty if it is part of the root
    /// complex.
    ///
    /// # Errors
    /// The reason why its root port is not known.
    pub(crate) fn bridges_to_root(
        &self,
        config: &dyn PciConfig,
        bdf: Bdf,
    ) -> Result<Vec<&Function>, Unavailable> {
        let unknown = |reason| Unavailable::absent(format!("root port of {bdf}"), reason);
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

/// Whether a bridge says that it is no root port. Without privilege it does not say.
fn is_of_switch(config: &dyn PciConfig, bridge: &Function) -> bool {
    let link = express(config, bridge.bdf).ok().flatten();
    link.is_some_and(|link| {
        matches!(link.port_type, PortType::SwitchUpstream | PortType::SwitchDownstream)
    })
}

/// Names of a device's interfaces, controllers or disks. They lie directly below a device, or below
/// the virtio device that it carries.
pub(crate) fn device_names(root: &Root, function: &Function) -> Vec<String> {
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
