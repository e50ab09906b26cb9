//! The timeline of a window in the format of Perfetto, which ui.perfetto.dev and its trace processor read.
//!
//! A track for each card, link, core, slice of the LLC and memory node; slices for operations; flows that
//! follow lines and packets; counters.

mod counters;
mod file;
mod flows;
mod marks;
mod schema;
mod tracks;

use super::story::{operation_name, outcome_name, phase_name};
use file::{Text, TraceFile};
use marks::{Mark, MarkSubject};
use model::fabric::Fabric;
use model::tracer::{DescriptorPhase, SpanPlace, TimedEvent, Tracer, WatchDescriptor, WatchWindow};
use schema::{DebugAnnotation, EventType, TrackEvent};
use std::borrow::Cow;
use tracks::Tracks;
use units::{LINE_BYTES, LineAddr, Picos};

/// The window that a timeline shows, and the names of what it saw.
pub(super) struct ShownWindow<'a, T: Tracer> {
    pub window: &'a WatchWindow,
    pub descriptor: Option<&'a WatchDescriptor>,
    pub fabric: &'a Fabric<T>,
    /// Names of agents: cores, then root ports.
    pub agents: Vec<String>,
    /// Names of devices.
    pub devices: Vec<String>,
    /// Number of cores among the agents.
    pub cores: usize,
    /// Bytes of one way of an LLC.
    pub way_bytes: u64,
    /// Title of the scenario.
    pub title: &'a str,
}

/// A change of a lane or counter in the order of the file. Of those at one time, ends come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TimelineStep {
    End(usize),
    Begin(usize),
    Count(usize),
}

