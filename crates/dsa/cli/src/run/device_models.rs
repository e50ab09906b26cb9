//! The device models of a run, and the PCI addresses of its devices.

use dsa::hardware::capabilities::Capabilities;
use idxd::Part;
use std::path::Path;

/// A model of a device.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum DeviceModel {
    /// DSA version 1, as in Sapphire Rapids.
    SapphireRapids,
    /// DSA version 2.
    #[value(name = "version-2")]
    Version2,
}

/// PCI buses of the devices of two Sapphire Rapids sockets, and further ones for machines that have a host
/// bridge at these.
const BUSES: [u8; 24] = [
    0x6a, 0x6f, 0x74, 0x79, 0xe7, 0xec, 0xf1, 0xf6, 0x6b, 0x70, 0x75, 0x7a, 0xe8, 0xed, 0xf2, 0xf7,
    0x6c, 0x71, 0x76, 0x7b, 0xe9, 0xee, 0xf3, 0xf8,
];

/// `count` devices of a model, at PCI addresses whose buses this machine does not have.
pub fn place_devices(model: DeviceModel, count: u8) -> Vec<Part> {
    let capabilities = match model {
        DeviceModel::SapphireRapids => Capabilities::VERSION_1,
        DeviceModel::Version2 => Capabilities::VERSION_2,
    };
    let is_free = |bus: &u8| !Path::new(&format!("/sys/devices/pci0000:{bus:02x}")).exists();
    let buses = BUSES.into_iter().filter(is_free);
    buses
        .take(count.into())
        .map(|bus| Part { pci_address: format!("0000:{bus:02x}:01.0"), ..Part::new(capabilities) })
        .collect()
}
