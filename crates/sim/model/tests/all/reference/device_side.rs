//! Operations of devices.

use super::{Placed, Reference};
use model::llc::Inclusion;
use model::llc::inclusion::InclusiveMove;
use model::root_complex::ddio::{Ddio, DmaKind};
use model::root_complex::line_placement::{LinePlacement, OnUnread};
use model::tracer::{Found, LineOperation};
use units::{CoreId, Id, LINE_BYTES, LineAddr, SocketId, WayMask};

impl Reference {
    /// A device writes bytes from the start of a line on, tagged with the core that reads them.
    pub fn dma_write(
        &mut self,
        port: usize,
        reader: usize,
        first: LineAddr,
        bytes: u64,
        kind: DmaKind,
    ) {
        for i in 0..bytes.div_ceil(LINE_BYTES) {
            let full = (i + 1) * LINE_BYTES <= bytes;
            self.counters.line_ops += 1;
            self.write_line(port, first.step(i), full, (i, reader), kind);
        }
    }

    /// A device reads bytes from the start of a line on.
    pub fn dma_read(&mut self, port: usize, first: LineAddr, bytes: u64) {
        for i in 0..bytes.div_ceil(LINE_BYTES) {
            self.counters.line_ops += 1;
            self.read_line(port, first.step(i));
        }
    }

    fn write_line(
        &mut self,
        port: usize,
        line: LineAddr,
        full: bool,
        (number, reader): (u64, usize),
        kind: DmaKind,
    ) {
        if self.has_buffer(port) {
            let found = self.write_into_buffer(port, line, full);
            self.count_write(full, !found.is_memory());
            self.see(self.device(port), write_operation(full), line, found);
            return;
        }
        let newer = self.take_from_buffers(line);
        if let Some(version) = newer.filter(|_| !full) {
            self.memory_write(line, version);
        }
        let socket = self.ports[port].socket;
        let policy = self.ports[port].policy;
        let (ddio, placement) = match kind {
            DmaKind::Payload if !policy.placement.injects(number) => (Ddio::Off, policy.placement),
            DmaKind::Payload => (policy.payload, policy.placement),
            DmaKind::PayloadForMemory => (Ddio::Off, LinePlacement::default()),
            DmaKind::Descriptor => (policy.descriptors, LinePlacement::default()),
        };
        let at_home = self.home_of(line) == socket;
        let has_reader = at_home && self.cores[reader].socket == socket;
        if !at_home {
            self.count_remote(socket, line);
        }
        let mut in_memory = false;
        let hit = match ddio {
            _ if has_reader && placement.pushes(number) => {
                self.push_into_l2(port, reader, line, full)
            }
            Ddio::Ways(ways) if at_home => {
                let ways = self.ways_for_write(socket, line, ways, placement);
                in_memory = !self.is_moved_by_write(socket, line)
                    && self.bypasses(socket, line, ways, placement);
                if in_memory {
                    self.write_to_memory(port, line, full);
                    false
                } else {
                    self.write_into_llc(port, line, full, ways)
                }
            }
            Ddio::Ways(ways) => {
                let was_here = self.sockets[socket].llc.has(line);
                self.write_to_memory(port, line, full);
                if policy.remote_writes_pollute {
                    let owner = self.device(port);
                    let version = self.newest(line);
                    let placed = Placed { owner, dirty: false, consumed: false, version };
                    self.counters.llc_io_allocations += u64::from(!was_here);
                    self.place(socket, line, placed, ways, owner);
                }
                false
            }
            Ddio::Off => {
                self.write_to_memory(port, line, full);
                in_memory = true;
                false
            }
        };
        self.count_write(full, hit);
        if has_reader && in_memory && placement.hints(number) {
            self.follow_hint(reader, line);
        }
    }

    fn count_write(&mut self, full: bool, hit: bool) {
        let counters = &mut self.counters;
        *match (full, hit) {
            (true, true) => &mut counters.pcie_write_hits,
            (true, false) => &mut counters.pcie_write_misses,
            (false, true) => &mut counters.pcie_partial_write_hits,
            (false, false) => &mut counters.pcie_partial_write_misses,
        } += 1;
    }

