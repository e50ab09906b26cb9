//! Device requests through a root-complex buffer, and the bus actions that the buffer requests.
//!
//! Models: the gem5 DDIO model's path: acquisitions in the caches, write-backs into the LLC that
//! update, refill a block freed by I/O, or allocate in the DDIO ways; cores' requests snoop buffers.
//! Source: "Data Direct I/O characterization for future I/O system exploration" (ISPASS'20).
//! Simplifies: buffers belong to the root complex of their own socket; lines of other sockets pass
//! through them like local ones.

use super::Fabric;
use super::home::first_of;
use super::io_path::{Burst, BurstSpans, DmaRequest, LineSpans};
use super::io_write::write_operation;
use crate::attribution::{AgentId, Owner};
use crate::llc::LineInfo;
use crate::root_complex::buffer::{self, Acquire, BufferAction, WriteBack};
use crate::root_complex::ddio::Ddio;
use crate::tracer::{Found, LineOperation, Tracer};
use units::{Id, LineAddr, Picos, RootPortId, SetIndex, SocketId, WayMask};

impl<T: Tracer> Fabric<T> {
    /// Writes the lines of a burst; those numbered below `full_lines` in their request are full.
    pub(super) fn write_burst_through_buffer(
        &mut self,
        request: DmaRequest,
        burst: Burst<'_>,
        full_lines: u64,
    ) -> BurstSpans {
        let mut held = BurstSpans::default();
        for ((line, _), number) in burst.lines().zip(burst.number..) {
            let span = self.write_through_buffer(request, line, number < full_lines);
            held.add(1, LineSpans::both(span));
        }
        held
    }

    /// Reads the lines of a burst.
    pub(super) fn read_burst_through_buffer(
        &mut self,
        request: DmaRequest,
        burst: Burst<'_>,
    ) -> BurstSpans {
        let mut held = BurstSpans::default();
        for (line, _) in burst.lines() {
            held.add(1, LineSpans::both(self.read_through_buffer(request, line)));
        }
        held
    }

    /// A device writes a line; returns how long it holds its IIO entry.
    fn write_through_buffer(&mut self, request: DmaRequest, line: LineAddr, full: bool) -> Picos {
        let DmaRequest { port, agent, now, .. } = request;
        let Some(buffer) = &mut self.ports[port].buffer else { return Picos::ZERO };
        let action = buffer.write(line, agent, full, now);
        let (found, done) = self.perform(request, line, action);
        self.counters.count_write(full, !found.is_memory());
        self.trace(now, agent, write_operation(full), line, found, None);
        self.tracer.operation_ends(agent, line, done);
        done - request.arrived
    }

    /// A device reads a line; returns how long it holds its IIO entry.
    fn read_through_buffer(&mut self, request: DmaRequest, line: LineAddr) -> Picos {
        let DmaRequest { port, agent, now, .. } = request;
        let Some(buffer) = &mut self.ports[port].buffer else { return Picos::ZERO };
        let action = buffer.read(line, agent, now);
        let (found, done) = self.perform(request, line, action);
        self.counters.count_read(!found.is_memory());
        self.trace(now, agent, LineOperation::DmaRead, line, found, None);
        self.tracer.operation_ends(agent, line, done);
        done - request.arrived
    }

    /// Evicts a victim and acquires what an access needs; returns the source and the completion time.
    fn perform(
        &mut self,
        request: DmaRequest,
        line: LineAddr,
        action: BufferAction,
    ) -> (Found, Picos) {
        let BufferAction { acquire, victim, ready } = action;
        if acquire == Acquire::None {
            return (Found::RootComplexBuffer, ready);
        }
        let (found, answered, modified) = match acquire {
            Acquire::Exclusive { with_data } => {
                self.take_for_buffer(request, line, with_data, ready)
            }
            Acquire::Shared | Acquire::None => self.share_with_buffer(request, line, ready),
        };
        let done = match &mut self.ports[request.port].buffer {
            Some(buffer) => buffer.fill(line, ready, answered, modified),
            None => answered,
        };
        // The acquisition may have freed the block that the write-back refills.
        if let Some(victim) = victim {
            self.write_back_from_buffer(request.port, victim, ready);
        }
        (found, done)
    }

    /// The buffer gets a shared copy. Every core that holds the line Modified or Exclusive is
    /// downgraded.
    fn share_with_buffer(
        &mut self,
        request: DmaRequest,
        line: LineAddr,
        now: Picos,
    ) -> (Found, Picos, bool) {
        let socket = request.socket;
        self.snoop_buffers(line, Some(request.port), now);
        let set = self.sockets[socket].llc.set_of(line);
        let (found, done) = self.find_for_device(request, line, set, now);
        for socket in self.sockets.ids() {
            let part = &mut self.sockets[socket];
            let holders = part.holders(set, line);
            if !part.downgrade_cores(line, holders) {
                continue;
            }
            match part.llc.find(set, line) {
                Some(way) => part.llc.mark_dirty(set, way),
                None => drop(self.write_memory(socket, line, now)),
            }
        }
        (found, done, false)
    }

