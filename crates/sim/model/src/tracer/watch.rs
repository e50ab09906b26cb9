//! Several tracers together.
//!
//! Models: no hardware; it passes events on.

use super::{
    DescriptorLines, DescriptorPhase, Event, Tracer, WatchDescriptor, WatchLine, WatchMisses,
    WatchPacket,
};
use crate::miss_kinds::AccessCounts;
use units::{LineAddr, Picos};

/// All tracers of a run.
#[derive(Debug, Default)]
pub struct Watch {
    /// The trace of a packet.
    pub packet: Option<WatchPacket>,
    /// The trace of a descriptor.
    pub descriptor: Option<WatchDescriptor>,
    /// The trace of a line.
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
        if let Some(descriptor) = &mut self.descriptor {
            descriptor.record(event);
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

    fn descriptor_begins(&mut self, key: LineAddr, time: Picos, lines: &[DescriptorLines]) {
        if let Some(descriptor) = &mut self.descriptor {
            descriptor.descriptor_begins(key, time, lines);
        }
    }

    fn descriptor_phase(&mut self, key: LineAddr, phase: DescriptorPhase, time: Picos) {
        if let Some(descriptor) = &mut self.descriptor {
            descriptor.descriptor_phase(key, phase, time);
        }
    }

    fn miss_counts(&self) -> &[AccessCounts] {
        self.misses.as_ref().map_or(&[], Tracer::miss_counts)
    }
}
