//! Flows: arrows from mark to mark that follow a line, and a packet.
//!
//! The flow of a line passes its operations, look-ups and memory accesses while it belongs to one packet,
//! or to none. The flow of a packet passes its card, the link, the IIO entries and each agent that takes
//! the packet over. A flow has at least two marks, and ends at its last.

use super::marks::{Mark, MarkSubject};
use model::attribution::AgentId;
use model::tracer::{SpanPlace, WatchWindow};
use std::collections::HashMap;
use units::LineAddr;

/// The subject of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Followed {
    Line(LineAddr, Option<u32>),
    Packet(u32),
}

/// A flow: its number, and the marks that it has yet to pass.
struct Flow {
    number: u64,
    marks: u64,
    ahead: u64,
}

/// Gives each mark, in time order, the flows that pass it.
pub(super) fn follow(marks: &mut [Mark], window: &WatchWindow) {
    let mut flows: HashMap<Followed, Flow> = HashMap::new();
    let mut holders = HashMap::new();
    let followed: Vec<_> =
        marks.iter().map(|mark| subjects(mark.subject, window, &mut holders)).collect();
    for of in followed.iter().flatten().copied().flatten() {
        let number = flows.len() as u64 + 1;
        let flow = flows.entry(of).or_insert(Flow { number, marks: 0, ahead: 0 });
        (flow.marks, flow.ahead) = (flow.marks + 1, flow.ahead + 1);
    }
    for (mark, [line, packet]) in marks.iter_mut().zip(followed) {
        mark.line_flow = line.and_then(|line| pass(&mut flows, line));
        mark.packet_flow = packet.and_then(|packet| pass(&mut flows, packet));
    }
}

/// A flow passes a mark: its number and whether it ends there; `None` if it has no other mark.
fn pass(flows: &mut HashMap<Followed, Flow>, followed: Followed) -> Option<(u64, bool)> {
    let flow = flows.get_mut(&followed)?;
    flow.ahead -= 1;
    (flow.marks > 1).then_some((flow.number, flow.ahead == 0))
}

/// The line and the packet whose flows pass a mark. `holders` has the agent that last operated on each
/// packet.
fn subjects(
    subject: MarkSubject,
    window: &WatchWindow,
    holders: &mut HashMap<u32, AgentId>,
) -> [Option<Followed>; 2] {
    match subject {
        MarkSubject::Phase(_) => [None, None],
        MarkSubject::Reception(packet) | MarkSubject::Transmission(packet) => {
            [None, u32::try_from(packet).ok().map(Followed::Packet)]
        }
        MarkSubject::Span(number) => {
            let timed = &window.spans[number];
            match timed.span.place {
                SpanPlace::MemoryRead(_) | SpanPlace::MemoryWrite(_) => {
                    [Some(Followed::Line(timed.span.first, timed.packet)), None]
                }
                _ => [None, timed.packet.map(Followed::Packet)],
            }
        }
        MarkSubject::Lookup(number) => {
            let timed = &window.events[number];
            [Some(Followed::Line(timed.event.line, timed.packet)), None]
        }
        MarkSubject::Operation(number) => {
            let timed = &window.events[number];
            let is_taken_over = |&packet: &u32| {
                holders.insert(packet, timed.event.agent) != Some(timed.event.agent)
            };
            let packet = timed.packet.filter(is_taken_over).map(Followed::Packet);
            [Some(Followed::Line(timed.event.line, timed.packet)), packet]
        }
    }
}
