//! Device writes under a placement policy: lines of a packet that do not all go the same way.
//!
//! Models: the policies of [`crate::root_complex::line_placement`] line by line; what a core's L2 gives
//! up for a pushed line moves down as any other victim of it.
//! Source: ATC'20, "future directions"; IDIO (MICRO'22); Huggahalli et al. (ISCA'05).
//! Simplifies: only lines of this socket's memory are pushed or hinted, and only into its cores; a push
//! takes as long as a write into the LLC.

use super::Fabric;
use super::core_path::Want;
use super::io_path::{Burst, Held, LineSpans, Request};
use super::io_write::{WriteOutcome, write_operation};
use crate::private_caches::State;
use crate::root_complex::ddio::{Ddio, DmaKind};
use crate::root_complex::line_placement::{LinePlacement, OnUnread};
use crate::tracer::{Found, Tracer};
use units::{LineAddr, Picos, SetIndex, WayMask};

/// A line as a part of the packet that it belongs to.
#[derive(Clone, Copy, Debug)]
struct InPacket {
    /// Its number, from 0.
    pub number: u64,
    /// Every byte of it is written.
    pub full: bool,
    /// The core that the packet is tagged with.
    pub reader: Option<u8>,
}

impl<T: Tracer> Fabric<T> {
    /// Writes the lines of a burst; those numbered below `full_lines` in their request are full.
    pub(super) fn write_placed_burst(
        &mut self,
        request: Request,
        placement: LinePlacement,
        burst: Burst<'_>,
        full_lines: u64,
        reader: Option<u8>,
    ) -> Held {
        let mut held = Held::default();
        for ((line, set), number) in burst.lines().zip(burst.number..) {
            let place = InPacket { number, full: number < full_lines, reader };
            held.add(1, self.write_placed_line(request, placement, place, line, set));
        }
        held
    }

    /// Writes a line of packet or block data; returns how long it takes.
    ///
    /// # Panics
    /// If the port has a root-complex buffer: the scenario is checked before it comes here.
    fn write_placed_line(
        &mut self,
        request: Request,
        placement: LinePlacement,
        place: InPacket,
        line: LineAddr,
        set: SetIndex,
    ) -> LineSpans {
        let InPacket { number, full, reader } = place;
        self.counters.line_ops += 1;
        if self.buffered {
            assert!(self.ports[request.port].buffer.is_none());
            self.snoop_buffers_for_write(request, line, full);
        }
        let ddio = if placement.injects(number) {
            self.ports[request.port].policy.writes(DmaKind::Payload)
        } else {
            Ddio::Off
        };
        let at_home = self.memory.socket_of(line) == request.socket;
        let reader = reader.filter(|&core| at_home && self.place(core).socket == request.socket);
        let outcome = match (reader, ddio) {
            (Some(core), _) if placement.pushes(number) => {
                self.push_into_l2(request, core, set, line, full)
            }
            _ if !at_home => self.write_to_other_socket(request, set, line, full, ddio),
            (_, Ddio::Off) => self.write_to_memory(request, set, line, full),
            (_, Ddio::Ways(mask)) => {
                self.write_into_llc_sparing(request, placement, (set, mask), line, full)
            }
        };
        let in_memory = matches!(outcome, WriteOutcome::ToMemory { .. });
        let held = self.finish_write(request, line, full, outcome);
        if let Some(core) = reader.filter(|_| in_memory && placement.hints(number)) {
            self.follow_hint(core, line, request.arrived + held.seen);
        }
        held
    }

    /// As DDIO does, but victims are chosen by whether somebody has read them.
    fn write_into_llc_sparing(
        &mut self,
        request: Request,
        placement: LinePlacement,
        (set, mask): (SetIndex, WayMask),
        line: LineAddr,
        full: bool,
    ) -> WriteOutcome {
        let part = &mut self.sockets[request.socket];
        if part.llc.find(set, line).is_some() {
            return self.write_into_llc(request, set, line, full, mask);
        }
        let devices = part.devices();
        let within = if placement.replaces_read_first {
            part.all_but_unread(set, mask, devices)
        } else {
            mask
        };
        let way = part.llc.choose(set, within);
        let pushes_out_unread = part.llc.unread_ways(set, WayMask(1 << way), devices).0 != 0;
        if pushes_out_unread && placement.on_unread == OnUnread::Bypass {
            return self.write_to_memory(request, set, line, full);
        }
        self.allocate_for_device(request, set, line, full, way)
    }

    /// Every other copy goes, and the core's L2 has the line modified, as if the core had written it.
    fn push_into_l2(
        &mut self,
        request: Request,
        core: u8,
        set: SetIndex,
        line: LineAddr,
        full: bool,
    ) -> WriteOutcome {
        let Request { agent, socket, now, .. } = request;
        let was_in_llc = self.sockets[socket].llc.find(set, line).is_some();
        let rest_from_core =
            self.drop_from_socket(socket, line) | self.drop_elsewhere(socket, line);
        self.trace(now, agent, write_operation(full), line, Found::L2, None);
        self.settle(core, set, line, false, now);
        self.fill_l2(core, line, State::Modified, true, now);
        if was_in_llc { WriteOutcome::Hit } else { WriteOutcome::Allocated { rest_from_core } }
    }

    /// A core's L2 fetches a line because a device said so: the core has not missed.
    fn follow_hint(&mut self, core: u8, line: LineAddr, now: Picos) {
        if self.private(core).state(line).is_none() {
            let (state, _) = self.fetch(core, line, Want::Prefetch, now);
            self.fill_l2(core, line, state, false, now);
        }
    }
}
