//! The PCI Express capability: port type, link, payload and read request sizes.
//!
//! Source: PCI Express base specification, "PCI Express Capability Structure".

use serde::Serialize;

use super::capabilities;
use crate::error::FileError;
use crate::pci_address::Bdf;
use crate::pci_config::PciConfig;

const EXPRESS: u8 = 0x10;

/// Type of a port in the PCI Express hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortType {
    /// Endpoint: a device.
    Endpoint,
    /// Port of a root complex.
    RootPort,
    /// Upstream port of a switch (towards the root).
    SwitchUpstream,
    /// Downstream port of a switch (towards devices).
    SwitchDownstream,
    /// Any other type.
    Other,
}

/// State of a function's PCI Express link, and its transfer sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkStatus {
    /// Type of the port.
    pub port_type: PortType,
    /// Current speed of a lane in GT/s; `None` for a code that is not known.
    pub speed_gts: Option<f64>,
    /// Current number of lanes.
    pub width: u32,
    /// Greatest speed of a lane in GT/s; `None` for a code that is not known.
    pub most_speed_gts: Option<f64>,
    /// Greatest number of lanes.
    pub most_width: u32,
    /// Maximum payload size in bytes.
    pub mps_bytes: u32,
    /// Maximum read request size in bytes.
    pub mrrs_bytes: u32,
}

/// Reads the PCI Express capability of a function; `None` if it has none.
///
/// # Errors
/// If configuration space cannot be read: beyond 64 bytes this needs privilege.
pub fn express(config: &dyn PciConfig, function: Bdf) -> Result<Option<LinkStatus>, FileError> {
    let Some(at) = capabilities::find_standard(config, function, EXPRESS)? else { return Ok(None) };
    let flags = config.read(function, at)? >> 16;
    let control = config.read(function, at + 8)?;
    let most = config.read(function, at + 0xc)?;
    let now = config.read(function, at + 0x10)? >> 16;
    Ok(Some(LinkStatus {
        port_type: port_type(flags >> 4 & 0xf),
        speed_gts: speed_gts(now & 0xf),
        width: now >> 4 & 0x3f,
        most_speed_gts: speed_gts(most & 0xf),
        most_width: most >> 4 & 0x3f,
        mps_bytes: 128 << (control >> 5 & 7),
        mrrs_bytes: 128 << (control >> 12 & 7),
    }))
}

fn port_type(code: u32) -> PortType {
    match code {
        0 | 1 | 9 => PortType::Endpoint,
        4 => PortType::RootPort,
        5 => PortType::SwitchUpstream,
        6 => PortType::SwitchDownstream,
        _ => PortType::Other,
    }
}

fn speed_gts(code: u32) -> Option<f64> {
    let speeds = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0];
    speeds.get((code as usize).checked_sub(1)?).copied()
}
