//! Evictions: from L1D, L2, the LLC and the snoop filter.
//!
//! Models: write-backs level by level, L2 victims that are allocated in the LLC within the core's CAT
//! mask, and the effect of an LLC eviction on the cores above it under each inclusion policy.
//! Source: Intel (non-inclusive victim LLC of Skylake-SP, inclusive LLC before).
//! Simplifies: only devices' writes wait until memory has taken the write-backs of their victims; cores
//! are slowed by their reads, which find the same channels busy.

use super::Fabric;
use crate::attribution::{AgentId, Owner};
use crate::llc::inclusion::{L1Victim, L2Victim, LlcVictim};
use crate::llc::{Evicted, LineInfo, Sharers};
use crate::private_caches::MesiState;
use crate::tracer::{Found, LineOperation, Tracer};
use units::{CoreId, LineAddr, Picos, SetIndex, SocketId};

impl<T: Tracer> Fabric<T> {
    /// Fills a line into L1D, which may have `held` it as Shared; its victim moves down.
    pub(super) fn fill_l1(
        &mut self,
        core: CoreId,
        line: LineAddr,
        state: MesiState,
        held: bool,
        now: Picos,
    ) {
        let private = self.private(core);
        let l1 = &mut private.l1;
        let victim = if held { l1.fill(line, state) } else { l1.insert(line, state) };
        let Some((victim, state)) = victim else { return };
        match self.inclusion().l1_victim(state == MesiState::Modified) {
            L1Victim::WriteBack => {
                let private = self.private(core);
                private.counters.l1_writebacks += 1;
                if !private.l2.set_state(victim, MesiState::Modified) {
                    self.write_allocate_in_l2(core, victim, now);
                }
            }
            L1Victim::Drop => {}
            L1Victim::DropLast => self.leave_core(core, victim, now),
        }
    }

    /// Independent levels: a modified line from L1D that misses L2 is fetched and written there.
    fn write_allocate_in_l2(&mut self, core: CoreId, line: LineAddr, now: Picos) {
        self.private(core).counters.l2_victim_misses += 1;
        let (_, served) = self.fetch_for_store(core, line, now);
        let from_memory = served.found.is_memory();
        self.private(core).counters.l2_victims_from_memory += u64::from(from_memory);
        self.fill_l2(core, line, MesiState::Modified, false, now);
    }

    /// Fills a line into L2, which may have `held` it as Shared; its victim moves down.
    pub(super) fn fill_l2(
        &mut self,
        core: CoreId,
        line: LineAddr,
        state: MesiState,
        held: bool,
        now: Picos,
    ) {
        let l2 = &mut self.private(core).l2;
        let victim = if held { l2.fill(line, state) } else { l2.insert(line, state) };
        let Some((victim, state)) = victim else { return };
        let modified = state == MesiState::Modified;
        match self.inclusion().l2_victim() {
            L2Victim::MoveDown => {
                let private = self.private(core);
                let above = private.invalidate_l1(victim);
                let modified = modified || above == Some(MesiState::Modified);
                private.counters.l2_writebacks += u64::from(modified);
                self.take_l2_victim(core, victim, modified, now);
            }
            L2Victim::WriteBack => {
                if modified {
                    self.write_back_independently(core, victim, now);
                } else {
                    let found = Found::Nowhere;
                    self.trace(
                        now,
                        AgentId::of(core),
                        LineOperation::L2Victim,
                        victim,
                        found,
                        None,
                    );
                }
                self.leave_core(core, victim, now);
            }
        }
    }

    /// Independent levels: a modified line from L2 is written into the LLC, which fetches it first if
    /// it misses.
    fn write_back_independently(&mut self, core: CoreId, line: LineAddr, now: Picos) {
        let at = self.location(core);
        let socket = &mut self.sockets[at.socket];
        socket.cores[at.core].counters.l2_writebacks += 1;
        let set = socket.llc.set_of(line);
        if let Some(way) = socket.llc.find(set, line) {
            socket.llc.mark_dirty(set, way);
            self.trace(
                now,
                AgentId::of(core),
                LineOperation::L2Victim,
                line,
                Found::LlcHit(way),
                None,
            );
            return;
        }
        self.private(core).counters.llc_victim_misses += 1;
        self.read_memory(at.socket, line, now);
        self.fill_llc(core, set, line, true, LineOperation::L2Victim, now);
    }

    /// Independent levels: a core's cache dropped a copy without a write-back. If it was the core's
    /// last, the snoop filter removes the core; if the socket's, the home removes the socket.
    pub(super) fn leave_core(&mut self, core: CoreId, line: LineAddr, now: Picos) {
        let at = self.location(core);
        let socket = &self.sockets[at.socket];
        let holders_are_listed = socket.directory.is_some() || self.sockets.len() > 1;
        if !holders_are_listed || self.private(core).state(line).is_some() {
            return;
        }
        let socket = &self.sockets[at.socket];
        let set = socket.llc.set_of(line);
        let left = socket.untracked_holders(set, line).without(at.core);
        self.record_holders(at.socket, set, line, left, now);
        self.forget_if_gone_from(at.socket, set, line);
    }

