//! The trace of one packet.
//!
//! Models: no hardware; it records the events of a packet's lines from its arrival to its departure.

use super::{Event, Tracer};
use std::ops::Range;
use units::LineAddr;

/// Records the events of one packet's lines between its arrival and its departure.
#[derive(Clone, Debug)]
pub struct WatchPacket {
    number: u64,
    /// Packets that have arrived, at all ports.
    arrived: u64,
    /// Its lines in each of its buffers, the first one's first.
    lines: Vec<Range<u64>>,
    present: bool,
    /// Events in the order of simulation.
    pub events: Vec<Event>,
}

impl WatchPacket {
    /// A trace of the packet with this number among those that get a descriptor, at whatever port.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self { number, arrived: 0, lines: Vec::new(), present: false, events: Vec::new() }
    }

    /// The packet's first line, if it has arrived.
    #[must_use]
    pub fn first_line(&self) -> Option<LineAddr> {
        self.lines.first().map(|lines| LineAddr(lines.start))
    }

    /// Lines of the packet that arrived last, which is this one or takes the place of what was there.
    fn occupy(&mut self, taken: Range<u64>) {
        if self.arrived == self.number + 1 {
            self.lines.push(taken);
            self.present = true;
        } else if self.present {
            // Software has freed its buffer and has not sent it.
            self.present =
                self.lines.iter().all(|own| own.end <= taken.start || taken.end <= own.start);
        }
    }
}

impl Tracer for WatchPacket {
    const WATCHING: bool = true;

    fn record(&mut self, event: Event) {
        if self.present && self.lines.iter().any(|lines| lines.contains(&event.line.0)) {
            self.events.push(event);
        }
    }

    fn packet_arrives(&mut self, first: LineAddr, lines: u64) {
        self.arrived += 1;
        self.occupy(first.0..first.0 + lines);
    }

    fn packet_continues(&mut self, first: LineAddr, lines: u64) {
        self.occupy(first.0..first.0 + lines);
    }

    fn packet_leaves(&mut self, first: LineAddr) {
        self.present &= self.first_line() != Some(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::AgentId;
    use crate::tracer::{Found, LineOperation};
    use units::Picos;

    fn loaded(watch: &mut WatchPacket, line: u64) {
        watch.record(Event {
            time: Picos(0),
            agent: AgentId(0),
            line: LineAddr(line),
            operation: LineOperation::Load,
            found: Found::L1,
            pushed_out: None,
        });
    }

    #[test]
    fn packets_are_counted_at_all_ports_together() {
        let mut watch = WatchPacket::new(1);
        watch.packet_arrives(LineAddr(10), 2);
        watch.packet_arrives(LineAddr(20), 2);
        watch.packet_arrives(LineAddr(30), 2);
        for line in [10, 20, 30] {
            loaded(&mut watch, line);
        }
        assert_eq!(watch.first_line(), Some(LineAddr(20)));
        watch.packet_leaves(LineAddr(10));
        loaded(&mut watch, 21);
        watch.packet_leaves(LineAddr(20));
        loaded(&mut watch, 20);
        let lines: Vec<u64> = watch.events.iter().map(|event| event.line.0).collect();
        assert_eq!(lines, [20, 21]);
    }

    #[test]
    fn a_packet_that_is_freed_ends_where_another_takes_its_buffer() {
        let mut watch = WatchPacket::new(0);
        watch.packet_arrives(LineAddr(10), 2);
        watch.packet_continues(LineAddr(40), 2);
        watch.packet_arrives(LineAddr(60), 2);
        loaded(&mut watch, 41);
        watch.packet_continues(LineAddr(40), 2);
        loaded(&mut watch, 41);
        assert_eq!(watch.events.len(), 1);
    }
}
