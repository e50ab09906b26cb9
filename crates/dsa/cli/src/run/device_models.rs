//! The device models of a run, and the PCI addresses of its devices.

use dsa::hardware::capabilities::Capabilities;
use dsa_run::registers::MOST_DEVICES;
use idxd::Part;
use std::collections::BTreeSet;
use std::path::Path;

/// A model of a device.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum DeviceModel {
    /// DSA version 1, as public listings of Sapphire Rapids show it: without delta records.
    SapphireRapids,
    /// DSA version 1, as public listings of Emerald Rapids show it: the same as in Sapphire Rapids.
    EmeraldRapids,
    /// DSA version 2, as a public listing of Sierra Forest shows it.
    SierraForest,
    /// DSA version 1 with more than shipped processors list: delta records, cache control of flushes.
    Generous,
    /// DSA version 2 with all that the specification has, which no shipped processor lists.
    #[value(name = "version-2")]
    Version2,
}

impl DeviceModel {
    fn capabilities(self) -> Capabilities {
        match self {
            Self::SapphireRapids | Self::EmeraldRapids => Capabilities::SAPPHIRE_RAPIDS,
            Self::SierraForest => Capabilities::SIERRA_FOREST,
            Self::Generous => Capabilities::VERSION_1,
            Self::Version2 => Capabilities::VERSION_2,
        }
    }
}

/// PCI buses of the devices of two Sapphire Rapids sockets, and further ones for machines that have a host
/// bridge at these.
const BUSES: [u8; 24] = [
    0x6a, 0x6f, 0x74, 0x79, 0xe7, 0xec, 0xf1, 0xf6, 0x6b, 0x70, 0x75, 0x7a, 0xe8, 0xed, 0xf2, 0xf7,
    0x6c, 0x71, 0x76, 0x7b, 0xe9, 0xee, 0xf3, 0xf8,
];
/// Number of the first device of the second socket, on machines on which all numbers are even: IAA devices
/// have the odd ones.
const SECOND_SOCKET: usize = 8;

/// The numbers of the devices of a run: those that a configuration names, and `count` from 0 on. Without
/// either it is dsa0 alone.
///
/// # Errors
/// A sentence on a number that is too large.
pub fn numbers(count: Option<u8>, named: &[usize]) -> Result<BTreeSet<usize>, String> {
    if let Some(number) = named.iter().find(|number| **number >= MOST_DEVICES) {
        let last = MOST_DEVICES - 1;
        return Err(format!("dsa{number}: a run has no such device; allowed is dsa0 to dsa{last}"));
    }
    let count = count.unwrap_or(u8::from(named.is_empty()));
    Ok(named.iter().copied().chain(0..count.into()).collect())
}

/// Devices of a model with these numbers, at PCI addresses whose buses this machine does not have. Numbers
/// between them are gaps.
pub fn place_devices(model: DeviceModel, numbers: &BTreeSet<usize>) -> Vec<Part> {
    let is_free = |bus: &u8| !Path::new(&format!("/sys/devices/pci0000:{bus:02x}")).exists();
    let free: Vec<u8> = BUSES.into_iter().filter(is_free).collect();
    // The usual machine has even numbers alone, at the first buses.
    let step = if numbers.iter().all(|number| number.is_multiple_of(2)) { 2 } else { 1 };
    let part = |number: usize| {
        let bus = free.get(number / step).filter(|_| numbers.contains(&number));
        bus.map_or_else(Part::gap, |bus| Part {
            pci_address: format!("0000:{bus:02x}:01.0"),
            numa_node: i32::from(number >= SECOND_SOCKET),
            ..Part::new(model.capabilities())
        })
    };
    (0..=numbers.last().copied().unwrap_or(0)).map(part).collect()
}
