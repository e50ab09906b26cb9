//! The root ports that have the switch of DDIO, perfctrlsts_0.

use crate::cpu::PortSwitch;
use crate::pci::Function;

const INTEL: u16 = 0x8086;

/// Whether a function is a root port of the kinds that are known to have the switch.
pub(crate) fn has_switch(port: &Function, switch: &PortSwitch) -> bool {
    port.vendor == INTEL && port.buses_below.is_some() && switch.devices.contains(&port.device)
}
