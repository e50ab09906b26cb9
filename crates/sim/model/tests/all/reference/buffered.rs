//! Root-complex buffers: a list of lines each, the least recently used first.
//!
//! The rules are those in the header of `model::root_complex::buffer`, for a whole machine.

use super::{Placed, Reference, Version};
use model::llc::Inclusion;
use model::llc::inclusion::InclusiveMove;
use model::root_complex::buffer::{BufferConfig, BufferCounters, BufferState, Placement};
use model::root_complex::ddio::Ddio;
use model::tracer::Found;
use units::{CoreId, LineAddr, SocketId, WayMask};

#[derive(Clone, Copy, Debug)]
pub(super) struct Buffered {
    line: LineAddr,
    state: BufferState,
    version: Version,
}

#[derive(Clone, Debug)]
pub(super) struct Buffer {
    config: BufferConfig,
    oldest_first: Vec<Buffered>,
    pub counters: BufferCounters,
}

impl Buffer {
    /// None if the port has none.
    pub fn new(config: BufferConfig) -> Option<Self> {
        let counters = BufferCounters::default();
        (config.entries > 0).then(|| Self { config, oldest_first: Vec::new(), counters })
    }

    fn get(&self, line: LineAddr) -> Option<Buffered> {
        self.oldest_first.iter().copied().find(|held| held.line == line)
    }

    fn get_mut(&mut self, line: LineAddr) -> Option<&mut Buffered> {
        self.oldest_first.iter_mut().find(|held| held.line == line)
    }

    fn take(&mut self, line: LineAddr) -> Option<Buffered> {
        let at = self.oldest_first.iter().position(|held| held.line == line)?;
        Some(self.oldest_first.remove(at))
    }

    pub fn state(&self, line: LineAddr) -> Option<BufferState> {
        self.get(line).map(|held| held.state)
    }

    /// The content of a held line, and whether it is the only copy.
    pub fn content(&self, line: LineAddr) -> Option<(Version, bool)> {
        self.get(line).map(|held| (held.version, held.state == BufferState::Modified))
    }
}

impl Reference {
    pub(super) fn has_buffer(&self, port: usize) -> bool {
        self.ports[port].buffer.is_some()
    }

    fn buffer(&mut self, port: usize) -> &mut Buffer {
        self.ports[port].buffer.as_mut().expect("the port has a buffer")
    }

    /// A device writes a line into its buffer.
    pub(super) fn write_into_buffer(&mut self, port: usize, line: LineAddr, full: bool) -> Found {
        let had = self.buffer(port).take(line);
        let sole = had.filter(|held| held.state != BufferState::Shared);
        let (found, old) = match sole {
            Some(held) => {
                self.buffer(port).counters.hits += 1;
                (Found::RootComplexBuffer, held.version)
            }
            None => {
                self.buffer(port).counters.exclusive_acquired += 1;
                let (found, old, _) = self.take_for_buffer(port, line, !full);
                (found, old)
            }
        };
        if !full {
            self.read_is_current(line, old, "a partial write");
        }
        let version = self.write_anew(line);
        self.keep(port, Buffered { line, state: BufferState::Modified, version });
        found
    }

    /// A device reads a line through its buffer.
    pub(super) fn read_through_buffer(&mut self, port: usize, line: LineAddr) -> Found {
        let evicts = Placement::MemorySide { evict_on_dma_read: true };
        let had = self.buffer(port).take(line);
        let (found, held) = if let Some(held) = had {
            self.buffer(port).counters.hits += 1;
            (Found::RootComplexBuffer, held)
        } else if self.buffer(port).config.placement == evicts {
            self.buffer(port).counters.exclusive_acquired += 1;
            let (found, version, newer) = self.take_for_buffer(port, line, true);
            let state = if newer { BufferState::Modified } else { BufferState::Exclusive };
            (found, Buffered { line, state, version })
        } else {
            self.buffer(port).counters.shared_acquired += 1;
            let (found, version) = self.share_with_buffer(port, line);
            (found, Buffered { line, state: BufferState::Shared, version })
        };
        self.read_is_current(line, held.version, "a device");
        self.keep(port, held);
        found
    }

    /// Makes a line the newest of a buffer; the victim is written back.
    fn keep(&mut self, port: usize, held: Buffered) {
        let buffer = self.buffer(port);
        let full = buffer.oldest_first.len() == buffer.config.entries as usize;
        let victim = full.then(|| buffer.oldest_first.remove(0));
        buffer.oldest_first.push(held);
        if let Some(victim) = victim {
            self.write_back(port, victim);
        }
    }

    /// Acquires a shared copy: every holder loses the right to write without a request.
    fn share_with_buffer(&mut self, port: usize, line: LineAddr) -> (Found, Version) {
        let socket = self.ports[port].socket;
        self.buffers_share(line);
        let found = self.find_for_device(socket, line);
        for other in 0..self.sockets.len() {
            let Some((version, newer)) = self.answer(other, line) else { continue };
            let modified = self.modifier(other, line).is_some();
            for core in self.holders(other, line) {
                self.downgrade_core(core, line);
            }
            match self.sockets[other].llc.get_mut(line) {
                Some(placed) => {
                    (placed.dirty, placed.version) = (placed.dirty || newer, version);
                }
                None if modified => self.memory_write(line, version),
                None => {}
            }
        }
        (found, self.newest_kept(line))
    }

