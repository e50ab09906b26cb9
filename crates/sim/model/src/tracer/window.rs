//! The record of everything that happens in a window of a run, for a timeline.
//!
//! Models: no hardware; it keeps operations with their ends, spans of links, IIO entries and memory, and
//! fill levels. The window opens when its first packet arrives and closes when the first one behind it
//! does; lines of its packets are followed until the packets have left, or others take their buffers.
//! Simplifies: a record ends after [`WatchWindow::MOST_EVENTS`] operations.

use super::timeline::{
    LevelSample, PacketLife, ResourceSpan, TimedEvent, TimedSpan, WindowRequest,
};
use super::{DescriptorLines, DescriptorPhase, Event, LineOperation, Tracer};
use crate::attribution::AgentId;
use std::collections::HashMap;
use units::{LineAddr, Picos, RootPortId};

/// Progress of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WindowStage {
    /// It has not begun.
    Ahead,
    /// Everything is recorded.
    Open,
    /// Lines of the window's packets are recorded.
    Following,
    /// Nothing more is recorded.
    Over,
}

/// Records everything that happens in a window of a run.
#[derive(Clone, Debug)]
pub struct WatchWindow {
    request: WindowRequest,
    by_packets: WindowStage,
    by_descriptor: WindowStage,
    /// Packets that have arrived, at all ports.
    arrived: u64,
    descriptors_begun: u64,
    /// The line that names the descriptor while it is under way.
    key: Option<LineAddr>,
    /// The packet that occupies each line.
    packet_of: HashMap<LineAddr, u32>,
    /// Lines of chained packets beside their first ones.
    more_lines: HashMap<u32, Vec<(LineAddr, u64)>>,
    /// Packets that occupy lines.
    present: u64,
    /// The operation that was recorded last, if its end is not known yet.
    unfinished: Option<usize>,
    /// Packets in the order of their arrival.
    pub packets: Vec<PacketLife>,
    /// Operations in the order of simulation.
    pub events: Vec<TimedEvent>,
    /// Uses of resources in the order of simulation.
    pub spans: Vec<TimedSpan>,
    /// Fill levels in the order of time.
    pub levels: Vec<LevelSample>,
    /// Whether the window was cut off at its largest number of operations.
    pub is_cut: bool,
}

impl WatchWindow {
    /// Most operations that a window keeps: some 150 MB, and four times that while a timeline is drawn.
    pub const MOST_EVENTS: usize = 2_000_000;

    /// Least time between two samples of fill levels.
    const LEAST_SAMPLE_TIME: Picos = Picos(100_000);

    /// A window with these limits.
    #[must_use]
    pub fn new(request: WindowRequest) -> Self {
        let stage =
            |is_wanted: bool| if is_wanted { WindowStage::Ahead } else { WindowStage::Over };
        Self {
            request,
            by_packets: stage(request.packets.is_some()),
            by_descriptor: stage(request.descriptor.is_some()),
            arrived: 0,
            descriptors_begun: 0,
            key: None,
            packet_of: HashMap::new(),
            more_lines: HashMap::new(),
            present: 0,
            unfinished: None,
            packets: Vec::new(),
            events: Vec::new(),
            spans: Vec::new(),
            levels: Vec::new(),
            is_cut: false,
        }
    }

    /// Whether anything was recorded.
    #[must_use]
    pub fn has_opened(&self) -> bool {
        !self.events.is_empty()
    }

    fn is_open(&self) -> bool {
        self.by_packets == WindowStage::Open || self.by_descriptor == WindowStage::Open
    }

    /// Whether an operation on a line is recorded, and the packet that the line belongs to.
    #[inline]
    fn recorded(&self, line: LineAddr) -> Option<Option<u32>> {
        let is_open = self.is_open();
        if !is_open && self.by_packets != WindowStage::Following {
            return None;
        }
        let packet = self.packet_of.get(&line).copied();
        (is_open || packet.is_some()).then_some(packet)
    }

    /// The packet that occupies a line leaves it.
    fn leave(&mut self, line: LineAddr) {
        let Some(&packet) = self.packet_of.get(&line) else { return };
        let PacketLife { first, lines, .. } = self.packets[packet as usize];
        let more = self.more_lines.remove(&packet).unwrap_or_default();
        for (first, lines) in std::iter::once((first, lines)).chain(more) {
            for line in (0..lines).map(|number| first.step(number)) {
                if self.packet_of.get(&line) == Some(&packet) {
                    self.packet_of.remove(&line);
                }
            }
        }
        self.present -= 1;
        self.end_if_gone();
    }

    fn end_if_gone(&mut self) {
        if self.by_packets == WindowStage::Following && self.present == 0 {
            self.by_packets = WindowStage::Over;
        }
    }

