//! Device -> link -> root complex -> LLC or memory.
//!
//! Models: full-line DMA writes (ItoM), partial ones (read for ownership and merge) and DMA reads
//! (PCIRdCur), with DDIO on or off per root port, to memory of this socket or of another.
//! Source: ATC'20 (write update and write allocate, reads without allocation, remote sockets);
//! ISPASS'20 (what a DMA read leaves behind).
//! Simplifies: a burst's lines reach the LLC in address order.

use super::placed_io::InPacket;
use super::{DmaDirection, Fabric};
use crate::attribution::AgentId;
use crate::llc::{Evicted, Inclusion, LineInfo, Sharers};
use crate::root_complex::ddio::{Ddio, DmaKind};
use crate::tracer::{Found, Operation, Tracer};
use units::{LINE_BYTES, LineAddr, Picos, SetIndex, WayMask};

/// When a DMA write has got how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaDone {
    /// The last line has an IIO entry: the device may send what follows.
    pub accepted: Picos,
    /// Every line can be seen by cores.
    pub visible: Picos,
}

/// Lines of a 4 KiB page: a request crosses at most one page border (PCIe forbids more than 4 KiB).
const SMALLEST_PAGE_LINES: u64 = 64;
/// Lines of a burst that are handled together.
const BURST_LINES: usize = 64;

/// For how long the lines of a burst hold IIO entries.
#[derive(Clone, Copy, Default)]
struct Held {
    /// All lines together.
    entry_time: Picos,
    /// Until the last of them can be seen: a write by cores, a read's data by the root complex.
    seen: Picos,
}

/// Spans of one line of a burst, from its arrival at the root complex.
#[derive(Clone, Copy)]
pub(super) struct LineSpans {
    /// It holds its IIO entry.
    pub entry: Picos,
    /// It can be seen.
    pub seen: Picos,
}

impl LineSpans {
    /// A line that can be seen when its entry is free.
    pub(super) fn both(span: Picos) -> Self {
        Self { entry: span, seen: span }
    }
}

/// A device's request as its lines share it.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub port: usize,
    pub agent: AgentId,
    pub socket: usize,
    /// It has crossed the link: its lines take IIO entries.
    pub arrived: Picos,
    /// Its addresses have been translated.
    pub now: Picos,
}

/// A core or the LLC had the line, or nobody.
#[derive(Clone, Copy)]
pub(super) enum WriteOutcome {
    /// It was in the LLC.
    Hit,
    /// It was not; a core's modified copy may have had the rest of a partial line.
    Allocated { rest_from_core: bool },
    /// It goes to memory; a cache of the socket may have had the rest of a partial line.
    ToMemory { rest_from_cache: bool },
}

impl<T: Tracer> Fabric<T> {
    /// The device at `port` writes `bytes` from the start of `first` on.
    pub fn dma_write(
        &mut self,
        port: usize,
        first: LineAddr,
        bytes: u64,
        kind: DmaKind,
        now: Picos,
    ) -> DmaDone {
        self.dma_write_for(port, None, first, bytes, kind, now)
    }

    /// The same with a steering tag: `reader` is the core that will read the lines.
    pub fn dma_write_for(
        &mut self,
        port: usize,
        reader: Option<u8>,
        first: LineAddr,
        bytes: u64,
        kind: DmaKind,
        now: Picos,
    ) -> DmaDone {
        let on_link = self.ports[port].link.config().write_bytes(bytes);
        let arrival = self.ports[port].link.send_up(now, on_link);
        let request = self.request(port, first, bytes, arrival);
        let full_lines = bytes / LINE_BYTES;
        let before = (self.counters.pcie_write_hits, self.counters.pcie_write_misses);
        let placement = self.ports[port].policy.placement;
        let held = if kind != DmaKind::Payload || placement.leaves_writes_alone() {
            self.each_line(request, DmaDirection::Write, first, bytes, |fabric, i, line, set| {
                fabric.write_line(request, kind, line, set, i < full_lines)
            })
        } else {
            self.each_line(request, DmaDirection::Write, first, bytes, |fabric, i, line, set| {
                let place = InPacket { number: i, full: i < full_lines, reader };
                fabric.write_placed_line(request, placement, place, line, set)
            })
        };
        let counters = &mut self.ports[port].counters;
        counters.write_hits += self.counters.pcie_write_hits - before.0;
        counters.write_misses += self.counters.pcie_write_misses - before.1;
        let waited = self.sockets[request.socket].iio.writes.admit(arrival, held.entry_time);
        // Lines that wait for entries hold back the link, so the device waits as long.
        DmaDone { accepted: now + waited, visible: arrival + waited + held.seen }
    }