impl<T: Tracer> ShownWindow<'_, T> {
    /// The bytes of the trace.
    pub(super) fn trace(&self) -> Vec<u8> {
        let mut file = TraceFile::new();
        let mut tracks = Tracks::new(&mut file, self.title);
        let mut marks = marks::marks(self.window, self.descriptor, self.fabric, self.cores);
        flows::follow(&mut marks, self.window);
        tracks.declare_groups(&mut file, &marks, &self.agents, self.cores);
        let points = counters::points(self, &mut file, &mut tracks);
        let lanes: Vec<u64> = marks
            .iter()
            .map(|mark| tracks.lane(&mut file, mark, &self.agents, self.cores))
            .collect();
        let mut steps: Vec<(Picos, TimelineStep)> =
            Vec::with_capacity(2 * marks.len() + points.len());
        for (number, mark) in marks.iter().enumerate() {
            steps.push((mark.start, TimelineStep::Begin(number)));
            if !mark.is_instant() {
                steps.push((mark.end, TimelineStep::End(number)));
            }
        }
        steps.extend(
            points.iter().enumerate().map(|(n, point)| (point.time, TimelineStep::Count(n))),
        );
        steps.sort_unstable();
        for (time, step) in steps {
            match step {
                TimelineStep::Count(number) => points[number].write(&mut file),
                TimelineStep::Begin(number) => {
                    let event = self.begin(&mut file, &marks[number], lanes[number]);
                    file.event(time, event);
                }
                TimelineStep::End(number) => {
                    file.event(time, event_of(EventType::SliceEnd, lanes[number]));
                }
            }
        }
        file.finish()
    }

    /// The event at which a mark begins.
    fn begin(&self, file: &mut TraceFile, mark: &Mark, lane: u64) -> TrackEvent {
        let kind = if mark.is_instant() { EventType::Instant } else { EventType::SliceBegin };
        let mut event = event_of(kind, lane);
        let (category, name) = self.title_of(mark.subject);
        event.category_iids = vec![file.intern(Text::Category, category)];
        event.name_iid = Some(file.intern(Text::Event, &name));
        event.debug_annotations = self.annotations(file, mark.subject);
        for (flow, ends) in [mark.line_flow, mark.packet_flow].into_iter().flatten() {
            let list = if ends { &mut event.terminating_flow_ids } else { &mut event.flow_ids };
            list.push(flow);
        }
        event
    }

    /// Category and name of a mark.
    fn title_of(&self, subject: MarkSubject) -> (&'static str, Cow<'static, str>) {
        match subject {
            MarkSubject::Phase(number) => {
                let phase = self.descriptor.and_then(|of| of.phases.keys().nth(number));
                (
                    "descriptor",
                    phase.map_or("", |&phase: &DescriptorPhase| phase_name(phase)).into(),
                )
            }
            MarkSubject::Reception(number) => {
                let sequence = self.window.packets[number].sequence;
                ("packet", format!("receive packet {sequence}").into())
            }
            MarkSubject::Transmission(number) => {
                let sequence = self.window.packets[number].sequence;
                ("packet", format!("send packet {sequence}").into())
            }
            MarkSubject::Span(number) => match self.window.spans[number].span.place {
                SpanPlace::TowardsMemory(_) => ("link", "write".into()),
                SpanPlace::ReadRequests(_) => ("link", "read request".into()),
                SpanPlace::TowardsDevice(_) => ("link", "completion".into()),
                SpanPlace::WriteEntries(_) => ("iio", "write".into()),
                SpanPlace::ReadEntries(_) => ("iio", "read".into()),
                SpanPlace::MemoryRead(_) => ("memory", "read".into()),
                SpanPlace::MemoryWrite(_) => ("memory", "write".into()),
            },
            MarkSubject::Operation(number) => {
                ("operation", operation_name(self.window.events[number].event.operation).into())
            }
            MarkSubject::Lookup(number) => {
                ("lookup", operation_name(self.window.events[number].event.operation).into())
            }
        }
    }

    fn annotations(&self, file: &mut TraceFile, subject: MarkSubject) -> Vec<DebugAnnotation> {
        match subject {
            MarkSubject::Phase(_) => Vec::new(),
            MarkSubject::Reception(number) | MarkSubject::Transmission(number) => {
                let packet = &self.window.packets[number];
                vec![number_note(file, "lines", packet.lines), address_note(file, packet.first)]
            }
            MarkSubject::Span(number) => {
                let timed = &self.window.spans[number];
                let mut notes = self.line_notes(file, timed.span.first, timed.packet);
                notes.push(number_note(file, "bytes", timed.span.bytes));
                notes
            }
            MarkSubject::Operation(number) => {
                self.operation_notes(file, &self.window.events[number])
            }
            MarkSubject::Lookup(number) => {
                let timed = &self.window.events[number];
                let agent = &self.agents[usize::from(timed.event.agent.0)];
                vec![
                    text_note(file, "agent", agent),
                    text_note(file, "found", &outcome_name(timed.event.found)),
                ]
            }
        }
    }

    fn operation_notes(&self, file: &mut TraceFile, timed: &TimedEvent) -> Vec<DebugAnnotation> {
        let mut notes = self.line_notes(file, timed.event.line, timed.packet);
        notes.push(text_note(file, "found", &outcome_name(timed.event.found)));
        if let Some(role) = self.descriptor.and_then(|of| of.role_of(timed.event.line)) {
            notes.push(text_note(file, "part", super::story::role_name(role.0)));
        }
        if let Some(victim) = timed.event.pushed_out {
            let owner = &self.agents[usize::from(victim.owner.0)];
            let state = if victim.dirty { "dirty" } else { "clean" };
            let read = if victim.consumed { "read" } else { "unread" };
            notes.push(text_note(file, "evicted", &format!("{owner}, {state}, {read}")));
            notes.push(DebugAnnotation {
                name_iid: Some(file.intern(Text::Annotation, "evicted address")),
                pointer_value: Some(victim.line.0 * LINE_BYTES),
                ..DebugAnnotation::default()
            });
        }
        notes
    }

    /// Address of a line; of a packet's line, number of the packet and of the line in it.
    fn line_notes(
        &self,
        file: &mut TraceFile,
        line: LineAddr,
        packet: Option<u32>,
    ) -> Vec<DebugAnnotation> {
        let mut notes = vec![address_note(file, line)];
        if let Some(packet) = packet.map(|number| &self.window.packets[number as usize]) {
            notes.push(number_note(file, "packet", packet.sequence));
            notes.push(number_note(file, "line", line.0 - packet.first.0));
        }
        notes
    }
}

fn event_of(kind: EventType, track: u64) -> TrackEvent {
    TrackEvent { r#type: Some(kind as i32), track_uuid: Some(track), ..TrackEvent::default() }
}

fn text_note(file: &mut TraceFile, name: &str, text: &str) -> DebugAnnotation {
    DebugAnnotation {
        name_iid: Some(file.intern(Text::Annotation, name)),
        string_value_iid: Some(file.intern(Text::Value, text)),
        ..DebugAnnotation::default()
    }
}

fn number_note(file: &mut TraceFile, name: &str, number: u64) -> DebugAnnotation {
    DebugAnnotation {
        name_iid: Some(file.intern(Text::Annotation, name)),
        uint_value: Some(number),
        ..DebugAnnotation::default()
    }
}

fn address_note(file: &mut TraceFile, line: LineAddr) -> DebugAnnotation {
    DebugAnnotation {
        name_iid: Some(file.intern(Text::Annotation, "address")),
        pointer_value: Some(line.0 * LINE_BYTES),
        ..DebugAnnotation::default()
    }
}