    fn end_all(&mut self) {
        (self.by_packets, self.by_descriptor) = (WindowStage::Over, WindowStage::Over);
        self.is_cut = true;
    }
}

impl Tracer for WatchWindow {
    const WATCHING: bool = true;

    fn record(&mut self, event: Event) {
        let Some(packet) = self.recorded(event.line) else {
            self.unfinished = None;
            return;
        };
        if self.events.len() >= Self::MOST_EVENTS {
            return self.end_all();
        }
        if is_request(event.operation) {
            self.unfinished = Some(self.events.len());
        }
        self.events.push(TimedEvent { event, done: event.time, packet });
    }

    fn operation_ends(&mut self, agent: AgentId, line: LineAddr, done: Picos) {
        let Some(index) = self.unfinished.take() else { return };
        let of = &mut self.events[index];
        if (of.event.agent, of.event.line) == (agent, line) {
            of.done = done.max(of.event.time);
        }
    }

    fn span(&mut self, span: ResourceSpan) {
        if let Some(packet) = self.recorded(span.first) {
            self.spans.push(TimedSpan { span, packet });
        }
    }

    fn packet_arrives(&mut self, first: LineAddr, lines: u64) {
        let Some((from, packets)) = self.request.packets else { return };
        let sequence = self.arrived;
        self.arrived += 1;
        if self.by_packets == WindowStage::Ahead && sequence == from {
            self.by_packets = WindowStage::Open;
        }
        if self.by_packets == WindowStage::Open && sequence == from.saturating_add(packets) {
            self.by_packets = WindowStage::Following;
            self.end_if_gone();
        }
        if self.present > 0 {
            (0..lines).for_each(|number| self.leave(first.step(number)));
        }
        if self.by_packets != WindowStage::Open {
            return;
        }
        let Ok(packet) = u32::try_from(self.packets.len()) else { return };
        self.packet_of.extend((0..lines).map(|number| (first.step(number), packet)));
        self.present += 1;
        self.packets.push(PacketLife { sequence, first, lines, received: None, sent: None });
    }

    fn packet_continues(&mut self, first: LineAddr, lines: u64) {
        if self.present > 0 {
            (0..lines).for_each(|number| self.leave(first.step(number)));
        }
        let Some(last) = self.packets.len().checked_sub(1) else { return };
        if self.by_packets != WindowStage::Open || self.packets[last].sequence + 1 != self.arrived {
            return;
        }
        let Ok(packet) = u32::try_from(last) else { return };
        self.packet_of.extend((0..lines).map(|number| (first.step(number), packet)));
        self.more_lines.entry(packet).or_default().push((first, lines));
    }

    fn packet_leaves(&mut self, _first: LineAddr) {}

    fn packet_received(&mut self, port: RootPortId, first: LineAddr, from: Picos, until: Picos) {
        if let Some(&packet) = self.packet_of.get(&first) {
            self.packets[packet as usize].received = Some((port, from, until));
        }
    }

    fn packet_sent(&mut self, port: RootPortId, first: LineAddr, from: Picos, until: Picos) {
        if let Some(&packet) = self.packet_of.get(&first) {
            self.packets[packet as usize].sent = Some((port, from, until));
            self.leave(first);
        }
    }

    fn descriptor_begins(&mut self, key: LineAddr, _time: Picos, _lines: &[DescriptorLines]) {
        if Some(self.descriptors_begun) == self.request.descriptor {
            self.key = Some(key);
            self.by_descriptor = WindowStage::Open;
        }
        self.descriptors_begun += 1;
    }

    fn descriptor_phase(&mut self, key: LineAddr, phase: DescriptorPhase, _time: Picos) {
        if self.key == Some(key) && phase == DescriptorPhase::Reaped {
            self.by_descriptor = WindowStage::Over;
        }
    }

    fn clock_starts(&mut self) {
        if self.request.packets.is_some_and(|(from, _)| from == 0) {
            self.by_packets = WindowStage::Open;
        }
    }

    fn wants_levels(&self) -> bool {
        self.by_packets != WindowStage::Over || self.by_descriptor != WindowStage::Over
    }

    fn levels_are_due(&self, now: Picos) -> bool {
        let last = self.levels.last().map(|last| last.time + Self::LEAST_SAMPLE_TIME);
        self.is_open() && last.is_none_or(|next| now >= next)
    }

    fn sample_levels(&mut self, sample: LevelSample) {
        self.levels.push(sample);
    }
}

