//! The trace of one packet.
//!
//! Models: no hardware; it records the events of a packet's lines from its arrival to its departure.

use super::{Event, Tracer};
use units::LineAddr;

/// Records the events of one packet's lines between its arrival and its departure.
#[derive(Clone, Debug)]
pub struct WatchPacket {
    sequence: u64,
    /// Its lines in each of its buffers, the first one's first.
    lines: Vec<std::ops::Range<u64>>,
    present: bool,
    /// Events in the order of simulation.
    pub events: Vec<Event>,
}

impl WatchPacket {
    /// A trace of the packet with this number among those that get a descriptor.
    #[must_use]
    pub fn new(sequence: u64) -> Self {
        Self { sequence, lines: Vec::new(), present: false, events: Vec::new() }
    }

    /// The packet's first line, if it has arrived.
    #[must_use]
    pub fn first_line(&self) -> Option<LineAddr> {
        self.lines.first().map(|lines| LineAddr(lines.start))
    }
}

impl Tracer for WatchPacket {
    const WATCHING: bool = true;

    fn record(&mut self, event: Event) {
        if self.present && self.lines.iter().any(|lines| lines.contains(&event.line.0)) {
            self.events.push(event);
        }
    }

    fn packet_arrives(&mut self, sequence: u64, first: LineAddr, lines: u64) {
        if sequence == self.sequence {
            self.lines.clear();
            self.lines.push(first.0..first.0 + lines);
            self.present = true;
        }
    }

    fn packet_continues(&mut self, sequence: u64, first: LineAddr, lines: u64) {
        if sequence == self.sequence {
            self.lines.push(first.0..first.0 + lines);
        }
    }

    fn packet_leaves(&mut self, sequence: u64) {
        self.present &= sequence != self.sequence;
    }
}
