//! Receive-side scaling: the hash that assigns flows to queues.
//!
//! Models: the Toeplitz hash of a NIC over addresses, and ports where the protocol has them.
//! Source: Microsoft, "RSS hashing functions" and "Verifying the RSS hash calculation".
//! Simplifies: IPv6 home addresses and routing headers do not replace the addresses.

use units::{FlowAddresses, FlowTuple};

/// Bytes of a key.
const KEY_BYTES: usize = 40;

/// The key that Microsoft publishes for verification and most drivers start with.
const MICROSOFT_KEY: [u8; KEY_BYTES] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
    0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
    0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// Most bytes that a tuple feeds to the hash: two IPv6 addresses and two ports.
const LONGEST_INPUT_BYTES: usize = 36;

/// Values of half a byte.
const NIBBLES: usize = 16;

/// The Toeplitz hash with its secret key.
///
/// A bit of the input adds what the key has at its position, whatever the other bits are: what half a byte
/// adds is one of sixteen values, computed once for each position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toeplitz {
    /// For each byte of the input, what its upper and its lower half add.
    added: Box<[[[u32; NIBBLES]; 2]; LONGEST_INPUT_BYTES]>,
}

impl Default for Toeplitz {
    /// With Microsoft's published key.
    fn default() -> Self {
        Self::with_key(MICROSOFT_KEY)
    }
}

impl Toeplitz {
    /// With a key as written to the NIC, first byte first.
    #[must_use]
    pub fn with_key(key: [u8; KEY_BYTES]) -> Self {
        let added = std::array::from_fn(|byte| {
            std::array::from_fn(|half| std::array::from_fn(|value| added(&key, byte, half, value)))
        });
        Self { added: Box::new(added) }
    }

    /// The hash of a flow: over addresses and ports if it has ports, else over addresses only.
    #[must_use]
    pub fn hash_flow(&self, flow: &FlowTuple) -> u32 {
        let mut input = [0; LONGEST_INPUT_BYTES];
        let mut len = 0;
        let mut append = |part: &[u8]| {
            input[len..len + part.len()].copy_from_slice(part);
            len += part.len();
        };
        match flow.addresses {
            FlowAddresses::V4 { source, destination } => {
                append(&source.octets());
                append(&destination.octets());
            }
            FlowAddresses::V6 { source, destination } => {
                append(&source.octets());
                append(&destination.octets());
            }
        }
        if let Some(ports) = flow.ports {
            append(&ports.source.to_be_bytes());
            append(&ports.destination.to_be_bytes());
        }
        self.hash(&input[..len])
    }

    fn hash(&self, input: &[u8]) -> u32 {
        let bytes = self.added.iter().zip(input);
        bytes.fold(0, |hash, ([upper, lower], byte)| {
            hash ^ upper[usize::from(byte >> 4)] ^ lower[usize::from(byte & 0xf)]
        })
    }
}

/// The contribution to the hash of one half of byte `byte` of the input: each of its set bits adds the 32 key
/// bits that start at that bit's position.
fn added(key: &[u8; KEY_BYTES], byte: usize, half: usize, value: usize) -> u32 {
    let of_key = |i: usize| key.get(byte + i).copied().unwrap_or_default();
    let window = u64::from_be_bytes(std::array::from_fn(of_key));
    (0..4).filter(|bit| value >> (3 - bit) & 1 == 1).fold(0, |sum, bit| {
        let from = 4 * half + bit;
        sum ^ (window << from >> 32) as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use units::FlowPorts;

    /// Destination, source, hash over the addresses, hash with ports.
    type Vector<'a> = (&'a str, u16, &'a str, u16, u32, u32);

    /// All IPv4 lines of Microsoft's verification table.
    const IPV4: [Vector; 5] = [
        ("161.142.100.80", 1766, "66.9.149.187", 2794, 0x323e_8fc2, 0x51cc_c178),
        ("65.69.140.83", 4739, "199.92.111.2", 14230, 0xd718_262a, 0xc626_b0ea),
        ("12.22.207.184", 38024, "24.19.198.95", 12898, 0xd2d0_a5de, 0x5c2b_394a),
        ("209.142.163.6", 2217, "38.27.205.30", 48228, 0x8298_9176, 0xafc7_327f),
        ("202.188.127.2", 1303, "153.39.163.191", 44251, 0x5d18_09c5, 0x10e8_28a2),
    ];

    /// All IPv6 lines of Microsoft's verification table.
    const IPV6: [Vector; 3] = [
        ("3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2cc1_8cd5, 0x4020_7d3d),
        ("ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0f0c_461c, 0xdde5_1bbf),
        (
            "fe80::200:f8ff:fe21:67cf",
            38024,
            "3ffe:1900:4545:3:200:f8ff:fe21:67cf",
            44251,
            0x4b61_e985,
            0x02d1_feef,
        ),
    ];

    fn check(addresses: FlowAddresses, vector: &Vector) {
        let (_, destination, _, source, without_ports, with_ports) = *vector;
        let hash = Toeplitz::default();
        let mut flow = FlowTuple { addresses, protocol: 6, ports: None };
        assert_eq!(hash.hash_flow(&flow), without_ports, "{vector:?} without ports");
        flow.ports = Some(FlowPorts { source, destination });
        assert_eq!(hash.hash_flow(&flow), with_ports, "{vector:?} with ports");
    }

    #[test]
    fn ipv4_flows_hash_as_microsoft_published() {
        for vector in &IPV4 {
            let (source, destination) = (vector.2.parse().unwrap(), vector.0.parse().unwrap());
            check(FlowAddresses::V4 { source, destination }, vector);
        }
    }

    #[test]
    fn ipv6_flows_hash_as_microsoft_published() {
        for vector in &IPV6 {
            let (source, destination) = (vector.2.parse().unwrap(), vector.0.parse().unwrap());
            check(FlowAddresses::V6 { source, destination }, vector);
        }
    }

    #[test]
    fn the_last_byte_of_the_key_reaches_the_hash_of_the_longest_input() {
        let mut key = [0; KEY_BYTES];
        key[39] = 0x01;
        let hash = Toeplitz::with_key(key);
        let flow = FlowTuple {
            addresses: FlowAddresses::V6 {
                source: Ipv6Addr::UNSPECIFIED,
                destination: Ipv6Addr::UNSPECIFIED,
            },
            protocol: 6,
            ports: Some(FlowPorts { source: 0, destination: 1 }),
        };
        // The last input bit sees key bits 287 to 318; only bit 319 is set.
        assert_eq!(hash.hash_flow(&flow), 0);
        key[39] = 0x02;
        assert_eq!(Toeplitz::with_key(key).hash_flow(&flow), 1);
    }

    #[test]
    fn the_protocol_number_is_not_hashed() {
        let addresses = FlowAddresses::V4 {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
        };
        let ports = Some(FlowPorts { source: 1, destination: 2 });
        let hash = Toeplitz::default();
        assert_eq!(
            hash.hash_flow(&FlowTuple { addresses, protocol: 6, ports }),
            hash.hash_flow(&FlowTuple { addresses, protocol: 17, ports })
        );
    }
}
