//! Flows for generated traffic.
//!
//! Models: a generator's table of UDP flows, in the address block set aside for benchmarks.
//! Source: RFC 2544 (198.18.0.0/15).

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

use units::narrow::low_u16;
use units::{FlowAddresses, FlowPorts, FlowTuple};

const UDP: u8 = 17;
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;

/// `count` different UDP flows from 198.18.0.0/16 to 198.19.0.0/16, the same for the same seed.
#[must_use]
pub fn random_udp_flows(count: usize, seed: u64) -> Vec<FlowTuple> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut known = BTreeSet::new();
    let mut flows = Vec::with_capacity(count);
    while flows.len() < count {
        let flow = random_flow(&mut random);
        if known.insert(flow) {
            flows.push(flow);
        }
    }
    flows
}

/// A UDP flow in the block of addresses for benchmarks.
pub(super) fn random_flow(random: &mut ChaCha8Rng) -> FlowTuple {
    let [source_high, source_low, destination_high, destination_low] =
        random.next_u32().to_be_bytes();
    let ports = u64::from(random.next_u32());
    FlowTuple {
        addresses: FlowAddresses::V4 {
            source: Ipv4Addr::new(198, 18, source_high, source_low),
            destination: Ipv4Addr::new(198, 19, destination_high, destination_low),
        },
        protocol: UDP,
        ports: Some(FlowPorts {
            source: low_u16(ports).max(FIRST_UNPRIVILEGED_PORT),
            destination: low_u16(ports >> 16).max(FIRST_UNPRIVILEGED_PORT),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_all_different() {
        let flows = random_udp_flows(16_384, 1);
        assert_eq!(flows.iter().collect::<BTreeSet<_>>().len(), 16_384);
    }

    #[test]
    fn the_seed_decides_the_flows() {
        assert_eq!(random_udp_flows(100, 7), random_udp_flows(100, 7));
        assert_ne!(random_udp_flows(100, 7), random_udp_flows(100, 8));
    }

    #[test]
    fn more_flows_start_with_the_same_ones() {
        assert_eq!(random_udp_flows(100, 7)[..10], random_udp_flows(10, 7));
    }
}
