//! The devices of a run: what they can do, and where the machine has them.

use dsa::hardware::capabilities::Capabilities;
use idxd::Part;
use std::path::Path;

/// A part that can be chosen.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Name {
    /// Version 1.
    SapphireRapids,
    /// Version 2.
    #[value(name = "version-2")]
    Version2,
}

/// PCI buses of the devices of two Sapphire Rapids sockets, and further ones for machines that have a
/// host bridge there.
const BUSES: [u8; 24] = [
    0x6a, 0x6f, 0x74, 0x79, 0xe7, 0xec, 0xf1, 0xf6, 0x6b, 0x70, 0x75, 0x7a, 0xe8, 0xed, 0xf2, 0xf7,
    0x6c, 0x71, 0x76, 0x7b, 0xe9, 0xee, 0xf3, 0xf8,
];

/// Devices of a part, at addresses whose buses this machine does not have.
pub fn placed(name: Name, count: u8) -> Vec<Part> {
    let capabilities = match name {
        Name::SapphireRapids => Capabilities::VERSION_1,
        Name::Version2 => Capabilities::VERSION_2,
    };
    let is_free = |bus: &u8| !Path::new(&format!("/sys/devices/pci0000:{bus:02x}")).exists();
    let buses = BUSES.into_iter().filter(is_free);
    buses
        .take(count.into())
        .map(|bus| Part { pci_address: format!("0000:{bus:02x}:01.0"), ..Part::new(capabilities) })
        .collect()
}
