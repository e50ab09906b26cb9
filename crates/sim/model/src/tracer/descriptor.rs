//! The trace of one descriptor of a copy engine.
//!
//! Models: no hardware; it records when a descriptor passed each phase, and the events of its lines from
//! its preparation until software has read its completion.
//! Simplifies: a trace ends after [`WatchDescriptor::MOST_EVENTS`] events.

use super::{Event, Tracer};
use std::collections::BTreeMap;
use units::{LineAddr, Picos};

/// A phase of a descriptor; its time is the phase's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DescriptorPhase {
    /// Software begins to fill in the descriptor.
    Begun,
    /// The descriptor is complete in memory.
    Prepared,
    /// Software has written it, or its doorbell, to the device.
    Submitted,
    /// The device has seen the descriptor or its doorbell.
    Seen,
    /// An engine or channel has taken the descriptor.
    Dispatched,
    /// The operands are translated; of a batch: its list and record.
    Translated,
    /// The first lines are asked for. A batch leaves that to its members.
    Started,
    /// The last data of the descriptor's sources has arrived.
    Read,
    /// The last data of the descriptor's destinations is visible.
    Written,
    /// The completion is visible.
    Recorded,
    /// Software has read the completion.
    Reaped,
}

/// Purpose of a line of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineRole {
    /// Holds the descriptor itself.
    Descriptor,
    /// Holds members of a batch.
    List,
    /// Is read by the device.
    Source,
    /// Is written or flushed by the device.
    Destination,
    /// Receives the completion.
    Record,
}

/// Contiguous lines of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorLines {
    /// Purpose of the lines.
    pub role: LineRole,
    /// First line of the range.
    pub first: LineAddr,
    /// Number of lines.
    pub lines: u64,
}

impl DescriptorLines {
    fn contain(&self, line: LineAddr) -> bool {
        (self.first.0..self.first.0 + self.lines).contains(&line.0)
    }
}

/// Records the phases and the line events of one descriptor.
#[derive(Clone, Debug)]
pub struct WatchDescriptor {
    number: u64,
    begun: u64,
    /// The line that names it while it is under way.
    key: Option<LineAddr>,
    is_over: bool,
    /// Lines of the descriptor, with their purposes.
    pub lines: Vec<DescriptorLines>,
    /// Time at which the descriptor passed each phase.
    pub phases: BTreeMap<DescriptorPhase, Picos>,
    /// Events of its lines in the order of simulation.
    pub events: Vec<Event>,
    /// Number of events that the trace has no room for.
    pub left_out: u64,
}

impl WatchDescriptor {
    /// Most events that a trace keeps.
    pub const MOST_EVENTS: usize = 1 << 16;

    /// A trace of the descriptor with this number, in the order of preparation.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self {
            number,
            begun: 0,
            key: None,
            is_over: false,
            lines: Vec::new(),
            phases: BTreeMap::new(),
            events: Vec::new(),
            left_out: 0,
        }
    }

    /// Whether software has begun to prepare it.
    #[must_use]
    pub fn was_prepared(&self) -> bool {
        self.key.is_some()
    }

    /// The purpose of a line and its number among the lines of that range. A line that is several things
    /// is named by the first of them.
    #[must_use]
    pub fn role_of(&self, line: LineAddr) -> Option<(LineRole, u64)> {
        let range = self.lines.iter().find(|range| range.contain(line))?;
        Some((range.role, line.0 - range.first.0))
    }
}

impl Tracer for WatchDescriptor {
    const WATCHING: bool = true;

    fn record(&mut self, event: Event) {
        if self.key.is_none() || self.is_over || self.role_of(event.line).is_none() {
            return;
        }
        if self.events.len() < Self::MOST_EVENTS {
            self.events.push(event);
        } else {
            self.left_out += 1;
        }
    }

    fn packet_arrives(&mut self, _first: LineAddr, _lines: u64) {}

    fn packet_leaves(&mut self, _first: LineAddr) {}

    fn descriptor_begins(&mut self, key: LineAddr, time: Picos, lines: &[DescriptorLines]) {
        if self.begun == self.number {
            self.key = Some(key);
            self.lines = lines.to_vec();
            self.phases.insert(DescriptorPhase::Begun, time);
        }
        self.begun += 1;
    }

    fn descriptor_phase(&mut self, key: LineAddr, phase: DescriptorPhase, time: Picos) {
        if self.key != Some(key) || self.is_over {
            return;
        }
        let at = self.phases.entry(phase).or_insert(time);
        *at = time.max(*at);
        self.is_over = phase == DescriptorPhase::Reaped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_descriptor_with_the_number_is_recorded_and_only_until_it_is_reaped() {
        let (key, other) = (LineAddr(9), LineAddr(8));
        let source = DescriptorLines { role: LineRole::Source, first: LineAddr(20), lines: 2 };
        let mut watch = WatchDescriptor::new(1);
        watch.descriptor_begins(key, Picos(1), &[source]);
        assert!(!watch.was_prepared(), "it is descriptor 0");
        watch.descriptor_begins(key, Picos(5), &[source]);
        watch.descriptor_phase(other, DescriptorPhase::Read, Picos(7));
        watch.descriptor_phase(key, DescriptorPhase::Read, Picos(9));
        watch.descriptor_phase(key, DescriptorPhase::Read, Picos(8));
        watch.descriptor_phase(key, DescriptorPhase::Reaped, Picos(11));
        watch.descriptor_phase(key, DescriptorPhase::Read, Picos(30));
        let phases: Vec<_> = watch.phases.into_iter().collect();
        let (begun, read) = (DescriptorPhase::Begun, DescriptorPhase::Read);
        let reaped = DescriptorPhase::Reaped;
        assert_eq!(phases, [(begun, Picos(5)), (read, Picos(9)), (reaped, Picos(11))]);
    }
}
