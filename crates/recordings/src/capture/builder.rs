//! Collects packets in file order and returns them in time order.

use std::collections::HashMap;

use units::narrow::fit;
use units::{Bytes, Picos};

use super::error::CaptureFault;
use super::packet_consumer::{PacketConsumer, Recorded};
use workload::traffic::{Capture, CapturedPacket, FlowTuple};

const PICOS_PER_DAY: u128 = 86_400 * 1_000_000_000_000;

struct Timed {
    time_ps: Option<i128>,
    frame_bytes: u64,
    flow: Option<usize>,
}

/// The packets so far.
#[derive(Default)]
pub(super) struct CaptureBuilder {
    packets: Vec<Timed>,
    flows: Vec<FlowTuple>,
    /// For look-ups only: its order is never used, so results stay deterministic.
    flow_index: HashMap<FlowTuple, usize>,
    last_time_ps: Option<i128>,
}

impl PacketConsumer for CaptureBuilder {
    fn count(&self) -> u64 {
        self.packets.len() as u64
    }

    fn add(&mut self, packet: &Recorded) {
        self.last_time_ps = packet.time_ps.or(self.last_time_ps);
        let flow = packet.link.flow(packet.captured).map(|flow| self.index_of(flow));
        self.packets.push(Timed {
            time_ps: self.last_time_ps,
            frame_bytes: packet.link.frame_bytes(packet.original_bytes),
            flow,
        });
    }
}

impl CaptureBuilder {
    fn index_of(&mut self, flow: FlowTuple) -> usize {
        *self.flow_index.entry(flow).or_insert_with(|| {
            self.flows.push(flow);
            self.flows.len() - 1
        })
    }

    /// The capture, or the fault of these packets.
    pub(super) fn finish(self) -> Result<Capture, CaptureFault> {
        let mut packets = self.packets;
        // Packets before the first known time get this time.
        let first_known_ps = packets.iter().find_map(|packet| packet.time_ps).unwrap_or(0);
        let time_ps = |packet: &Timed| packet.time_ps.unwrap_or(first_known_ps);

        let mut latest_ps = i128::MIN;
        let mut reordered = 0;
        for packet in &packets {
            reordered += u64::from(time_ps(packet) < latest_ps);
            latest_ps = latest_ps.max(time_ps(packet));
        }
        packets.sort_by_key(time_ps);

        let start_ps = packets.first().map(time_ps).ok_or(CaptureFault::NoPackets)?;
        let span_ps = latest_ps.abs_diff(start_ps);
        if span_ps > u128::from(u64::MAX) {
            return Err(CaptureFault::TooLong { days: fit(span_ps / PICOS_PER_DAY) });
        }
        let packets = packets
            .iter()
            .map(|packet| CapturedPacket {
                since_start: Picos(fit(time_ps(packet).abs_diff(start_ps))),
                frame_bytes: Bytes(packet.frame_bytes),
                flow: packet.flow,
            })
            .collect();
        Ok(Capture::new(packets, self.flows, reordered))
    }
}
