//! Operations between the caches of the machine: holders and evictions.

use super::{Placed, Reference, Version};
use model::attribution::AgentId;
use model::llc::Inclusion;
use model::private_caches::MesiState;
use model::tracer::{Found, LineOperation};
use units::{LineAddr, WayMask};

impl Reference {
    /// Cores of a socket, lowest first, that hold a line.
    pub(super) fn holders(&self, socket: usize, line: LineAddr) -> Vec<usize> {
        let holds =
            |&core: &usize| self.cores[core].socket == socket && self.cores[core].holds(line);
        (0..self.cores.len()).filter(holds).collect()
    }

    /// Other sockets, lowest first, with a copy in any cache.
    pub(super) fn elsewhere(&self, socket: usize, line: LineAddr) -> Vec<usize> {
        let has = |&other: &usize| {
            self.sockets[other].llc.has(line) || !self.holders(other, line).is_empty()
        };
        (0..self.sockets.len()).filter(|&other| other != socket).filter(has).collect()
    }

    /// The content with which a socket would answer, and whether it is newer than memory: a core's if
    /// that is modified, else the LLC's, else any core's.
    pub(super) fn answer(&self, socket: usize, line: LineAddr) -> Option<(Version, bool)> {
        let holders = self.holders(socket, line);
        let modified = holders.iter().find_map(|&core| self.cores[core].modified(line));
        if let Some(version) = modified {
            return Some((version, true));
        }
        if let Some(placed) = self.sockets[socket].llc.get(line) {
            return Some((placed.version, placed.dirty));
        }
        let first = self.cores[*holders.first()?].copy(line)?;
        Some((first.version, false))
    }

    /// The core of a socket that has a line modified.
    pub(super) fn modifier(&self, socket: usize, line: LineAddr) -> Option<usize> {
        let holders = self.holders(socket, line);
        holders.into_iter().find(|&core| self.cores[core].modified(line).is_some())
    }

    /// Removes a line from all caches of a core.
    pub(super) fn drop_from_core(&mut self, core: usize, line: LineAddr) {
        let core = &mut self.cores[core];
        core.l1.take(line);
        core.l2.take(line);
        core.l1i.as_mut().and_then(|l1i| l1i.take(line));
    }

    /// A core keeps a line as Shared; L2 receives L1D's modified content.
    pub(super) fn downgrade_core(&mut self, core: usize, line: LineAddr) {
        let core = &mut self.cores[core];
        let Some(version) = core.modified(line).or(core.copy(line).map(|held| held.version)) else {
            return;
        };
        let caches = [Some(&mut core.l1), core.l1i.as_mut(), Some(&mut core.l2)];
        for cache in caches.into_iter().flatten() {
            if let Some(held) = cache.get_mut(line) {
                (held.state, held.version) = (MesiState::Shared, version);
            }
        }
    }

    /// Removes a line from all caches of a socket; returns its content if that was newer than memory.
    pub(super) fn drop_from_socket(&mut self, socket: usize, line: LineAddr) -> Option<Version> {
        let newer = self.answer(socket, line).filter(|answer| answer.1).map(|answer| answer.0);
        for core in self.holders(socket, line) {
            self.drop_from_core(core, line);
        }
        self.sockets[socket].llc.take(line);
        self.untrack(socket, line);
        newer
    }

    /// Removes a line from all caches of all other sockets; returns its content if that was newer
    /// than memory.
    pub(super) fn drop_elsewhere(&mut self, socket: usize, line: LineAddr) -> Option<Version> {
        let others = self.elsewhere(socket, line);
        others.into_iter().fold(None, |newer, other| self.drop_from_socket(other, line).or(newer))
    }

    /// All copies in a socket become shared and equal to memory.
    pub(super) fn clean_in_socket(&mut self, socket: usize, line: LineAddr) {
        let Some((version, newer)) = self.answer(socket, line) else { return };
        for core in self.holders(socket, line) {
            self.downgrade_core(core, line);
        }
        if let Some(placed) = self.sockets[socket].llc.get_mut(line) {
            (placed.dirty, placed.version, placed.consumed) = (false, version, true);
        }
        if newer {
            self.memory_write(line, version);
        }
    }

