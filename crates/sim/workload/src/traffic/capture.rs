//! A capture in memory: frames as they passed an interface, to be replayed.
//!
//! It holds size on the wire, flow and time of each frame. Sizes are those that Ethernet would carry,
//! for any link. The crate `recordings` reads captures from files.

use std::sync::Arc;

use units::{Bytes, CapturedPacket, FlowTuple, GbitPerSec, Picos};

use super::wire::wire_bytes;

/// All packets of a capture file in time order. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Capture {
    pub(super) packets: Arc<[CapturedPacket]>,
    flows: Arc<[FlowTuple]>,
    reordered: u64,
}

impl Capture {
    /// A capture of these packets, in time order from time zero. `flows` lists the flows of the
    /// packets, `reordered` is the number of packets that the recording holds after a later one.
    ///
    /// # Panics
    /// If there are no packets, if the first is not at time zero or one is before its predecessor,
    /// or if a packet's flow is not in `flows`.
    #[must_use]
    pub fn new(packets: Vec<CapturedPacket>, flows: Vec<FlowTuple>, reordered: u64) -> Self {
        assert_eq!(packets.first().map(|first| first.since_start), Some(Picos::ZERO));
        assert!(packets.is_sorted_by_key(|packet| packet.since_start), "packets in time order");
        let known = |packet: &CapturedPacket| packet.flow.is_none_or(|flow| flow < flows.len());
        assert!(packets.iter().all(known), "every packet's flow is among the flows");
        Self { packets: packets.into(), flows: flows.into(), reordered }
    }

    /// The packets in time order; the first is at time zero.
    #[must_use]
    pub fn packets(&self) -> &[CapturedPacket] {
        &self.packets
    }

    /// The different flows, in the order in which the file names them.
    #[must_use]
    pub fn flows(&self) -> &[FlowTuple] {
        &self.flows
    }

    /// Number of packets: those of one loop of a replay.
    #[must_use]
    pub fn packet_count(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Number of different IP flows.
    #[must_use]
    pub fn flow_count(&self) -> usize {
        self.flows.len()
    }

    /// Sum of the frames' sizes without FCS.
    #[must_use]
    pub fn total_bytes(&self) -> Bytes {
        Bytes(self.packets.iter().map(|packet| packet.frame_bytes.0).sum())
    }

    /// Bytes that all frames occupy on the wire: with FCS, preamble and gap.
    #[must_use]
    pub fn wire_bytes(&self) -> Bytes {
        Bytes(self.packets.iter().map(|packet| wire_bytes(packet.frame_bytes.0)).sum())
    }

    /// Size of the largest frame without FCS: the least size of a receive buffer.
    #[must_use]
    pub fn largest_frame_bytes(&self) -> Bytes {
        self.packets.iter().map(|packet| packet.frame_bytes).max().unwrap_or_default()
    }

    /// From the first packet to the last.
    #[must_use]
    pub fn duration(&self) -> Picos {
        self.packets.last().map_or(Picos::ZERO, |last| last.since_start)
    }

    /// Packets that the file holds after a later one; they were sorted by their time.
    #[must_use]
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Mean rate on the wire over a loop, or `None` if all packets have the same time.
    #[must_use]
    pub fn mean_wire_rate(&self) -> Option<GbitPerSec> {
        let loop_ns = self.loop_ps() / 1e3;
        (loop_ns > 0.0).then(|| GbitPerSec(self.wire_bytes().0 as f64 * 8.0 / loop_ns))
    }

    /// Length of a loop: the duration and one mean inter-arrival time, zero without a duration.
    pub(super) fn loop_ps(&self) -> f64 {
        let packets = self.packets.len() as f64;
        if packets < 2.0 { 0.0 } else { self.duration().0 as f64 * packets / (packets - 1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random_udp_flows;
    use super::*;

    #[test]
    fn totals_are_those_of_the_packets() {
        let packet = |number: usize| CapturedPacket {
            since_start: Picos(10_000 * number as u64),
            frame_bytes: Bytes(92 + number as u64 % 7),
            flow: Some(number % 100),
        };
        let capture = Capture::new((0..1_000).map(packet).collect(), random_udp_flows(100, 1), 3);
        assert_eq!((capture.packet_count(), capture.flow_count()), (1_000, 100));
        assert_eq!(capture.duration(), Picos(9_990_000));
        let bytes = (0..1_000).map(|number| 92 + number % 7).sum();
        assert_eq!(capture.total_bytes(), Bytes(bytes));
        assert_eq!(capture.wire_bytes(), Bytes(bytes + 24_000));
        assert_eq!(capture.largest_frame_bytes(), Bytes(98));
        assert_eq!(capture.reordered(), 3);
    }
}
