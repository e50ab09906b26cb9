//! One line that a device reads: from the LLC, a core, another socket or memory.
//!
//! Models: reads that allocate nothing, and processors on which they evict the line.
//! Source: ATC'20 (reads without allocation); ISPASS'20 (cache state after a DMA read).
//! Simplifies: a line that a core has modified takes the same extra time from every core.

use super::Fabric;
use super::home::first_of;
use super::io_path::{Burst, BurstSpans, DmaRequest, LineSpans};
use crate::tracer::{Found, LineOperation, Tracer};
use units::{LineAddr, Picos, SetIndex, SocketId};

impl<T: Tracer> Fabric<T> {
    /// Reads the lines of a burst; returns for how long they hold their IIO entries.
    pub(super) fn read_burst(&mut self, request: DmaRequest, burst: Burst<'_>) -> BurstSpans {
        let mut held = BurstSpans::default();
        for (line, set) in burst.lines() {
            held.add(1, LineSpans::both(self.read_line(request, line, set)));
        }
        held
    }

    /// As [`Self::read_burst`] on processors before Ivy Bridge: a line that a device has read is
    /// evicted.
    pub(super) fn read_and_evict_burst(
        &mut self,
        request: DmaRequest,
        burst: Burst<'_>,
    ) -> BurstSpans {
        let mut held = BurstSpans::default();
        for (line, set) in burst.lines() {
            held.add(1, LineSpans::both(self.read_line(request, line, set)));
            self.leave_after_read(request.socket, line, request.now);
        }
        held
    }

    /// Reads a line; returns how long it holds its IIO entry.
    #[inline(never)]
    pub(super) fn read_line(
        &mut self,
        request: DmaRequest,
        line: LineAddr,
        set: SetIndex,
    ) -> Picos {
        if request.snoops_buffers {
            self.snoop_buffers(line, None, request.now);
        }
        let (found, done) = self.find_for_device(request, line, set, request.now);
        self.end_read(request, line, found, done)
    }

    /// Counts a read whose data was `found` and arrives at `done`; returns how long it holds its IIO
    /// entry.
    #[inline(always)]
    pub(super) fn end_read(
        &mut self,
        request: DmaRequest,
        line: LineAddr,
        found: Found,
        done: Picos,
    ) -> Picos {
        let DmaRequest { agent, socket, now, arrived, .. } = request;
        self.count_remote(socket, line);
        self.counters.count_read(!found.is_memory());
        self.trace(now, agent, LineOperation::DmaRead, line, found, None);
        self.tracer.operation_ends(agent, line, done);
        done - arrived
    }

    /// The source of a DMA read's data, and when it arrives; no copy changes its state.
    pub(super) fn find_for_device(
        &mut self,
        request: DmaRequest,
        line: LineAddr,
        set: SetIndex,
        now: Picos,
    ) -> (Found, Picos) {
        let part = &mut self.sockets[request.socket];
        let Some(way) = part.llc.find(set, line) else {
            return self.find_beyond_llc(request, line, set, now);
        };
        part.llc.note_device_read(set, way);
        let from_llc = now + self.ports[request.port].times.llc_read;
        match part.newest_of_hit(set, way, line) {
            found @ Found::OtherCore(_) => (found, from_llc + self.core_path.snoop_extra()),
            found => (found, from_llc),
        }
    }

    /// As [`Self::find_for_device`], for a line that misses the LLC.
    #[inline(never)]
    pub(super) fn find_beyond_llc(
        &mut self,
        request: DmaRequest,
        line: LineAddr,
        set: SetIndex,
        now: Picos,
    ) -> (Found, Picos) {
        let DmaRequest { port, socket, .. } = request;
        let part = &self.sockets[socket];
        let times = &self.ports[port].times;
        let (from_llc, extra) = (now + times.llc_read, times.dram_read_extra);
        if let Some(found) = part.found_in_core(set, line) {
            return (found, from_llc + self.core_path.snoop_extra());
        }
        let others = self.others_with(socket, line);
        if others != 0 {
            self.note_use(others, line);
            let answer = self.memory.snoop(socket, others, now) + self.core_path.snoop_extra();
            return (Found::OtherSocket(first_of(others)), answer.max(from_llc));
        }
        (self.memory.found(socket, line), self.read_memory(socket, line, now) + extra)
    }

    /// Evicts a line that a device has read from the caches.
    fn leave_after_read(&mut self, socket: SocketId, line: LineAddr, now: Picos) {
        let dirty = self.sockets[socket].drop_line(line) | self.drop_elsewhere(socket, line);
        self.elsewhere.forget(line);
        if dirty {
            self.write_memory(socket, line, now);
        }
    }
}