    /// Writes the content into the LLC and invalidates other copies; returns whether the LLC hit.
    fn write_into_llc(&mut self, port: usize, line: LineAddr, full: bool, ways: WayMask) -> bool {
        let (socket, owner) = (self.ports[port].socket, self.device(port));
        let operation = write_operation(full);
        if let Some(way) = self.sockets[socket].llc.way_of(line) {
            let (old, _) = self.answer(socket, line).expect("the LLC has it");
            if !full {
                self.read_is_current(line, old, "a partial write");
            }
            for core in self.holders(socket, line) {
                self.drop_from_core(core, line);
            }
            if self.inclusion() == Inclusion::Nine {
                self.untrack(socket, line);
            }
            self.drop_elsewhere(socket, line);
            let version = self.write_anew(line);
            let llc = &mut self.sockets[socket].llc;
            *llc.get_mut(line).expect("the LLC has it") =
                Placed { owner, dirty: true, consumed: false, version };
            llc.used(line);
            self.see(owner, operation, line, Found::LlcHit(way as u32));
            return true;
        }
        let is_moved = self.is_moved_by_write(socket, line);
        let held = is_moved.then(|| self.answer(socket, line).expect("a core has it").0);
        let here = self.drop_from_socket(socket, line).or(held);
        let newer = self.drop_elsewhere(socket, line).or(here);
        if !full {
            let old = newer.unwrap_or_else(|| self.memory_read(line));
            self.read_is_current(line, old, "a partial write");
        }
        let version = self.write_anew(line);
        let placed = Placed { owner, dirty: true, consumed: false, version };
        self.counters.llc_io_allocations += 1;
        let tracked = self.tracked_ways();
        let llc = &self.sockets[socket].llc;
        let empty = |way: u32| llc.is_empty_at(line, way as usize);
        let is_allowed = |way: u32| ways.0 >> way & 1 == 1;
        let outside = (0..llc.ways() as u32).filter(|&way| tracked.0 >> way & 1 == 0 && empty(way));
        let outside = WayMask(outside.fold(0, |mask, way| mask | 1 << way));
        let full_inside = !(0..llc.ways() as u32)
            .any(|way| is_allowed(way) && tracked.0 >> way & 1 == 0 && empty(way));
        let fills = self.ports[port].policy.fills_empty_ways && full_inside && outside.0 != 0;
        let ways = match (is_moved, fills) {
            (true, _) => tracked,
            (false, true) => outside,
            (false, false) => ways,
        };
        let way = self.place(socket, line, placed, ways, owner);
        let way = way as u32;
        let found = if is_moved { Found::MovedToLlc(way) } else { Found::LlcAllocated(way) };
        self.see(owner, operation, line, found);
        is_moved
    }

    /// Whether a device's write puts a line that the LLC lacks into the tracked ways: a core holds it.
    fn is_moved_by_write(&self, socket: usize, line: LineAddr) -> bool {
        let moves = matches!(
            self.inclusion(),
            Inclusion::NonInclusive { moved_by: InclusiveMove::DeviceWrite, .. }
        );
        moves && !self.sockets[socket].llc.has(line) && !self.holders(socket, line).is_empty()
    }

    /// Ways that a write may allocate in: those with unread lines of devices come last.
    fn ways_for_write(
        &self,
        socket: usize,
        line: LineAddr,
        ways: WayMask,
        placement: LinePlacement,
    ) -> WayMask {
        let is_device = |placed: &Placed| usize::from(placed.owner.0) >= self.cores.len();
        if placement.replaces_read_first {
            self.all_but_unread(socket, line, ways, is_device)
        } else {
            ways
        }
    }

    /// Whether a write that misses the LLC bypasses it, because it would evict an unread line.
    fn bypasses(
        &self,
        socket: usize,
        line: LineAddr,
        ways: WayMask,
        placement: LinePlacement,
    ) -> bool {
        let llc = &self.sockets[socket].llc;
        if llc.has(line) || placement.on_unread == OnUnread::Replace {
            return false;
        }
        let victim = llc.victim(line, ways);
        victim.is_some_and(|left| !left.consumed && usize::from(left.owner.0) >= self.cores.len())
    }

