//! The entries of a timeline, before they have lanes: operations, look-ups, spans, packets, phases.

use model::attribution::AgentId;
use model::fabric::Fabric;
use model::tracer::{Found, SpanPlace, TimedEvent, Tracer, WatchDescriptor, WatchWindow};
use units::{CoreId, Id, Picos, RootPortId, SocketId};

/// A group of lanes, in the order in which they are shown: that of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LaneGroup {
    Descriptor,
    Packets(RootPortId),
    Device(RootPortId),
    TowardsMemory(RootPortId),
    TowardsDevice(RootPortId),
    Writes(RootPortId),
    Reads(RootPortId),
    Slice(SocketId, u32),
    Core(CoreId),
    MemoryReads(usize),
    MemoryWrites(usize),
}

/// The thing that a mark shows, by its index in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkSubject {
    /// A phase of the descriptor.
    Phase(usize),
    /// The reception of a packet.
    Reception(usize),
    /// The transmission of a packet.
    Transmission(usize),
    /// The use of a link, IIO entries or memory.
    Span(usize),
    /// An operation, at its agent.
    Operation(usize),
    /// The same operation, at the slice of the LLC that looked its line up.
    Lookup(usize),
}

/// A stretch of a lane, or an instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub group: LaneGroup,
    pub start: Picos,
    pub end: Picos,
    pub subject: MarkSubject,
    /// Numbers of the flows of its line and of its packet that pass here, and whether they end here.
    pub line_flow: Option<(u64, bool)>,
    pub packet_flow: Option<(u64, bool)>,
}

impl Mark {
    fn new(group: LaneGroup, (start, end): (Picos, Picos), subject: MarkSubject) -> Self {
        let end = end.max(start);
        Self { group, start, end, subject, line_flow: None, packet_flow: None }
    }

    /// Whether it takes no time.
    pub(super) fn is_instant(&self) -> bool {
        self.start == self.end
    }
}

/// All marks of a window in the order of their starts.
pub(super) fn marks<T: Tracer>(
    window: &WatchWindow,
    descriptor: Option<&WatchDescriptor>,
    fabric: &Fabric<T>,
    cores: usize,
) -> Vec<Mark> {
    let mut marks = Vec::with_capacity(2 * window.events.len() + window.spans.len());
    marks.extend(descriptor.into_iter().flat_map(phases));
    for (number, packet) in window.packets.iter().enumerate() {
        let received = packet.received.map(|(port, from, until)| {
            Mark::new(LaneGroup::Packets(port), (from, until), MarkSubject::Reception(number))
        });
        let sent = packet.sent.map(|(port, from, until)| {
            Mark::new(LaneGroup::Packets(port), (from, until), MarkSubject::Transmission(number))
        });
        marks.extend(received.into_iter().chain(sent));
    }
    for (number, timed) in window.spans.iter().enumerate() {
        let times = (timed.span.start, timed.span.end);
        marks.push(Mark::new(group_of_span(timed.span.place), times, MarkSubject::Span(number)));
    }
    for (number, timed) in window.events.iter().enumerate() {
        let times = (timed.event.time, timed.done);
        let group = group_of_agent(timed.event.agent, cores);
        marks.push(Mark::new(group, times, MarkSubject::Operation(number)));
        if reaches_llc(timed.event.found) {
            let slice = slice_of(fabric, timed, cores);
            marks.push(Mark::new(slice, times, MarkSubject::Lookup(number)));
        }
    }
    // Stable: an operation comes before its look-up, a request before what it causes.
    marks.sort_by_key(|mark| mark.start);
    marks
}

/// Phases of a descriptor, from the end of the one before to their own.
fn phases(descriptor: &WatchDescriptor) -> impl Iterator<Item = Mark> + '_ {
    let begun = descriptor.phases.values().next().copied().unwrap_or_default();
    let mut before = begun;
    descriptor.phases.values().enumerate().skip(1).map(move |(number, &until)| {
        let times = (before, until);
        before = before.max(until);
        Mark::new(LaneGroup::Descriptor, times, MarkSubject::Phase(number))
    })
}

fn group_of_span(place: SpanPlace) -> LaneGroup {
    match place {
        SpanPlace::TowardsMemory(port) | SpanPlace::ReadRequests(port) => {
            LaneGroup::TowardsMemory(port)
        }
        SpanPlace::TowardsDevice(port) => LaneGroup::TowardsDevice(port),
        SpanPlace::WriteEntries(port) => LaneGroup::Writes(port),
        SpanPlace::ReadEntries(port) => LaneGroup::Reads(port),
        SpanPlace::MemoryRead(node) => LaneGroup::MemoryReads(node),
        SpanPlace::MemoryWrite(node) => LaneGroup::MemoryWrites(node),
    }
}

fn group_of_agent(agent: AgentId, cores: usize) -> LaneGroup {
    match usize::from(agent.0).checked_sub(cores) {
        Some(port) => LaneGroup::Device(RootPortId::at(port)),
        None => LaneGroup::Core(CoreId(agent.0)),
    }
}

/// Whether an operation that found its line there has asked the LLC.
pub(super) fn reaches_llc(found: Found) -> bool {
    !matches!(found, Found::L1 | Found::L2 | Found::RootComplexBuffer)
}

/// The slice of the agent's socket that a line belongs to.
fn slice_of<T: Tracer>(fabric: &Fabric<T>, timed: &TimedEvent, cores: usize) -> LaneGroup {
    let socket = match group_of_agent(timed.event.agent, cores) {
        LaneGroup::Device(port) => fabric.root_port(port).socket(),
        _ => fabric.socket_of_core(CoreId(timed.event.agent.0)),
    };
    let llc = fabric.llc(socket);
    LaneGroup::Slice(socket, llc.slice_of_set(llc.set_of(timed.event.line)).0.into())
}