    /// The device at `port` reads `bytes` from the start of `first` on; returns when the last
    /// completion has arrived.
    pub fn dma_read(&mut self, port: usize, first: LineAddr, bytes: u64, now: Picos) -> Picos {
        let on_link = self.ports[port].link.config().read_request_bytes(bytes);
        let arrival = self.ports[port].link.request_up(now, on_link);
        let request = self.request(port, first, bytes, arrival);
        let before = (self.counters.pcie_read_hits, self.counters.pcie_read_misses);
        let held =
            self.each_line(request, DmaDirection::Read, first, bytes, |fabric, _, line, set| {
                LineSpans::both(fabric.read_line(request, line, set))
            });
        let counters = &mut self.ports[port].counters;
        counters.read_hits += self.counters.pcie_read_hits - before.0;
        counters.read_misses += self.counters.pcie_read_misses - before.1;
        let entries = &mut self.sockets[request.socket].iio.reads;
        let data = arrival + entries.admit(arrival, held.entry_time) + held.seen;
        let completions = self.ports[port].link.config().completion_bytes(bytes);
        self.ports[port].link.send_down(data, completions)
    }

    fn request(&mut self, port: usize, first: LineAddr, bytes: u64, arrived: Picos) -> Request {
        let part = &mut self.ports[port];
        let mut now = part.iommu.translate(first, arrived);
        let last = first.step(bytes.div_ceil(LINE_BYTES).max(1) - 1);
        if first.0 / SMALLEST_PAGE_LINES != last.0 / SMALLEST_PAGE_LINES {
            now = now.max(part.iommu.translate(last, arrived));
        }
        let socket = part.socket;
        Request { port, agent: self.device_agent(port), socket, arrived, now }
    }

    /// Calls `serve` for each line of a burst with the line's number, address and set; adds up for
    /// how long the lines hold their IIO entries.
    ///
    /// The sets of up to [`BURST_LINES`] lines are computed and prefetched before the first look-up,
    /// or were when the device announced them: the host's cache misses then overlap instead of
    /// following one another.
    #[inline(always)]
    fn each_line(
        &mut self,
        request: Request,
        direction: DmaDirection,
        first: LineAddr,
        bytes: u64,
        mut serve: impl FnMut(&mut Self, u64, LineAddr, SetIndex) -> LineSpans,
    ) -> Held {
        let lines = bytes.div_ceil(LINE_BYTES);
        let mut held = Held::default();
        let mut sets = [SetIndex(0); BURST_LINES];
        let mut served = 0;
        while served < lines {
            let burst = &mut sets[..((lines - served) as usize).min(BURST_LINES)];
            let expected = &self.ports[request.port].expected[direction as usize];
            if let Some(sets) = expected.sets_of(first.step(served), burst.len()) {
                burst.copy_from_slice(sets);
            } else {
                let part = &self.sockets[request.socket];
                part.llc.sets_of_run(first.step(served), burst);
                for &set in &*burst {
                    part.prefetch_for_device(set);
                }
            }
            for (&mut set, i) in burst.iter_mut().zip(served..) {
                let spans = serve(self, i, first.step(i), set);
                held.entry_time += spans.entry;
                held.seen = held.seen.max(spans.seen);
            }
            served += burst.len() as u64;
        }
        held
    }

