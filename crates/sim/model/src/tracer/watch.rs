//! Several tracers together.
//!
//! Models: no hardware; it passes events on.

use super::{
    DescriptorLines, DescriptorPhase, Event, LevelSample, ResourceSpan, Tracer, WatchDescriptor,
    WatchLine, WatchMisses, WatchPacket, WatchWindow,
};
use crate::attribution::AgentId;
use crate::miss_kinds::AccessCounts;
use units::{LineAddr, Picos, RootPortId};

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
    /// Everything that happens in a window of the run.
    pub window: Option<WatchWindow>,
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
        if let Some(window) = &mut self.window {
            window.record(event);
        }
    }

    fn packet_arrives(&mut self, first: LineAddr, lines: u64) {
        if let Some(packet) = &mut self.packet {
            packet.packet_arrives(first, lines);
        }
        if let Some(window) = &mut self.window {
            window.packet_arrives(first, lines);
        }
    }

    fn packet_continues(&mut self, first: LineAddr, lines: u64) {
        if let Some(packet) = &mut self.packet {
            packet.packet_continues(first, lines);
        }
        if let Some(window) = &mut self.window {
            window.packet_continues(first, lines);
        }
    }

    fn packet_leaves(&mut self, first: LineAddr) {
        if let Some(packet) = &mut self.packet {
            packet.packet_leaves(first);
        }
    }

    fn descriptor_begins(&mut self, key: LineAddr, time: Picos, lines: &[DescriptorLines]) {
        if let Some(descriptor) = &mut self.descriptor {
            descriptor.descriptor_begins(key, time, lines);
        }
        if let Some(window) = &mut self.window {
            window.descriptor_begins(key, time, lines);
        }
    }

    fn descriptor_phase(&mut self, key: LineAddr, phase: DescriptorPhase, time: Picos) {
        if let Some(descriptor) = &mut self.descriptor {
            descriptor.descriptor_phase(key, phase, time);
        }
        if let Some(window) = &mut self.window {
            window.descriptor_phase(key, phase, time);
        }
    }

    fn clock_starts(&mut self) {
        if let Some(window) = &mut self.window {
            window.clock_starts();
        }
    }

    fn operation_ends(&mut self, agent: AgentId, line: LineAddr, done: Picos) {
        if let Some(window) = &mut self.window {
            window.operation_ends(agent, line, done);
        }
    }

    fn span(&mut self, span: ResourceSpan) {
        if let Some(window) = &mut self.window {
            window.span(span);
        }
    }

    fn packet_received(&mut self, port: RootPortId, first: LineAddr, from: Picos, until: Picos) {
        if let Some(window) = &mut self.window {
            window.packet_received(port, first, from, until);
        }
    }

    fn packet_sent(&mut self, port: RootPortId, first: LineAddr, from: Picos, until: Picos) {
        if let Some(window) = &mut self.window {
            window.packet_sent(port, first, from, until);
        }
    }

    fn wants_levels(&self) -> bool {
        self.window.as_ref().is_some_and(Tracer::wants_levels)
    }

    fn levels_are_due(&self, now: Picos) -> bool {
        self.window.as_ref().is_some_and(|window| window.levels_are_due(now))
    }

    fn sample_levels(&mut self, sample: LevelSample) {
        if let Some(window) = &mut self.window {
            window.sample_levels(sample);
        }
    }

    fn miss_counts(&self) -> &[AccessCounts] {
        self.misses.as_ref().map_or(&[], Tracer::miss_counts)
    }

    fn device_write_counts(&self) -> &[AccessCounts] {
        self.misses.as_ref().map_or(&[], Tracer::device_write_counts)
    }
}
