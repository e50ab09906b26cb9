//! Collects packets in file order and returns them in time order.

use std::collections::HashMap;

use units::narrow::{fit, usize_from};

use super::error::CaptureFault;
use super::pace::{Paced, pace};
use super::packet_consumer::{PacketConsumer, Recorded};
use super::{CaptureOptions, MAX_FLOWS, MAX_PACKETS};
use units::{Bytes, CapturedPacket, FlowTuple, Picos};

/// A packet that is kept: 32 bytes, of which a capture may need tens of millions.
struct Timed {
    time_ps: i128,
    frame_bytes: u64,
    flow: Option<u32>,
}

/// Packets and flows of a capture that has been read to its end.
pub(super) struct CollectedPackets {
    pub(super) packets: Vec<CapturedPacket>,
    pub(super) flows: Vec<FlowTuple>,
    /// Number of packets that the file holds after a later one.
    pub(super) reordered: u64,
    pub(super) paced: Paced,
}

/// Collects packets and flows of a capture while its file is read.
#[derive(Default)]
pub(super) struct CaptureBuilder {
    packets: Vec<Timed>,
    /// The number of packets before the first that has a time.
    without_time: usize,
    flows: Vec<FlowTuple>,
    /// For look-ups only: its order is never used, so results stay deterministic.
    flow_index: HashMap<FlowTuple, u32>,
    last_time_ps: Option<i128>,
}

impl PacketConsumer for CaptureBuilder {
    fn count(&self) -> u64 {
        self.packets.len() as u64
    }

    fn add(&mut self, packet: &Recorded) -> Result<(), CaptureFault> {
        if self.count() == MAX_PACKETS {
            return Err(CaptureFault::TooManyPackets);
        }
        self.last_time_ps = packet.time_ps.or(self.last_time_ps);
        self.without_time += usize::from(self.last_time_ps.is_none());
        let flow = packet.link.flow(packet.captured).map(|flow| self.index_of(flow)).transpose()?;
        self.packets.push(Timed {
            time_ps: self.last_time_ps.unwrap_or_default(),
            frame_bytes: packet.link.frame_bytes(packet.original_bytes),
            flow,
        });
        Ok(())
    }
}

impl CaptureBuilder {
    fn index_of(&mut self, flow: FlowTuple) -> Result<u32, CaptureFault> {
        let next = self.flows.len();
        if let Some(known) = self.flow_index.get(&flow) {
            return Ok(*known);
        }
        if next == MAX_FLOWS {
            return Err(CaptureFault::TooManyFlows);
        }
        self.flows.push(flow);
        self.flow_index.insert(flow, fit(next));
        Ok(fit(next))
    }

    /// The packets in time order, with times as `options` ask for, and how these were changed.
    ///
    /// # Errors
    /// If there are no packets, or if they would be replayed for longer than simulated time lasts.
    pub(super) fn finish(self, options: &CaptureOptions) -> Result<CollectedPackets, CaptureFault> {
        let Self { mut packets, without_time, flows, .. } = self;
        let first_known_ps = packets.get(without_time).map_or(0, |packet| packet.time_ps);
        for packet in &mut packets[..without_time] {
            packet.time_ps = first_known_ps;
        }
        let mut latest_ps = i128::MIN;
        let mut reordered = 0;
        for packet in &packets {
            reordered += u64::from(packet.time_ps < latest_ps);
            latest_ps = latest_ps.max(packet.time_ps);
        }
        packets.sort_by_key(|packet| packet.time_ps);
        let frame_bytes = packets.iter().map(|packet| packet.frame_bytes).sum();
        let times = packets.iter_mut().map(|packet| &mut packet.time_ps);
        let paced = pace(times.collect(), frame_bytes, options)?;
        let packets = packets
            .into_iter()
            .map(|packet| CapturedPacket {
                since_start: Picos(fit(packet.time_ps.cast_unsigned())),
                frame_bytes: Bytes(packet.frame_bytes),
                flow: packet.flow.map(|flow| usize_from(flow.into())),
            })
            .collect();
        Ok(CollectedPackets { packets, flows, reordered, paced })
    }
}