    /// Writes a line; returns how long it holds its IIO entry, and when it can be seen.
    #[inline(always)]
    fn write_line(
        &mut self,
        request: Request,
        kind: DmaKind,
        line: LineAddr,
        set: SetIndex,
        full: bool,
    ) -> LineSpans {
        self.counters.line_ops += 1;
        if self.buffered {
            if self.ports[request.port].buffer.is_some() {
                return LineSpans::both(self.write_through_buffer(request, line, full));
            }
            self.snoop_buffers_for_write(request, line, full);
        }
        let ddio = self.ports[request.port].policy.writes(kind);
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

    /// Counts a write and moves its data; returns how long it takes.
    #[inline(always)]
    pub(super) fn finish_write(
        &mut self,
        request: Request,
        line: LineAddr,
        full: bool,
        outcome: WriteOutcome,
    ) -> LineSpans {
        let now = request.now;
        let hit = matches!(outcome, WriteOutcome::Hit);
        self.count_write(full, hit);
        // The rest of a partial line is read first if no cache had it, then merged.
        let has_rest = full
            || hit
            || matches!(
                outcome,
                WriteOutcome::Allocated { rest_from_core: true }
                    | WriteOutcome::ToMemory { rest_from_cache: true }
            );
        let merged = if has_rest { now } else { self.memory.read(request.socket, line, now) };
        let iio = &self.sockets[request.socket].iio.config;
        match outcome {
            WriteOutcome::Hit | WriteOutcome::Allocated { .. } => {
                LineSpans::both(merged + iio.llc_write - request.arrived)
            }
            WriteOutcome::ToMemory { .. } => {
                let (confirmed, seen) = (merged + iio.dram_write, merged + iio.dram_visible);
                let taken = self.memory.write(request.socket, line, merged);
                LineSpans {
                    entry: taken.max(confirmed) - request.arrived,
                    seen: taken.max(seen) - request.arrived,
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn write_into_llc(
        &mut self,
        request: Request,
        set: SetIndex,
        line: LineAddr,
        full: bool,
        mask: WayMask,
    ) -> WriteOutcome {
        let Request { port, agent, socket, now, .. } = request;
        let part = &mut self.sockets[socket];
        if let Some(way) = part.llc.find(set, line) {
            if part.llc.is_tracked_way(way) {
                let holders = part.llc.sharers(set, way);
                part.invalidate_cores(line, holders);
                part.llc.set_sharers(set, way, Sharers::NONE);
            } else if part.inclusion == Inclusion::Nine {
                self.drop_core_copies(socket, set, line);
            }
            let part = &mut self.sockets[socket];
            let info = LineInfo { owner: part.device(port), dirty: true, consumed: false };
            part.llc.update(set, way, info);
            self.drop_elsewhere(socket, line);
            self.trace(now, agent, write_operation(full), line, Found::LlcHit(way), None);
            return WriteOutcome::Hit;
        }
        let llc = &mut self.sockets[socket].llc;
        let empty =
            if self.ports[port].policy.fills_empty_ways { llc.empty_ways(set) } else { WayMask(0) };
        let within = if empty.0 == 0 || empty.0 & mask.0 != 0 { mask } else { empty };
        let way = llc.choose(set, within);
        self.allocate_for_device(request, set, line, full, way)
    }

    /// A line that the LLC does not have is written into one of its ways.
    #[inline]
    pub(super) fn allocate_for_device(
        &mut self,
        request: Request,
        set: SetIndex,
        line: LineAddr,
        full: bool,
        way: u32,
    ) -> WriteOutcome {
        let Request { port, agent, socket, now, .. } = request;
        let rest_from_core =
            self.drop_core_copies(socket, set, line) | self.drop_elsewhere(socket, line);
        let part = &mut self.sockets[socket];
        let info = LineInfo { owner: part.device(port), dirty: true, consumed: false };
        let evicted = part.llc.allocate_at(set, way, line, info);
        self.counters.llc_io_allocations += 1;
        self.trace_allocation(request, write_operation(full), line, way, evicted.as_ref());
        if let Some(evicted) = evicted {
            self.evict(socket, agent, set, evicted, now);
        }
        WriteOutcome::Allocated { rest_from_core }
    }

    pub(super) fn write_to_memory(
        &mut self,
        request: Request,
        set: SetIndex,
        line: LineAddr,
        full: bool,
    ) -> WriteOutcome {
        let Request { agent, socket, now, .. } = request;
        let rest_from_cache = !full && self.is_cached(socket, set, line);
        let newer_than_memory =
            self.drop_from_socket(socket, line) | self.drop_elsewhere(socket, line);
        // A full line overwrites the old content; a partial one needs the rest of it in memory.
        if !full && newer_than_memory {
            self.memory.write(socket, line, now);
        }
        let found = self.memory.found(socket, line);
        self.trace(now, agent, write_operation(full), line, found, None);
        WriteOutcome::ToMemory { rest_from_cache }
    }

    /// Whether the LLC or a core of `socket` has `line`.
    fn is_cached(&self, socket: usize, set: SetIndex, line: LineAddr) -> bool {
        let part = &self.sockets[socket];
        part.llc.find(set, line).is_some() || !part.untracked_holders(set, line).is_empty()
    }

    /// The line's home is another socket: the data crosses UPI to its memory, and nothing is placed
    /// in the LLC there. It may leave a clean copy in the LLC on its way.
    pub(super) fn write_to_other_socket(
        &mut self,
        request: Request,
        set: SetIndex,
        line: LineAddr,
        full: bool,
        ddio: Ddio,
    ) -> WriteOutcome {
        let Request { port, agent, socket, now, .. } = request;
        let was_here = self.sockets[socket].llc.find(set, line).is_some();
        self.count_remote(socket, line);
        let outcome = self.write_to_memory(request, set, line, full);
        self.elsewhere.forget(line);
        let Ddio::Ways(mask) = ddio else { return outcome };
        if !self.ports[port].policy.remote_writes_pollute {
            return outcome;
        }
        let part = &mut self.sockets[socket];
        let info = LineInfo { owner: part.device(port), dirty: false, consumed: false };
        let (way, evicted) = part.llc.allocate(set, line, info, mask);
        self.counters.llc_io_allocations += u64::from(!was_here);
        self.note_copy(socket, line);
        self.trace_allocation(request, Operation::LlcFill, line, way, evicted.as_ref());
        if let Some(evicted) = evicted {
            self.evict(socket, agent, set, evicted, now);
        }
        outcome
    }

    pub(super) fn trace_allocation(
        &mut self,
        request: Request,
        operation: Operation,
        line: LineAddr,
        way: u32,
        evicted: Option<&Evicted>,
    ) {
        let pushed_out = evicted.map(|evicted| (request.socket, evicted));
        let found = Found::LlcAllocated(way);
        self.trace(request.now, request.agent, operation, line, found, pushed_out);
    }

    /// A line that cores hold without a tracked LLC way leaves them, because a device writes it;
    /// says whether one of them had it modified.
    fn drop_core_copies(&mut self, socket: usize, set: SetIndex, line: LineAddr) -> bool {
        let part = &mut self.sockets[socket];
        let holders = part.untracked_holders(set, line);
        if holders.is_empty() {
            return false;
        }
        if let Some(directory) = &mut part.directory {
            directory.record(set, line, Sharers::NONE);
        }
        part.invalidate_cores(line, holders)
    }

    /// Copies in other sockets go; says whether one was newer than memory.
    #[inline]
    pub(super) fn drop_elsewhere(&mut self, socket: usize, line: LineAddr) -> bool {
        let others = self.others_with(socket, line);
        others != 0 && self.take_from(others, line)
    }

    /// Reads a line; returns how long it holds its IIO entry.
    #[inline(always)]
    fn read_line(&mut self, request: Request, line: LineAddr, set: SetIndex) -> Picos {
        self.counters.line_ops += 1;
        if self.buffered {
            if self.ports[request.port].buffer.is_some() {
                return self.read_through_buffer(request, line, set);
            }
            self.snoop_buffers(line, None, request.now);
        }
        let Request { port, agent, socket, now, .. } = request;
        let (found, done) = self.find_for_device(socket, line, set, now);
        self.count_remote(socket, line);
        self.count_read(found);
        self.trace(now, agent, Operation::DmaRead, line, found, None);
        let policy = &self.ports[port].policy;
        if policy.evict_on_dma_read && policy.payload == Ddio::Off {
            self.leave_after_read(socket, line, now);
        }
        done - request.arrived
    }

    #[inline(always)]
    pub(super) fn count_write(&mut self, full: bool, hit: bool) {
        *match (full, hit) {
            (true, true) => &mut self.counters.pcie_write_hits,
            (true, false) => &mut self.counters.pcie_write_misses,
            (false, true) => &mut self.counters.pcie_partial_write_hits,
            (false, false) => &mut self.counters.pcie_partial_write_misses,
        } += 1;
    }

    #[inline(always)]
    pub(super) fn count_read(&mut self, found: Found) {
        if found.is_memory() {
            self.counters.pcie_read_misses += 1;
        } else {
            self.counters.pcie_read_hits += 1;
        }
    }

    /// Where a DMA read gets its data, and when; nothing changes hands.
    #[inline(always)]
    pub(super) fn find_for_device(
        &mut self,
        socket: usize,
        line: LineAddr,
        set: SetIndex,
        now: Picos,
    ) -> (Found, Picos) {
        let part = &mut self.sockets[socket];
        let from_llc = now + part.iio.config.llc_read;
        let first_core = part.first_core as u8;
        let snooped = from_llc + self.core_path.snoop_extra();
        if let Some(way) = part.llc.find(set, line) {
            part.llc.note_use(set, way);
            let holders = if part.inclusion == Inclusion::Nine {
                part.untracked_holders(set, line)
            } else {
                part.llc.sharers(set, way)
            };
            let found = part.found_in_llc(way, part.modified_by(line, holders));
            let from_core = matches!(found, Found::OtherCore(_));
            return (found, if from_core { snooped } else { from_llc });
        }
        if let Some(core) = part.untracked_holders(set, line).cores().next() {
            return (Found::OtherCore(first_core + core), snooped);
        }
        let extra = part.iio.config.dram_read_extra;
        let others = self.others_with(socket, line);
        if others != 0 {
            self.note_use(others, line);
            let answer = self.memory.snoop(socket, others, now) + self.core_path.snoop_extra();
            let from = others.trailing_zeros() as u8;
            return (Found::OtherSocket(from), answer.max(from_llc));
        }
        (self.memory.found(socket, line), self.memory.read(socket, line, now) + extra)
    }

    /// Parts before Ivy Bridge: a line that a device has read leaves the caches.
    fn leave_after_read(&mut self, socket: usize, line: LineAddr, now: Picos) {
        let dirty = self.drop_from_socket(socket, line) | self.drop_elsewhere(socket, line);
        self.elsewhere.forget(line);
        if dirty {
            self.memory.write(socket, line, now);
        }
    }
}

pub(super) fn write_operation(full: bool) -> Operation {
    if full { Operation::DmaWriteFull } else { Operation::DmaWritePartial }
}