    /// Acquires the only copy, with its content or without; returns whether that is newer than memory.
    fn take_for_buffer(
        &mut self,
        port: usize,
        line: LineAddr,
        with_data: bool,
    ) -> (Found, Version, bool) {
        let socket = self.ports[port].socket;
        let from_buffer = self.take_from_buffers(line);
        let found = if from_buffer.is_some() {
            Found::RootComplexBuffer
        } else if with_data {
            self.find_for_device(socket, line)
        } else {
            self.where_it_is(socket, line)
        };
        let freed = self.sockets[socket].llc.place_of(line);
        let here = self.drop_from_socket(socket, line);
        let newer = self.drop_elsewhere(socket, line).or(here).or(from_buffer);
        let config = self.buffer(port).config;
        let marks =
            config.placement == Placement::LlcSide && !(with_data && config.as_published_code);
        if let Some(place) = freed.filter(|_| marks) {
            self.sockets[socket].freed_by_io.insert(place);
        }
        let version = newer.unwrap_or(self.in_memory_now(line));
        (found, version, newer.is_some())
    }

    /// Where a line is; its content is not needed.
    fn where_it_is(&self, socket: usize, line: LineAddr) -> Found {
        let way = self.sockets[socket].llc.way_of(line);
        let holder = self.holders(socket, line).first().copied();
        let other = self.elsewhere(socket, line).first().copied();
        match (way, holder, other) {
            (Some(way), _, _) => Found::LlcHit(way as u32),
            (_, Some(core), _) => Found::OtherCore(CoreId(core as u8)),
            (_, _, Some(other)) => Found::OtherSocket(SocketId(other as u8)),
            (None, None, None) => self.in_memory(socket, line),
        }
    }

    /// A buffer evicts a modified line.
    fn write_back(&mut self, port: usize, held: Buffered) {
        if held.state != BufferState::Modified {
            return;
        }
        let Buffered { line, version, .. } = held;
        let buffer = self.buffer(port);
        buffer.counters.write_backs += 1;
        let config = buffer.config;
        // The published code treats all I/O lines as those of one device.
        let ways_of = if config.as_published_code { 0 } else { port };
        match self.ports[ways_of].policy.payload {
            Ddio::Ways(ways) if config.placement == Placement::LlcSide => {
                self.write_back_into_llc(port, line, version, ways);
            }
            _ => self.memory_write(line, version),
        }
    }

    fn write_back_into_llc(
        &mut self,
        port: usize,
        line: LineAddr,
        version: Version,
        ways: WayMask,
    ) {
        let (socket, owner) = (self.ports[port].socket, self.device(port));
        let placed = Placed { owner, dirty: true, consumed: false, version };
        let parts = &mut self.sockets[socket];
        let set = parts.llc.set_number(line);
        let freed = parts.freed_by_io.range((set, 0)..(set + 1, 0)).next();
        let within = freed.map_or(ways, |&(_, way)| WayMask(1 << way));
        self.counters.llc_io_allocations += 1;
        self.place(socket, line, placed, within, owner);
    }

    /// A read by another agent: buffers lose the right to write the line. Returns whether one has it.
    pub(super) fn buffers_share(&mut self, line: LineAddr) -> bool {
        let mut any = false;
        for port in 0..self.ports.len() {
            let Some(buffer) = &mut self.ports[port].buffer else { continue };
            let Some(held) = buffer.get_mut(line) else { continue };
            let was = *held;
            held.state = BufferState::Shared;
            any = true;
            self.write_back(port, was);
        }
        any
    }

    /// A write by another agent: all buffers invalidate the line. Returns content newer than memory.
    pub(super) fn take_from_buffers(&mut self, line: LineAddr) -> Option<Version> {
        let buffers = self.ports.iter_mut().filter_map(|port| port.buffer.as_mut());
        let taken = buffers.filter_map(|buffer| buffer.take(line));
        taken.filter(|held| held.state == BufferState::Modified).map(|held| held.version).last()
    }

    /// A line that a buffer shares is clean before it moves up into a core; a line that stays in the
    /// LLC keeps its dirty bit.
    pub(super) fn clean_in_llc(&mut self, socket: usize, line: LineAddr) {
        let tracked_ways = self.tracked_ways().0;
        let cores = self.cores.len();
        let is_held = !self.holders(socket, line).is_empty();
        let llc = &mut self.sockets[socket].llc;
        let tracked = llc.way_of(line).is_some_and(|way| tracked_ways >> way & 1 == 1);
        let inclusion = self.config.socket.llc.inclusion;
        let Some(placed) = llc.get_mut(line).filter(|placed| placed.dirty) else { return };
        let moves_up = match inclusion {
            Inclusion::Inclusive | Inclusion::Nine => false,
            Inclusion::ExclusiveVictim => true,
            Inclusion::NonInclusive { moved_by: InclusiveMove::CoreAccess, .. } => {
                !tracked && usize::from(placed.owner.0) < cores
            }
            Inclusion::NonInclusive { moved_by: InclusiveMove::DeviceWrite, .. } => {
                !(tracked && is_held)
            }
        };
        if moves_up {
            placed.dirty = false;
            let version = placed.version;
            self.memory_write(line, version);
        }
    }

    /// A refilled way loses its freed-by-I/O mark; in the published code it keeps it.
    pub(super) fn refilled(&mut self, socket: usize, line: LineAddr) {
        if !self.config.ports.iter().any(|port| port.buffer.as_published_code) {
            let parts = &mut self.sockets[socket];
            if let Some(place) = parts.llc.place_of(line) {
                parts.freed_by_io.remove(&place);
            }
        }
    }
}
