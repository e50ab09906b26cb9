//! Device writes under a placement policy: the lines of a packet go to different levels.
//!
//! Models: the policies of [`crate::root_complex::line_placement`] line by line; L2 victims of pushed
//! lines are evicted like any other victim of L2.
//! Source: ATC'20, "future directions"; IDIO (MICRO'22); Huggahalli et al. (ISCA'05).
//! Simplifies: only lines of this socket's memory are pushed or hinted, and only into its cores; a push
//! takes as long as a write into the LLC.

use super::Fabric;
use super::core_path::AccessKind;
use super::io_path::{Burst, BurstSpans, DmaRequest, LineSpans};
use super::io_write::{WriteOutcome, write_operation};
use crate::private_caches::MesiState;
use crate::root_complex::ddio::Ddio;
use crate::root_complex::line_placement::{LinePlacement, OnUnread};
use crate::tracer::{Found, Tracer};
use units::{CoreId, LineAddr, Picos, SetIndex, WayMask};

/// A packet whose lines are placed one by one.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedPacket {
    /// The level of each of its lines.
    pub placement: LinePlacement,
    /// The DDIO policy of lines that are written into the LLC.
    pub ddio: Ddio,
    /// Number of lines at its head that are written as full lines.
    pub full_lines: u64,
    /// The core of its steering tag.
    pub reader: Option<CoreId>,
}

impl<T: Tracer> Fabric<T> {
    /// Writes the lines of a burst.
    pub(super) fn write_placed_burst(
        &mut self,
        request: DmaRequest,
        packet: PlacedPacket,
        burst: Burst<'_>,
    ) -> BurstSpans {
        let mut held = BurstSpans::default();
        for ((line, set), number) in burst.lines().zip(burst.number..) {
            held.add(1, self.write_placed_line(request, packet, number, line, set));
        }
        held
    }

    /// Writes line `number` of a packet or block; returns how long it takes.
    fn write_placed_line(
        &mut self,
        request: DmaRequest,
        packet: PlacedPacket,
        number: u64,
        line: LineAddr,
        set: SetIndex,
    ) -> LineSpans {
        let placement = packet.placement;
        let full = number < packet.full_lines;
        if request.snoops_buffers {
            self.snoop_buffers_for_write(request, line, full);
        }
        let ddio = if placement.injects(number) { packet.ddio } else { Ddio::Off };
        let at_home = self.memory.socket_of(line) == request.socket;
        let is_near = |core: CoreId| at_home && self.location(core).socket == request.socket;
        let reader = packet.reader.filter(|&core| is_near(core));
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

    /// As DDIO, but the victim choice considers whether a line was read.
    fn write_into_llc_sparing(
        &mut self,
        request: DmaRequest,
        placement: LinePlacement,
        (set, mask): (SetIndex, WayMask),
        line: LineAddr,
        full: bool,
    ) -> WriteOutcome {
        let socket = &mut self.sockets[request.socket];
        if socket.llc.find(set, line).is_some() || socket.is_moved_by_write(set, line) {
            return self.write_into_llc(request, set, line, full, mask);
        }
        let devices = socket.devices();
        let within = if placement.replaces_read_first {
            socket.all_but_unread(set, mask, devices)
        } else {
            mask
        };
        let way = socket.llc.choose(set, within);
        let pushes_out_unread = socket.llc.unread_ways(set, WayMask(1 << way), devices).0 != 0;
        if pushes_out_unread && placement.on_unread == OnUnread::Bypass {
            return self.write_to_memory(request, set, line, full);
        }
        self.allocate_for_device(request, set, line, full, Found::LlcAllocated(way), way)
    }

    /// Invalidates every other copy; the core's L2 then has the line modified, as if the core had
    /// written it.
    fn push_into_l2(
        &mut self,
        request: DmaRequest,
        core: CoreId,
        set: SetIndex,
        line: LineAddr,
        full: bool,
    ) -> WriteOutcome {
        let DmaRequest { agent, socket, now, .. } = request;
        let was_in_llc = self.sockets[socket].llc.find(set, line).is_some();
        let rest_from_core =
            self.sockets[socket].drop_line(line) | self.drop_elsewhere(socket, line);
        self.trace(now, agent, write_operation(full), line, Found::L2, None);
        self.settle(core, set, line, false, now);
        self.fill_l2(core, line, MesiState::Modified, true, now);
        if was_in_llc {
            WriteOutcome::Hit
        } else {
            WriteOutcome::Allocated { rest_from_core, room: now }
        }
    }

    /// A core's L2 fetches a line on a device's hint: this is not a miss of the core.
    fn follow_hint(&mut self, core: CoreId, line: LineAddr, now: Picos) {
        if self.private(core).state(line).is_none() {
            let (state, _) = self.fetch(core, line, AccessKind::Prefetch, now);
            self.fill_l2(core, line, state, false, now);
        }
    }
}
