//! One line that a device writes: into the LLC, or to memory.
//!
//! Models: write update and write allocate within the DDIO ways, partial lines that are read for
//! ownership and merged, invalidation of copies in cores and other sockets.
//! Source: ATC'20 (write update and write allocate, remote sockets).
//! Simplifies: merging the rest of a partial line takes no time.

use super::Fabric;
use super::io_path::{Burst, BurstSpans, DmaRequest, LineSpans};
use crate::llc::{Evicted, LineInfo};
use crate::root_complex::ddio::Ddio;
use crate::tracer::{Found, LineOperation, Tracer};
use units::{LineAddr, Picos, SetIndex, SocketId, WayMask};

/// Where a written line was, and where it goes.
#[derive(Clone, Copy)]
pub(super) enum WriteOutcome {
    /// The write hit the LLC.
    Hit,
    /// The write missed; a core's modified copy may have had the rest of a partial line. Memory has taken
    /// the LLC victim at `room`.
    Allocated { rest_from_core: bool, room: Picos },
    /// A core held the line, which the snoop filter knows: it was allocated in an inclusive way. Memory has
    /// taken the LLC victim at `room`.
    Moved { room: Picos },
    /// The line is written to memory; a cache of the socket may have had the rest of a partial line.
    ToMemory { rest_from_cache: bool },
}

impl<T: Tracer> Fabric<T> {
    /// Writes the lines of a burst; those numbered below `full_lines` in their request are full.
    pub(super) fn write_burst(
        &mut self,
        request: DmaRequest,
        ddio: Ddio,
        burst: Burst<'_>,
        full_lines: u64,
    ) -> BurstSpans {
        let mut held = BurstSpans::default();
        for ((line, set), number) in burst.lines().zip(burst.number..) {
            held.add(1, self.write_line(request, ddio, line, set, number < full_lines));
        }
        held
    }

    /// Writes a line; returns how long it holds its IIO entry, and when it is visible.
    #[inline(never)]
    pub(super) fn write_line(
        &mut self,
        request: DmaRequest,
        ddio: Ddio,
        line: LineAddr,
        set: SetIndex,
        full: bool,
    ) -> LineSpans {
        if request.snoops_buffers {
            self.snoop_buffers_for_write(request, line, full);
        }
        let outcome = if self.memory.socket_of(line) == request.socket {
            match ddio {
                Ddio::Ways(mask) => self.write_into_llc(request, set, line, full, mask),
                Ddio::Off => self.write_to_memory(request, set, line, full),
            }
        } else {
            self.write_to_other_socket(request, set, line, full, ddio)
        };
        self.finish_write(request, line, full, outcome)
    }

    /// Counts a write and moves its data; returns its time.
    #[inline(always)]
    pub(super) fn finish_write(
        &mut self,
        request: DmaRequest,
        line: LineAddr,
        full: bool,
        outcome: WriteOutcome,
    ) -> LineSpans {
        let now = request.now;
        let hit = matches!(outcome, WriteOutcome::Hit | WriteOutcome::Moved { .. });
        self.counters.count_write(full, hit);
        // The rest of a partial line is read first if no cache had it, then merged.
        let has_rest = full
            || hit
            || matches!(
                outcome,
                WriteOutcome::Allocated { rest_from_core: true, .. }
                    | WriteOutcome::ToMemory { rest_from_cache: true }
            );
        let merged = if has_rest { now } else { self.read_memory(request.socket, line, now) };
        let times = &self.ports[request.port].times;
        let spans = match outcome {
            WriteOutcome::Hit => LineSpans::both(merged + times.llc_write - request.arrived),
            WriteOutcome::Allocated { room, .. } | WriteOutcome::Moved { room } => {
                LineSpans::both(room.max(merged + times.llc_write) - request.arrived)
            }
            WriteOutcome::ToMemory { .. } => {
                let (confirmed, seen) = (merged + times.dram_write, merged + times.dram_visible);
                let taken = self.write_memory(request.socket, line, merged);
                LineSpans {
                    entry: taken.max(confirmed) - request.arrived,
                    seen: taken.max(seen) - request.arrived,
                }
            }
        };
        self.tracer.operation_ends(request.agent, line, request.arrived + spans.seen);
        spans
    }

    #[inline(always)]
    pub(super) fn write_into_llc(
        &mut self,
        request: DmaRequest,
        set: SetIndex,
        line: LineAddr,
        full: bool,
        mask: WayMask,
    ) -> WriteOutcome {
        let DmaRequest { port, agent, socket, now, .. } = request;
        let part = &mut self.sockets[socket];
        if let Some(way) = part.llc.find(set, line) {
            part.drop_copies_of_hit(set, way, line);
            let info = LineInfo { owner: part.device(port), dirty: true, consumed: false };
            part.llc.update(set, way, info);
            self.drop_elsewhere(socket, line);
            self.trace(now, agent, write_operation(full), line, Found::LlcHit(way), None);
            return WriteOutcome::Hit;
        }
        self.allocate_within(request, set, line, full, mask)
    }