    /// Writes the content into a core's L2 as if the core had; returns whether the LLC hit.
    fn push_into_l2(&mut self, port: usize, core: usize, line: LineAddr, full: bool) -> bool {
        let socket = self.ports[port].socket;
        let in_llc = self.sockets[socket].llc.get(line).map(|placed| placed.version);
        let here = self.drop_from_socket(socket, line);
        let newer = self.drop_elsewhere(socket, line).or(here).or(in_llc);
        if !full {
            let old = newer.unwrap_or_else(|| self.memory_read(line));
            self.read_is_current(line, old, "a partial write");
        }
        let version = self.write_anew(line);
        self.see(self.device(port), write_operation(full), line, Found::L2);
        self.take_pushed(core, line, version);
        in_llc.is_some()
    }

    /// Writes the content to memory and invalidates all copies.
    fn write_to_memory(&mut self, port: usize, line: LineAddr, full: bool) {
        let socket = self.ports[port].socket;
        let copy = self.answer(socket, line).map(|answer| answer.0);
        let here = self.drop_from_socket(socket, line);
        let newer = self.drop_elsewhere(socket, line).or(here);
        if !full {
            // A copy newer than memory is written there; the rest of the line comes from a cache of the
            // device's socket, or else from memory.
            if let Some(version) = newer {
                self.memory_write(line, version);
            }
            let old = copy.unwrap_or_else(|| self.memory_read(line));
            self.read_is_current(line, old, "a partial write");
        }
        let found = self.in_memory(socket, line);
        self.see(self.device(port), write_operation(full), line, found);
        let version = self.write_anew(line);
        self.memory_write(line, version);
    }

    fn read_line(&mut self, port: usize, line: LineAddr) {
        let socket = self.ports[port].socket;
        let found = if self.has_buffer(port) {
            self.read_through_buffer(port, line)
        } else {
            self.buffers_share(line);
            self.count_remote(socket, line);
            self.find_for_device(socket, line)
        };
        if found.is_memory() {
            self.counters.pcie_read_misses += 1;
        } else {
            self.counters.pcie_read_hits += 1;
        }
        self.see(self.device(port), LineOperation::DmaRead, line, found);
        if self.has_buffer(port) {
            return;
        }
        let policy = self.ports[port].policy;
        if policy.evict_on_dma_read && policy.payload == Ddio::Off {
            let here = self.drop_from_socket(socket, line);
            if let Some(version) = self.drop_elsewhere(socket, line).or(here) {
                self.memory_write(line, version);
            }
        }
    }

    /// A device reads a line; no copy changes its state.
    pub(super) fn find_for_device(&mut self, socket: usize, line: LineAddr) -> Found {
        let modifier = self.modifier(socket, line);
        let answer = self.answer(socket, line);
        let llc = &mut self.sockets[socket].llc;
        let way = llc.way_of(line);
        if let Some(placed) = llc.get_mut(line) {
            placed.consumed = true;
        }
        if self.config.socket.llc.device_reads_refresh {
            llc.used(line);
        }
        if let Some((version, _)) = answer {
            self.read_is_current(line, version, "a device");
            let holder = modifier.or(self.holders(socket, line).first().copied());
            return match (modifier, way) {
                (None, Some(way)) => Found::LlcHit(way as u32),
                _ => Found::OtherCore(CoreId::at(holder.expect("a core has it"))),
            };
        }
        let others = self.elsewhere(socket, line);
        let answers = others.iter().filter_map(|&other| self.answer(other, line));
        if let Some((version, _)) = answers.max_by_key(|answer| answer.1) {
            self.read_is_current(line, version, "a device");
            for &other in &others {
                if let Some(placed) = self.sockets[other].llc.get_mut(line) {
                    placed.consumed = true;
                }
            }
            return Found::OtherSocket(SocketId::at(others[0]));
        }
        let version = self.memory_read(line);
        self.read_is_current(line, version, "a device");
        self.in_memory(socket, line)
    }
}

fn write_operation(full: bool) -> LineOperation {
    if full { LineOperation::DmaWriteFull } else { LineOperation::DmaWritePartial }
}