/// Whether an agent waits for the end of an operation.
fn is_request(operation: LineOperation) -> bool {
    match operation {
        LineOperation::DmaWriteFull
        | LineOperation::DmaWritePartial
        | LineOperation::DmaRead
        | LineOperation::Load
        | LineOperation::Store
        | LineOperation::Prefetch
        | LineOperation::Fetch => true,
        LineOperation::L2Victim
        | LineOperation::LlcFill
        | LineOperation::IoWriteBack
        | LineOperation::LlcEviction
        | LineOperation::DirectoryEviction => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracer::{Found, SpanPlace};

    const AGENT: AgentId = AgentId(1);

    fn event(line: u64, operation: LineOperation) -> Event {
        let (line, found) = (LineAddr(line), Found::Dram);
        Event { time: Picos(5), agent: AGENT, line, operation, found, pushed_out: None }
    }

    fn of_packets(from: u64, packets: u64) -> WatchWindow {
        let packets = Some((from, packets));
        WatchWindow::new(WindowRequest { packets, descriptor: None })
    }

    fn lines(window: &WatchWindow) -> Vec<(u64, Option<u32>)> {
        window.events.iter().map(|timed| (timed.event.line.0, timed.packet)).collect()
    }

    #[test]
    fn all_lines_are_recorded_while_it_is_open_and_only_its_packets_lines_afterwards() {
        let mut window = of_packets(1, 1);
        window.packet_arrives(LineAddr(10), 2);
        window.record(event(10, LineOperation::DmaWriteFull));
        window.packet_arrives(LineAddr(20), 2);
        window.record(event(21, LineOperation::DmaWriteFull));
        window.record(event(99, LineOperation::Store));
        window.packet_arrives(LineAddr(30), 2);
        window.record(event(30, LineOperation::DmaWriteFull));
        window.record(event(20, LineOperation::Load));
        assert_eq!(lines(&window), [(21, Some(0)), (99, None), (20, Some(0))]);
        window.packet_sent(RootPortId(0), LineAddr(20), Picos(7), Picos(8));
        window.record(event(20, LineOperation::Load));
        assert_eq!(window.events.len(), 3, "the packet has left");
        assert!(!window.wants_levels());
    }

    #[test]
    fn a_packet_ends_where_another_takes_its_buffer() {
        let mut window = of_packets(0, 1);
        window.clock_starts();
        window.packet_arrives(LineAddr(10), 3);
        window.packet_arrives(LineAddr(12), 3);
        window.record(event(11, LineOperation::Load));
        assert_eq!(lines(&window), [], "line 11 was the first packet's");
        assert_eq!(window.packets.len(), 1);
    }

    #[test]
    fn a_chained_packet_leaves_all_its_buffers_together() {
        let mut window = of_packets(0, 1);
        window.clock_starts();
        window.packet_arrives(LineAddr(10), 2);
        window.packet_continues(LineAddr(40), 2);
        window.packet_arrives(LineAddr(60), 2);
        window.packet_continues(LineAddr(80), 2);
        for line in [41, 81] {
            window.record(event(line, LineOperation::DmaWriteFull));
        }
        assert_eq!(lines(&window), [(41, Some(0))]);
        window.packet_sent(RootPortId(0), LineAddr(10), Picos(7), Picos(8));
        window.record(event(41, LineOperation::Load));
        assert_eq!(window.events.len(), 1, "the packet has left");
    }

    #[test]
    fn the_end_of_an_operation_goes_to_that_operation_only() {
        let mut window = of_packets(0, 9);
        window.clock_starts();
        window.record(event(1, LineOperation::Load));
        // A victim of the load lies between it and its end.
        window.record(event(2, LineOperation::L2Victim));
        window.operation_ends(AGENT, LineAddr(1), Picos(50));
        window.operation_ends(AGENT, LineAddr(1), Picos(90));
        window.record(event(3, LineOperation::Load));
        window.operation_ends(AGENT, LineAddr(4), Picos(70));
        let ends: Vec<u64> = window.events.iter().map(|timed| timed.done.0).collect();
        assert_eq!(ends, [50, 5, 5]);
    }

    #[test]
    fn a_descriptors_window_is_its_life() {
        let (key, other) = (LineAddr(7), LineAddr(8));
        let mut window = WatchWindow::new(WindowRequest { packets: None, descriptor: Some(1) });
        let place = SpanPlace::MemoryRead(0);
        let span = ResourceSpan { place, first: key, bytes: 64, start: Picos(1), end: Picos(2) };
        window.descriptor_begins(other, Picos(1), &[]);
        window.span(span);
        window.descriptor_begins(key, Picos(2), &[]);
        window.span(span);
        window.descriptor_phase(other, DescriptorPhase::Reaped, Picos(3));
        window.span(span);
        window.descriptor_phase(key, DescriptorPhase::Reaped, Picos(4));
        window.span(span);
        assert_eq!(window.spans.len(), 2);
    }
}