    /// Allocates a line that misses the LLC in one of the ways of `mask`, in an empty one where the
    /// processor does that, or in an inclusive one if a core holds it.
    #[inline]
    fn allocate_within(
        &mut self,
        request: DmaRequest,
        set: SetIndex,
        line: LineAddr,
        full: bool,
        mask: WayMask,
    ) -> WriteOutcome {
        let DmaRequest { port, socket, .. } = request;
        if self.sockets[socket].is_moved_by_write(set, line) {
            return self.move_to_inclusive_ways(request, set, line, full);
        }
        let llc = &mut self.sockets[socket].llc;
        let empty = if self.ports[port].policy().fills_empty_ways {
            llc.empty_ways(set)
        } else {
            WayMask(0)
        };
        let within = if empty.0 == 0 || empty.0 & mask.0 != 0 { mask } else { empty };
        let way = llc.choose(set, within);
        self.allocate_for_device(request, set, line, full, Found::LlcAllocated(way), way)
    }

    /// Allocates a line that the LLC lacks and a core holds in one of the inclusive ways.
    #[inline(never)]
    fn move_to_inclusive_ways(
        &mut self,
        request: DmaRequest,
        set: SetIndex,
        line: LineAddr,
        full: bool,
    ) -> WriteOutcome {
        let llc = &mut self.sockets[request.socket].llc;
        let way = llc.choose(set, llc.tracked_mask());
        match self.allocate_for_device(request, set, line, full, Found::MovedToLlc(way), way) {
            WriteOutcome::Allocated { room, .. } => WriteOutcome::Moved { room },
            other => other,
        }
    }

    /// Allocates a line that misses the LLC in one of its ways; a trace has it as `found`.
    #[inline]
    pub(super) fn allocate_for_device(
        &mut self,
        request: DmaRequest,
        set: SetIndex,
        line: LineAddr,
        full: bool,
        found: Found,
        way: u32,
    ) -> WriteOutcome {
        let DmaRequest { port, agent, socket, now, .. } = request;
        let rest_from_core = self.sockets[socket].drop_untracked_copies(set, line)
            | self.drop_elsewhere(socket, line);
        let part = &mut self.sockets[socket];
        let info = LineInfo { owner: part.device(port), dirty: true, consumed: false };
        let evicted = part.llc.allocate_at(set, way, line, info);
        self.counters.llc_io_allocations += 1;
        self.trace_allocation(request, write_operation(full), line, found, evicted.as_ref());
        let room = match evicted {
            Some(evicted) => self.evict(socket, agent, set, evicted, now),
            None => now,
        };
        WriteOutcome::Allocated { rest_from_core, room }
    }

    pub(super) fn write_to_memory(
        &mut self,
        request: DmaRequest,
        set: SetIndex,
        line: LineAddr,
        full: bool,
    ) -> WriteOutcome {
        let DmaRequest { agent, socket, now, .. } = request;
        let rest_from_cache = !full && self.sockets[socket].has(set, line);
        let newer_than_memory =
            self.sockets[socket].drop_line(line) | self.drop_elsewhere(socket, line);
        // A full line overwrites the old content; a partial one needs the rest of it in memory.
        if !full && newer_than_memory {
            self.write_memory(socket, line, now);
        }
        let found = self.memory.found(socket, line);
        self.trace(now, agent, write_operation(full), line, found, None);
        WriteOutcome::ToMemory { rest_from_cache }
    }

    /// Writes a line whose home is another socket: the data crosses UPI to memory, and the LLC there
    /// allocates nothing. The local LLC may keep a clean copy.
    pub(super) fn write_to_other_socket(
        &mut self,
        request: DmaRequest,
        set: SetIndex,
        line: LineAddr,
        full: bool,
        ddio: Ddio,
    ) -> WriteOutcome {
        let DmaRequest { port, agent, socket, now, .. } = request;
        let was_here = self.sockets[socket].llc.find(set, line).is_some();
        self.count_remote(socket, line);
        let outcome = self.write_to_memory(request, set, line, full);
        self.elsewhere.forget(line);
        let Ddio::Ways(mask) = ddio else { return outcome };
        if !self.ports[port].policy().remote_writes_pollute {
            return outcome;
        }
        let part = &mut self.sockets[socket];
        let info = LineInfo { owner: part.device(port), dirty: false, consumed: false };
        let (way, evicted) = part.llc.allocate(set, line, info, mask);
        self.counters.llc_io_allocations += u64::from(!was_here);
        self.note_copy(socket, line);
        let found = Found::LlcAllocated(way);
        self.trace_allocation(request, LineOperation::LlcFill, line, found, evicted.as_ref());
        if let Some(evicted) = evicted {
            self.evict(socket, agent, set, evicted, now);
        }
        outcome
    }

    pub(super) fn trace_allocation(
        &mut self,
        request: DmaRequest,
        operation: LineOperation,
        line: LineAddr,
        found: Found,
        evicted: Option<&Evicted>,
    ) {
        let pushed_out = evicted.map(|evicted| (request.socket, evicted));
        self.trace(request.now, request.agent, operation, line, found, pushed_out);
    }

    /// Invalidates copies in other sockets; returns whether one was newer than memory.
    #[inline]
    pub(super) fn drop_elsewhere(&mut self, socket: SocketId, line: LineAddr) -> bool {
        let others = self.others_with(socket, line);
        others != 0 && self.take_from(others, line)
    }
}

pub(super) fn write_operation(full: bool) -> LineOperation {
    if full { LineOperation::DmaWriteFull } else { LineOperation::DmaWritePartial }
}