    /// The buffer gets the only copy; the LLC way that loses it is marked as freed by I/O.
    fn take_for_buffer(
        &mut self,
        request: DmaRequest,
        line: LineAddr,
        with_data: bool,
        now: Picos,
    ) -> (Found, Picos, bool) {
        let DmaRequest { port, socket, .. } = request;
        let acquire = Acquire::Exclusive { with_data };
        let held = self.take_from_buffers(line, Some(port));
        let set = self.sockets[socket].llc.set_of(line);
        let from_llc = now + self.ports[port].times.llc_read;
        let (found, done) = if held {
            (Found::RootComplexBuffer, from_llc + self.core_path.snoop_extra())
        } else if with_data {
            self.find_for_device(request, line, set, now)
        } else {
            (self.where_it_is(socket, set, line), from_llc)
        };
        let way = self.sockets[socket].llc.find(set, line);
        let dirty = self.sockets[socket].drop_line(line) | self.drop_elsewhere(socket, line) | held;
        self.elsewhere.forget(line);
        if let (Some(way), Some(buffer)) = (way, &self.ports[port].buffer)
            && buffer.config().marks_freed(acquire)
        {
            let stays = !buffer.config().refill_clears_mark();
            self.sockets[socket].llc.mark_freed(set, way, stays);
        }
        (found, done, dirty && with_data)
    }

    fn where_it_is(&self, socket: SocketId, set: SetIndex, line: LineAddr) -> Found {
        let part = &self.sockets[socket];
        if let Some(way) = part.llc.find(set, line) {
            return Found::LlcHit(way);
        }
        part.found_in_core(set, line).unwrap_or_else(|| match self.others_with(socket, line) {
            0 => self.memory.found(socket, line),
            others => Found::OtherSocket(first_of(others)),
        })
    }

    /// A buffer evicts a line, into the LLC or to memory, if it is newer than its copy there.
    fn write_back_from_buffer(&mut self, port: RootPortId, held: buffer::BufferedLine, now: Picos) {
        let buffer::BufferedLine { line, device, modified } = held;
        let Some(buffer) = self.ports[port].buffer.as_ref().filter(|_| modified) else { return };
        let config = *buffer.config();
        let socket = self.ports[port].socket;
        if let WriteBack::Llc { ways_of } = config.write_back(device) {
            // Without device identifiers the LLC uses the first port's ways for all devices.
            let ways_port = ways_of.map_or(RootPortId(0), |agent| self.port_of(agent));
            if let Ddio::Ways(mask) = self.ports[ways_port].policy().payload {
                return self.write_back_into_llc(port, held, mask, now);
            }
        }
        self.write_memory(socket, line, now);
        let found = self.memory.found(socket, line);
        self.trace(now, device, LineOperation::IoWriteBack, line, found, None);
    }

    /// An I/O write-back: updates the line, else refills a block freed by I/O, else allocates in the
    /// DDIO ways.
    fn write_back_into_llc(
        &mut self,
        port: RootPortId,
        held: buffer::BufferedLine,
        mask: WayMask,
        now: Picos,
    ) {
        let buffer::BufferedLine { line, device, .. } = held;
        let socket = self.ports[port].socket;
        let owner: Owner = self.sockets[socket].device(self.port_of(device));
        let info = LineInfo { owner, dirty: true, consumed: false };
        let llc = &mut self.sockets[socket].llc;
        let set = llc.set_of(line);
        if let Some(way) = llc.find(set, line) {
            llc.update(set, way, info);
            self.trace(now, device, LineOperation::IoWriteBack, line, Found::LlcHit(way), None);
            return;
        }
        let freed = llc.freed_ways(set);
        let within = if freed.0 == 0 { mask } else { WayMask(1 << freed.0.trailing_zeros()) };
        let (way, evicted) = llc.allocate(set, line, info, within);
        self.counters.llc_io_allocations += 1;
        self.note_copy(socket, line);
        let pushed_out = evicted.as_ref().map(|evicted| (socket, evicted));
        let found = Found::LlcAllocated(way);
        self.trace(now, device, LineOperation::IoWriteBack, line, found, pushed_out);
        if let Some(evicted) = evicted {
            self.evict(socket, device, set, evicted, now);
        }
    }

    fn port_of(&self, device: AgentId) -> RootPortId {
        RootPortId::at(usize::from(device.0) - self.locations.len())
    }

    /// A core or a device reads a line: all buffers except that of `except` write it back if modified.
    /// Returns whether a buffer has it.
    pub(super) fn snoop_buffers(
        &mut self,
        line: LineAddr,
        except: Option<RootPortId>,
        now: Picos,
    ) -> bool {
        let mut shared = false;
        for port in self.ports.ids().filter(|&port| Some(port) != except) {
            let Some(buffer) = &mut self.ports[port].buffer else { continue };
            if let Some(held) = buffer.snoop_read(line) {
                shared = true;
                self.write_back_from_buffer(port, held, now);
            }
        }
        shared
    }

    /// A line is about to be written or flushed: all buffers except that of `except` invalidate it.
    /// Returns whether one had it modified.
    pub(super) fn take_from_buffers(&mut self, line: LineAddr, except: Option<RootPortId>) -> bool {
        let mut modified = false;
        for (id, port) in self.ports.ids().zip(self.ports.iter_mut()) {
            if Some(id) != except
                && let Some(held) = port.buffer.as_mut().and_then(|b| b.snoop_invalidate(line))
            {
                modified |= held.modified;
            }
        }
        modified
    }

    /// A device behind a plain root port writes a line: all buffers invalidate it. A modified copy is
    /// written back first if the write is partial.
    pub(super) fn snoop_buffers_for_write(
        &mut self,
        request: DmaRequest,
        line: LineAddr,
        full: bool,
    ) {
        let modified = self.take_from_buffers(line, Some(request.port));
        if modified && !full {
            self.write_memory(request.socket, line, request.now);
        }
    }
}
