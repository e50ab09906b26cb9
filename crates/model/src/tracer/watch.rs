//! Several watchers at a time.
//!
//! Models: nothing; it passes on what happens.
//! Source: none needed.
//! Simplifies: nothing.

use super::{Event, Tracer, WatchLine, WatchMisses, WatchPacket};
use units::LineAddr;

/// Whatever a run was asked to watch.
#[derive(Debug, Default)]
pub struct Watch {
    /// The story of a packet.
    pub packet: Option<WatchPacket>,
    /// The story of a line.
    pub line: Option<WatchLine>,
    /// Kinds of LLC misses.
    pub misses: Option<WatchMisses>,
}

impl Tracer for Watch {
    const WATCHING: bool = true;

    fn record(&mut self, event: Event) {
        if let Some(packet) = &mut self.packet {
            packet.record(event);
        }
        if let Some(line) = &mut self.line {
            line.record(event);
        }
        if let Some(misses) = &mut self.misses {
            misses.record(event);
        }
    }

    fn packet_arrives(&mut self, sequence: u64, first: LineAddr, lines: u64) {
        if let Some(packet) = &mut self.packet {
            packet.packet_arrives(sequence, first, lines);
        }
    }

    fn packet_leaves(&mut self, sequence: u64) {
        if let Some(packet) = &mut self.packet {
            packet.packet_leaves(sequence);
        }
    }
}
