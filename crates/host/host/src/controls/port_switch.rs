//! The root ports that have the switch of DDIO, perfctrlsts_0.

use crate::cpu::PortSwitch;
use crate::error::FileError;
use crate::machine::Host;
use crate::pci::{Capability, PciFunction, capability_at};
use crate::pci_address::Bdf;

const INTEL: u16 = 0x8086;

/// Error of a listed root port whose register cannot be trusted to be the switch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SwitchError {
    /// the offset belongs to a capability
    #[error(
        "root port {port} has no DDIO switch: its offset {offset:#x}, where perfctrlsts_0 would be, lies in \
         its {capability}"
    )]
    InCapability {
        /// The root port.
        port: Bdf,
        /// Offset at which the switch would be.
        offset: u16,
        /// The capability at that offset.
        capability: Capability,
    },
    /// configuration space cannot be read
    #[error("{0}")]
    File(#[from] FileError),
}

/// Whether a function is a root port of the kinds that are known to have the switch.
pub(crate) fn is_listed(port: &PciFunction, switch: &PortSwitch) -> bool {
    port.buses_below.is_some() && has_listed_numbers((port.vendor, port.device), switch)
}

/// Whether vendor and device number are those of a root port that is known to have the switch.
pub(crate) fn has_listed_numbers((vendor, device): (u16, u16), switch: &PortSwitch) -> bool {
    vendor == INTEL && switch.devices.contains(&device)
}

/// Checks that the switch of a listed port can be at the listed offset: device IDs state what a port
/// should be, its capabilities what it is.
///
/// # Errors
/// If a capability occupies that offset, or configuration space cannot be read.
pub(crate) fn check_switch(host: &Host, port: Bdf, switch: &PortSwitch) -> Result<(), SwitchError> {
    let offset = switch.offset;
    match capability_at(host.config.as_ref(), port, offset)? {
        Some(capability) => Err(SwitchError::InCapability { port, offset, capability }),
        None => Ok(()),
    }
}
