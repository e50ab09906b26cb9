//! The trace of a packet, a line or a descriptor, with names in place of numbers.

use crate::plan::layout::Layout;
use crate::run::result::{DescriptorTrace, TraceEvent, TraceEviction, TracePhase};
use model::attribution::AgentId;
use model::tracer::{
    DescriptorPhase, Event, Found, LineOperation, LineRole, WatchDescriptor, WatchLine, WatchPacket,
};
use units::LineAddr;

/// Events of the watched packet's lines, in time order. Lines count from the packet's first.
#[must_use]
pub fn packet_trace(tracer: &WatchPacket, layout: &Layout) -> Vec<TraceEvent> {
    let Some(first) = tracer.first_line() else { return Vec::new() };
    trace_events(&tracer.events, layout, first.0)
}

/// Events of the watched line, in time order; lines are line addresses.
#[must_use]
pub(crate) fn line_trace(tracer: &WatchLine, layout: &Layout) -> Vec<TraceEvent> {
    trace_events(&tracer.events, layout, 0)
}

/// The phases and events of the watched descriptor, which has the number `number`; `None` if software has not
/// begun it.
#[must_use]
pub(crate) fn descriptor_trace(
    tracer: &WatchDescriptor,
    number: u64,
    layout: &Layout,
) -> Option<DescriptorTrace> {
    let begun = *tracer.phases.get(&DescriptorPhase::Begun)?;
    let mut before = begun;
    let passed = tracer.phases.iter().filter(|&(&phase, _)| phase != DescriptorPhase::Begun);
    let phases = passed.map(|(&phase, &until)| {
        let took = until.saturating_sub(before);
        before = before.max(until);
        TracePhase {
            phase: phase_name(phase).into(),
            until_ns: until.as_ns(),
            took_ns: took.as_ns(),
        }
    });
    let phases = phases.collect();
    let mut events = trace_events(&tracer.events, layout, 0);
    for event in &mut events {
        if let Some((role, line)) = tracer.role_of(LineAddr(event.line)) {
            (event.part, event.line) = (Some(role_name(role).into()), line);
        }
    }
    let left_out = tracer.left_out;
    Some(DescriptorTrace { descriptor: number, begun_ns: begun.as_ns(), phases, events, left_out })
}

pub(super) fn phase_name(phase: DescriptorPhase) -> &'static str {
    match phase {
        DescriptorPhase::Begun => "begun",
        DescriptorPhase::Prepared => "prepared",
        DescriptorPhase::Submitted => "submitted",
        DescriptorPhase::Seen => "seen",
        DescriptorPhase::Dispatched => "dispatched",
        DescriptorPhase::Translated => "translated",
        DescriptorPhase::Started => "started",
        DescriptorPhase::Read => "read",
        DescriptorPhase::Written => "written",
        DescriptorPhase::Recorded => "recorded",
        DescriptorPhase::Reaped => "reaped",
    }
}

pub(super) fn role_name(role: LineRole) -> &'static str {
    match role {
        LineRole::Descriptor => "descriptor",
        LineRole::List => "list",
        LineRole::Source => "source",
        LineRole::Destination => "destination",
        LineRole::Record => "record",
    }
}

fn trace_events(events: &[Event], layout: &Layout, first_line: u64) -> Vec<TraceEvent> {
    let names = layout.agent_names();
    let name = |agent: AgentId| names[usize::from(agent.0)].clone();
    let mut events: Vec<&Event> = events.iter().collect();
    events.sort_by_key(|event| event.time);
    events
        .into_iter()
        .map(|event| TraceEvent {
            time_ns: event.time.as_ns(),
            agent: name(event.agent),
            operation: operation_name(event.operation).into(),
            line: event.line.0.wrapping_sub(first_line),
            part: None,
            found: outcome_name(event.found),
            evicted: event.pushed_out.map(|pushed_out| TraceEviction {
                address_line: pushed_out.line.0,
                owner: name(pushed_out.owner),
                state: if pushed_out.dirty { "dirty" } else { "clean" }.into(),
                read: pushed_out.consumed,
            }),
        })
        .collect()
}

pub(super) fn operation_name(operation: LineOperation) -> &'static str {
    match operation {
        LineOperation::DmaWriteFull => "DMA write (ItoM)",
        LineOperation::DmaWritePartial => "DMA write, partial (RFO)",
        LineOperation::DmaRead => "DMA read (PCIRdCur)",
        LineOperation::Load => "load",
        LineOperation::Store => "store",
        LineOperation::Prefetch => "prefetch",
        LineOperation::Fetch => "instruction fetch",
        LineOperation::L2Victim => "L2 victim",
        LineOperation::LlcFill => "LLC fill",
        LineOperation::IoWriteBack => "I/O write-back",
        LineOperation::LlcEviction => "LLC eviction",
        LineOperation::DirectoryEviction => "snoop filter eviction",
    }
}

pub(super) fn outcome_name(found: Found) -> String {
    match found {
        Found::L1 => "L1D".into(),
        Found::L2 => "L2".into(),
        Found::LlcHit(way) => format!("LLC hit, way {way}"),
        Found::OtherCore(core) => format!("held by core{core}"),
        Found::LlcAllocated(way) => format!("LLC allocated, way {way}"),
        Found::MovedToLlc(way) => format!("moved to LLC, way {way}"),
        Found::OtherSocket(socket) => format!("held by socket{socket}"),
        Found::RootComplexBuffer => "root complex buffer".into(),
        Found::Dram => "DRAM".into(),
        Found::RemoteDram => "DRAM of another socket, over UPI".into(),
        Found::Cxl => "CXL memory".into(),
        Found::Upgraded => "own cache, upgraded".into(),
        Found::Nowhere => "dropped, clean".into(),
    }
}