    /// A core's L2 evicts a line: into its tracked way if it still has one, else into the LLC.
    pub(super) fn take_l2_victim(
        &mut self,
        core: CoreId,
        line: LineAddr,
        modified: bool,
        now: Picos,
    ) {
        let at = self.location(core);
        let set = self.recent_set(at.socket, line);
        let socket = &mut self.sockets[at.socket];
        let agent = AgentId::of(core);
        if let Some(way) = socket.llc.find(set, line) {
            let left = socket.llc.sharers(set, way).without(at.core);
            socket.llc.set_sharers(set, way, left);
            if modified {
                let info = LineInfo { owner: Owner::core(at.core), dirty: true, consumed: true };
                socket.llc.update(set, way, info);
            }
            self.trace(now, agent, LineOperation::L2Victim, line, Found::LlcHit(way), None);
            return;
        }
        let left = socket.other_holders(at.core, set, line);
        let found = left.cores().next().map(|other| socket.found_in(other));
        self.record_holders(at.socket, set, line, left, now);
        if let Some(found) = found {
            self.trace(now, agent, LineOperation::L2Victim, line, found, None);
            return;
        }
        if modified || self.core_path.clean_victims_to_llc {
            self.fill_llc(core, set, line, modified, LineOperation::L2Victim, now);
        } else {
            self.trace(now, agent, LineOperation::L2Victim, line, Found::Nowhere, None);
            self.forget_if_gone_from(at.socket, set, line);
        }
    }

    /// Allocates a core's line in the LLC within the core's CAT mask.
    pub(super) fn fill_llc(
        &mut self,
        core: CoreId,
        set: SetIndex,
        line: LineAddr,
        dirty: bool,
        why: LineOperation,
        now: Picos,
    ) -> u32 {
        let at = self.location(core);
        let info = LineInfo { owner: Owner::core(at.core), dirty, consumed: true };
        let mask = self.core_way_masks[core];
        let socket = &mut self.sockets[at.socket];
        let mask = socket.ways_for_core(set, mask);
        let (way, evicted) = socket.llc.allocate(set, line, info, mask);
        let pushed_out = evicted.as_ref().map(|evicted| (at.socket, evicted));
        let found = Found::LlcAllocated(way);
        self.trace(now, AgentId::of(core), why, line, found, pushed_out);
        if let Some(evicted) = evicted {
            self.evict(at.socket, AgentId::of(core), set, evicted, now);
        }
        way
    }

    /// A socket's LLC evicted a line for `evictor`: counts it, writes it back, and applies the
    /// inclusion policy to the cores that still hold it. Returns when memory has taken it, or `now` if
    /// it is not written back.
    pub(super) fn evict(
        &mut self,
        socket: SocketId,
        evictor: AgentId,
        set: SetIndex,
        evicted: Evicted,
        now: Picos,
    ) -> Picos {
        let Evicted { line, info, sharers } = evicted;
        let owner = self.agent_of(&self.sockets[socket], info.owner);
        self.evictions.add(evictor, owner, info.consumed);
        let dirty = if sharers.is_empty() {
            info.dirty
        } else {
            self.leave_to_sharers(socket, set, evicted, now)
        };
        let taken = if dirty {
            self.counters.llc_writebacks += 1;
            self.write_memory(socket, line, now)
        } else {
            now
        };
        if T::WATCHING {
            let found = if dirty { Found::Dram } else { Found::Nowhere };
            self.trace(now, evictor, LineOperation::LlcEviction, line, found, None);
        }
        self.forget_if_gone_from(socket, set, line);
        taken
    }

    /// Applies an LLC eviction to the cores that hold the line; returns whether it must be written
    /// back.
    #[inline(never)]
    fn leave_to_sharers(
        &mut self,
        socket: SocketId,
        set: SetIndex,
        evicted: Evicted,
        now: Picos,
    ) -> bool {
        let Evicted { line, info, sharers } = evicted;
        match self.inclusion().llc_victim() {
            LlcVictim::InvalidateCores => {
                info.dirty | self.sockets[socket].invalidate_cores(line, sharers)
            }
            LlcVictim::LeaveToCores => {
                // A core's modified copy is newer: it is written back when the core evicts it.
                let dirty = info.dirty && self.sockets[socket].modified_by(line, sharers).is_none();
                self.record_holders(socket, set, line, sharers, now);
                dirty
            }
        }
    }

    /// Updates the snoop filter; the victim of a new entry is invalidated in the cores.
    pub(super) fn record_holders(
        &mut self,
        socket: SocketId,
        set: SetIndex,
        line: LineAddr,
        holders: Sharers,
        now: Picos,
    ) {
        let Some(directory) = &mut self.sockets[socket].directory else { return };
        if let Some((victim, cores)) = directory.record(set, line, holders) {
            self.counters.directory_evictions += 1;
            let dirty = self.sockets[socket].invalidate_cores(victim, cores);
            let found =
                if dirty { self.write_back(socket, set, victim, now) } else { Found::Nowhere };
            if T::WATCHING {
                let first = cores.cores().next().unwrap_or_default();
                let holder = AgentId::of(self.sockets[socket].core_id(first));
                self.trace(now, holder, LineOperation::DirectoryEviction, victim, found, None);
            }
            self.forget_if_gone_from(socket, set, victim);
        }
    }

    /// Writes a core's modified line into the LLC if it hits there (independent levels only), so that
    /// no stale copy remains; to memory otherwise.
    fn write_back(&mut self, socket: SocketId, set: SetIndex, line: LineAddr, now: Picos) -> Found {
        let llc = &mut self.sockets[socket].llc;
        if let Some(way) = llc.find(set, line) {
            llc.mark_dirty(set, way);
            return Found::LlcHit(way);
        }
        self.write_memory(socket, line, now);
        Found::Dram
    }
}
