//! The configuration space of a PCI function, as bytes.

use crate::description::{ExtendedCapability, PciFunction, PortType};

const BYTES: usize = 4096;
/// Configuration space of a function that does not answer: all ones.
pub(crate) const DEAD: [u8; BYTES] = [0xff; BYTES];
/// Offset of the PCI Express capability.
const EXPRESS: u8 = 0x40;

/// Configuration space of a function, with a chain of extended capabilities.
pub(crate) fn bytes(function: &PciFunction, chain: &[ExtendedCapability]) -> Vec<u8> {
    let mut space = vec![0u8; BYTES];
    let mut put = |at: usize, value: u32, width: usize| {
        space[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    };
    put(0x00, function.vendor.into(), 2);
    put(0x02, function.device.into(), 2);
    put(0x09, function.class, 3);
    put(0x0e, u32::from(function.buses.is_some()), 1);
    if let Some([secondary, subordinate]) = function.buses {
        put(0x18, function.bus().into(), 1);
        put(0x19, secondary.into(), 1);
        put(0x1a, subordinate.into(), 1);
    }
    if let Some(link) = &function.link {
        let port = match function.port {
            PortType::Endpoint => 0,
            PortType::RootPort => 4,
            PortType::SwitchUpstream => 5,
            PortType::SwitchDownstream => 6,
        };
        put(0x06, 0x10, 2);
        put(0x34, EXPRESS.into(), 1);
        let express = usize::from(EXPRESS);
        put(express, 0x10, 1);
        put(express + 2, 2 | port << 4, 2);
        put(express + 8, ((link.mps.ilog2() - 7) << 5) | ((link.mrrs.ilog2() - 7) << 12), 2);
        put(express + 0xc, link.most[0] | link.most[1] << 4, 4);
        put(express + 0x12, link.now[0] | link.now[1] << 4, 2);
    }
    for (index, capability) in chain.iter().enumerate() {
        let next = chain.get(index + 1).map_or(0, |next| next.at);
        put(capability.at.into(), extended_header(capability, next), 4);
        for (word, value) in capability.body.iter().enumerate() {
            put(usize::from(capability.at) + 4 * (word + 1), *value, 4);
        }
    }
    for &(offset, value) in &function.registers {
        put(offset, value, 4);
    }
    space
}

fn extended_header(capability: &ExtendedCapability, next: u16) -> u32 {
    u32::from(capability.id) | capability.version << 16 | u32::from(next) << 20
}
