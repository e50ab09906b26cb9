//! The packets of a file as a replay sends them: the rules of `capture.rs`, `link.rs` and `pace.rs`, again.

use recordings::capture::Recording;

use super::packet::Packet;
use super::times::SECOND_PS;

const ETHERNET_HEADER_BYTES: usize = 14;
/// Ethernet's least frame without its FCS.
const LEAST_FRAME_BYTES: usize = 60;
const LONGEST_GAP_PS: i128 = 600 * SECOND_PS;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Time since the first, frame without FCS, UDP source port.
    packets: Vec<(i128, usize, Option<u16>)>,
    /// Packets that stand behind a later one in the file.
    reordered: u64,
    /// Gaps that were longer than ten minutes.
    shortened: u64,
}

impl Replay {
    /// The replay of a file's packets; `None` if none of them can be replayed.
    pub fn from_packets(packets: &[Packet]) -> Option<Self> {
        let packets: Vec<_> =
            packets.iter().filter(|packet| packet.link_header_bytes.is_some()).collect();
        // A packet without a time has that of the packet before it, the first ones that of the next.
        let mut time_ps = packets.iter().find_map(|packet| packet.time_ps).unwrap_or(0);
        let mut latest_ps = i128::MIN;
        let mut replay = Self::default();
        for packet in packets {
            time_ps = packet.time_ps.unwrap_or(time_ps);
            replay.reordered += u64::from(time_ps < latest_ps);
            latest_ps = latest_ps.max(time_ps);
            replay.packets.push((time_ps, frame_bytes(packet), packet.source_port));
        }
        replay.packets.sort_by_key(|(time_ps, ..)| *time_ps);
        let mut previous_ps = replay.packets.first()?.0;
        let mut since_start_ps = 0;
        for (time_ps, ..) in &mut replay.packets {
            let gap_ps = *time_ps - previous_ps;
            previous_ps = *time_ps;
            replay.shortened += u64::from(gap_ps > LONGEST_GAP_PS);
            since_start_ps += gap_ps.min(LONGEST_GAP_PS);
            *time_ps = since_start_ps;
        }
        Some(replay)
    }

    /// The packets that the reader has read, beside `expected`: a port counts where one is expected.
    pub fn from_recording(recording: &Recording, expected: &Self) -> Self {
        let expected_ports = expected.packets.iter().map(|(.., port)| port.is_some());
        let packets = recording.packets.iter().zip(expected_ports.chain(std::iter::repeat(true)));
        let packets = packets.map(|(packet, has_port)| {
            let ports = packet.flow.and_then(|flow| recording.flows[flow].ports);
            let port = ports.map(|ports| ports.source).filter(|_| has_port);
            (packet.since_start.0.into(), packet.frame_bytes.0 as usize, port)
        });
        Self {
            packets: packets.collect(),
            reordered: recording.reordered,
            shortened: recording.paced.shortened,
        }
    }

    pub fn packet_count(&self) -> usize {
        self.packets.len()
    }

    /// The first difference from another replay, in words.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let pairs = self.packets.iter().zip(&other.packets).enumerate();
        let counts = (self.packets.len(), other.packets.len());
        let rest = [(self.reordered, other.reordered), (self.shortened, other.shortened)];
        pairs
            .filter(|(_, (one, another))| one != another)
            .map(|(number, (one, another))| format!("packet {number}: {one:?} and {another:?}"))
            .next()
            .or_else(|| (counts.0 != counts.1).then(|| format!("packets: {counts:?}")))
            .or_else(|| {
                let differ = rest.iter().any(|(one, another)| one != another);
                differ.then(|| format!("reordered and shortened: {rest:?}"))
            })
    }
}

/// The Ethernet frame that a packet was or would have been.
fn frame_bytes(packet: &Packet) -> usize {
    let on_link = packet.original_bytes.max(packet.captured_bytes);
    let headers = packet.link_header_bytes.unwrap_or(0) + packet.fcs_bytes;
    (ETHERNET_HEADER_BYTES + on_link.saturating_sub(headers)).max(LEAST_FRAME_BYTES)
}