    /// The snoop filter of a socket allocates an entry for a line; the line of its victim is
    /// invalidated in the cores.
    pub(super) fn track(&mut self, socket: usize, line: LineAddr) {
        let Some(ways) = self.config.socket.directory.map(|filter| filter.ways) else { return };
        let Some(filter) = &mut self.sockets[socket].filter else { return };
        if filter.has(line) {
            filter.used(line);
            return;
        }
        let (_, victim) = filter.put(line, (), WayMask::bottom(ways));
        let Some((victim, ())) = victim else { return };
        self.counters.directory_evictions += 1;
        let holders = self.holders(socket, victim);
        let modified = holders.iter().find_map(|&core| self.cores[core].modified(victim));
        for &core in &holders {
            self.drop_from_core(core, victim);
        }
        let llc = &mut self.sockets[socket].llc;
        let way = llc.way_of(victim);
        let found = match (modified, llc.get_mut(victim)) {
            (None, _) => Found::Nowhere,
            // Only independent levels hold a line in both.
            (Some(version), Some(placed)) => {
                (placed.dirty, placed.version) = (true, version);
                Found::LlcHit(way.unwrap_or_default() as u32)
            }
            (Some(version), None) => {
                self.memory_write(victim, version);
                Found::Dram
            }
        };
        let holder = AgentId(holders.first().copied().unwrap_or_default() as u8);
        self.see(holder, LineOperation::DirectoryEviction, victim, found);
    }

    /// The snoop filter frees the entry of a line.
    pub(super) fn untrack(&mut self, socket: usize, line: LineAddr) {
        if let Some(filter) = &mut self.sockets[socket].filter {
            filter.take(line);
        }
    }

    /// Allocates a line in an LLC for an owner; returns its way.
    pub(super) fn place(
        &mut self,
        socket: usize,
        line: LineAddr,
        placed: Placed,
        within: WayMask,
        by: AgentId,
    ) -> usize {
        let (way, victim) = self.sockets[socket].llc.put(line, placed, within);
        self.refilled(socket, line);
        if let Some((victim, left)) = victim {
            self.evict(socket, victim, left, by);
        }
        way
    }

    /// The ways of a mask without those that hold unread lines of `owners`; all if none is left.
    pub(super) fn all_but_unread(
        &self,
        socket: usize,
        line: LineAddr,
        ways: WayMask,
        is_such: impl Fn(&Placed) -> bool,
    ) -> WayMask {
        let llc = &self.sockets[socket].llc;
        let unread = llc.ways_with(line, |placed| !placed.consumed && is_such(placed));
        let left = ways.0 & !unread.0;
        if left == 0 { ways } else { WayMask(left) }
    }

    /// Ways that a core's fill may take: it spares unread lines of devices with priority.
    pub(super) fn ways_for_core(&self, socket: usize, line: LineAddr, ways: WayMask) -> WayMask {
        self.all_but_unread(socket, line, ways, |placed| {
            let port = usize::from(placed.owner.0).checked_sub(self.cores.len());
            port.is_some_and(|port| {
                self.ports[port].socket == socket && self.ports[port].policy.placement.io_priority
            })
        })
    }

    /// An LLC evicted a line.
    fn evict(&mut self, socket: usize, line: LineAddr, left: Placed, by: AgentId) {
        *self.evictions.entry((by, left.owner, left.consumed)).or_default() += 1;
        let mut newer = left.dirty.then_some(left.version);
        let holders = self.holders(socket, line);
        match self.inclusion() {
            Inclusion::Inclusive => {
                let modified = holders.iter().find_map(|&core| self.cores[core].modified(line));
                newer = modified.or(newer);
                for core in holders {
                    self.drop_from_core(core, line);
                }
            }
            // It was in a tracked way, which listed the cores; now the filter must.
            Inclusion::NonInclusive { .. } if !holders.is_empty() => {
                // The newest content stays with the core that modified it.
                if holders.iter().any(|&core| self.cores[core].modified(line).is_some()) {
                    newer = None;
                }
                self.track(socket, line);
            }
            Inclusion::NonInclusive { .. } | Inclusion::ExclusiveVictim | Inclusion::Nine => {}
        }
        if let Some(version) = newer {
            self.counters.llc_writebacks += 1;
            self.memory_write(line, version);
        }
        let found = if newer.is_some() { Found::Dram } else { Found::Nowhere };
        self.see(by, LineOperation::LlcEviction, line, found);
    }

    /// Reads and writes of lines whose memory is another socket's are counted.
    pub(super) fn count_remote(&mut self, socket: usize, line: LineAddr) {
        self.counters.remote_lines += u64::from(self.home_of(line) != socket);
    }
}
