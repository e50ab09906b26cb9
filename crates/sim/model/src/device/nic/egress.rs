//! The sending side of a port's wire, and counters of sent packets.
//!
//! Models: frames of all send queues share one wire at line rate, the port's pace, and the port's limit
//! of requested payload.
//! Source: IEEE 802.3 overheads as in [`crate::traffic`].
//! Simplifies: frames of different queues may be out of order within a window of the meter
//! (DEVIATIONS.md, 1).

use super::pace::Pace;
use super::rings::Packet;
use super::shared_reads::SharedReads;
use crate::latency_histogram::{self, latency_histogram};
use crate::occupancy::Meter;
use crate::times_by_size::TimesBySize;
use crate::traffic::Departure;
use hdrhistogram::Histogram;
use units::{Bytes, GbitPerSec, Picos, WIRE_OVERHEAD_BYTES};

/// The sending side of a port.
#[derive(Debug)]
pub struct Egress {
    line_rate: GbitPerSec,
    wire: Meter,
    /// Times of packets on the wire, by their size without overhead.
    wire_times: TimesBySize,
    /// Time from one packet to the next, and the meter that keeps it.
    pace: Pace,
    pace_times: TimesBySize,
    paced: Meter,
    /// How far ahead of the wire packets may be read: the time in which the wire empties its buffer.
    ahead: Picos,
    /// When the wire will have sent all granted packets.
    granted: Picos,
    /// Payload that all send queues have requested.
    pub(crate) reads: SharedReads,
    /// Number of packets sent.
    pub packets: u64,
    /// Bytes sent, without FCS, preamble and gap.
    pub bytes: u64,
    /// Time from the end of a packet's arrival to the end of its departure, in ns.
    pub latency_ns: Histogram<u64>,
    /// Frames of which a closed-loop source has not been informed.
    pub(crate) departures: Vec<Departure>,
    reports_departures: bool,
}

impl Egress {
    /// An idle wire; with `reports_departures` it notes what leaves for a closed-loop source.
    #[must_use]
    pub fn new(line_rate: GbitPerSec, reports_departures: bool) -> Self {
        Self {
            line_rate,
            wire: Meter::default(),
            wire_times: TimesBySize::new(|bytes| time_on_wire(bytes, line_rate)),
            pace: Pace::NONE,
            pace_times: TimesBySize::new(|_| Picos::ZERO),
            paced: Meter::default(),
            ahead: Picos::NEVER,
            granted: Picos::ZERO,
            reads: SharedReads::new(None),
            packets: 0,
            bytes: 0,
            latency_ns: latency_histogram(),
            departures: Vec::new(),
            reports_departures,
        }
    }

    /// Limits the packets that leave to a mean pace.
    #[must_use]
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self.pace_times = TimesBySize::new(|bytes| pace.time_for(Bytes(bytes)));
        self
    }

    /// Limits the bytes that may be read ahead of the wire to `buffer`.
    #[must_use]
    pub fn with_buffer(mut self, buffer: Bytes) -> Self {
        self.ahead = self.line_rate.time_for(buffer);
        self
    }

    /// Limits the payload that all send queues together may have requested and not received.
    #[must_use]
    pub fn with_reads(mut self, most: Option<Bytes>) -> Self {
        self.reads = SharedReads::new(most);
        self
    }

    /// Grants a queue the wire for its next packet, after all earlier requests; returns when the packet
    /// may be read. Queues that always have a packet to send therefore take turns.
    pub(crate) fn grant(&mut self, packet: &Packet, now: Picos) -> Picos {
        let (on_wire, gap) = self.times(packet.bytes);
        let time = on_wire.max(gap);
        self.granted = self.granted.max(now) + time;
        self.granted.saturating_sub(self.ahead).max(now)
    }

    /// Time of a packet on the wire, and the time from it to the next packet at the port's pace.
    fn times(&self, packet: Bytes) -> (Picos, Picos) {
        let on_wire =
            self.wire_times.look_up(packet.0, |bytes| time_on_wire(bytes, self.line_rate));
        (on_wire, self.pace_times.look_up(packet.0, |bytes| self.pace.time_for(Bytes(bytes))))
    }

    /// Time until `now` for which the wire was busy, without packets that are to leave later.
    #[must_use]
    pub fn busy_until(&self, now: Picos) -> Picos {
        self.wire.busy_until(now)
    }

    /// The latencies recorded since the last call.
    pub fn take_latencies(&mut self) -> Histogram<u64> {
        latency_histogram::take(&mut self.latency_ns)
    }

    /// Sends a packet that is complete in the NIC at `ready`.
    pub fn send(&mut self, packet: Packet, ready: Picos) {
        let (on_wire, gap) = self.times(packet.bytes);
        let mut departure = self.wire.reserve(ready, on_wire);
        if gap > Picos::ZERO {
            departure = departure.max(self.paced.reserve(ready, gap));
        }
        self.packets += 1;
        self.bytes += packet.bytes.0;
        let latency = departure.saturating_sub(packet.arrival);
        self.latency_ns.saturating_record(latency.0 / 1_000);
        if self.reports_departures {
            let Packet { arrival, bytes, .. } = packet;
            self.departures.push(Departure { time: departure, arrival, bytes });
        }
    }
}

fn time_on_wire(bytes: u64, rate: GbitPerSec) -> Picos {
    rate.time_for(Bytes(bytes + WIRE_OVERHEAD_BYTES))
}
