//! A core fetches a line that its own caches lack or may not write: the source of the line, and the
//! effect on other copies.
//!
//! Models: MESI among the cores of a socket. The line comes from the LLC ([`super::fetch_hit`]), a
//! core, a root-complex buffer, another socket or memory; the inclusion policy decides whether the LLC
//! is filled too.
//! Source: Intel (MESI, non-inclusive victim LLC of Skylake-SP).
//! Simplifies: a line that another core has modified becomes Shared through the LLC or memory; there
//! is no Owned or Forward state.

use super::core_path::{AccessKind, AccessOutcome};
use super::{CoreLocation, Fabric};
use crate::attribution::{AgentId, Owner};
use crate::llc::inclusion::{FetchHit, FetchMiss, SharedContent};
use crate::llc::{LineInfo, Sharers};
use crate::private_caches::MesiState;
use crate::tracer::{Found, LineOperation, Tracer};
use units::{CoreId, LineAddr, Picos, SetIndex, SocketId};

impl<T: Tracer> Fabric<T> {
    /// Fetches `line` for `core` from the newest copy, and updates all other copies; returns the state
    /// in which the core may hold it.
    #[inline(always)]
    pub(super) fn fetch(
        &mut self,
        core: CoreId,
        line: LineAddr,
        want: AccessKind,
        now: Picos,
    ) -> (MesiState, AccessOutcome) {
        if self.buffered {
            self.fetch_beside_buffers(core, line, want, now)
        } else {
            self.fetch_from_caches(core, line, want, now)
        }
    }

    /// As [`Self::fetch`], where a root-complex buffer may have the line.
    fn fetch_beside_buffers(
        &mut self,
        core: CoreId,
        line: LineAddr,
        want: AccessKind,
        now: Picos,
    ) -> (MesiState, AccessOutcome) {
        if want == AccessKind::Store {
            if self.take_from_buffers(line, None) {
                return self.fetch_from_buffer(core, line, now);
            }
            return self.fetch_from_caches(core, line, want, now);
        }
        if !self.snoop_buffers(line, None, now) {
            return self.fetch_from_caches(core, line, want, now);
        }
        self.clean_in_llc(self.location(core).socket, line, now);
        let (_, served) = self.fetch_from_caches(core, line, want, now);
        (MesiState::Shared, served)
    }

    /// A core writes a line that a root-complex buffer holds modified: it takes over the only copy.
    fn fetch_from_buffer(
        &mut self,
        core: CoreId,
        line: LineAddr,
        now: Picos,
    ) -> (MesiState, AccessOutcome) {
        let at = self.location(core);
        let set = self.sockets[at.socket].llc.set_of(line);
        self.count_remote(at.socket, line);
        self.note_copy(at.socket, line);
        let found = Found::RootComplexBuffer;
        self.trace(now, AgentId::of(core), LineOperation::Store, line, found, None);
        self.settle(core, set, line, false, now);
        (MesiState::Modified, AccessOutcome { done: now + self.core_path.other_core, found })
    }

    /// Writes back a line that a root-complex buffer shares, so that no core receives it as modified.
    fn clean_in_llc(&mut self, socket: SocketId, line: LineAddr, now: Picos) {
        let llc = &self.sockets[socket].llc;
        let set = llc.set_of(line);
        if let Some(way) = llc.find(set, line)
            && llc.info(set, way).dirty
            && self.sockets[socket].on_fetch_hit(set, way) == FetchHit::MoveUp
        {
            self.sockets[socket].llc.mark_clean(set, way);
            self.write_memory(socket, line, now);
        }
    }

    #[inline(never)]
    fn fetch_from_caches(
        &mut self,
        core: CoreId,
        line: LineAddr,
        want: AccessKind,
        now: Picos,
    ) -> (MesiState, AccessOutcome) {
        let at = self.location(core);
        let set = self.recent_set(at.socket, line);
        let socket = &self.sockets[at.socket];
        let (state, found) = if let Some(way) = socket.llc.find(set, line) {
            self.fetch_from_llc(core, set, way, line, want, now)
        } else {
            let holders = socket.other_holders(at.core, set, line);
            if holders.is_empty() {
                return self.fetch_from_beyond(core, set, line, want, now);
            }
            self.fetch_from_core(core, set, line, holders, want, now)
        };
        let done = match found {
            Found::OtherCore(_) => now + self.core_path.other_core,
            _ => now + self.llc_latency(at, set),
        };
        self.trace(now, AgentId::of(core), want.operation(), line, found, None);
        (state, AccessOutcome { done, found })
    }

    #[inline]
    fn llc_latency(&self, at: CoreLocation, set: SetIndex) -> Picos {
        let slice = self.sockets[at.socket].llc.slice_of_set(set);
        self.core_path.llc.get(at.core, slice)
    }

    /// Fetches a line that only other cores of the socket hold.
    fn fetch_from_core(
        &mut self,
        core: CoreId,
        set: SetIndex,
        line: LineAddr,
        holders: Sharers,
        want: AccessKind,
        now: Picos,
    ) -> (MesiState, Found) {
        let at = self.location(core);
        let socket = &mut self.sockets[at.socket];
        let from = socket.found_in(holders.cores().next().unwrap_or_default());
        if want == AccessKind::Store {
            let modified = socket.invalidate_cores(line, holders);
            self.record_holders(at.socket, set, line, Sharers::of(at.core), now);
            self.claim(at.socket, line, true, now);
            return (if modified { MesiState::Modified } else { MesiState::Exclusive }, from);
        }
        let holders_now = holders.with(at.core);
        if !socket.downgrade_cores(line, holders) {
            self.record_holders(at.socket, set, line, holders_now, now);
            return (MesiState::Shared, from);
        }
        match socket.inclusion.shared_content() {
            SharedContent::Memory => {
                self.record_holders(at.socket, set, line, holders_now, now);
                self.write_memory(at.socket, line, now);
            }
            SharedContent::UntrackedWay => {
                self.record_holders(at.socket, set, line, holders_now, now);
                self.fill_llc(core, set, line, true, LineOperation::LlcFill, now);
            }
            SharedContent::TrackedWay => {
                if let Some(directory) = &mut socket.directory {
                    directory.record(set, line, Sharers::NONE);
                }
                let info = LineInfo { owner: Owner::core(at.core), dirty: true, consumed: true };
                let mask = socket.ways_for_core(set, socket.llc.tracked_mask());
                let (way, evicted) = socket.llc.allocate(set, line, info, mask);
                if let Some(evicted) = evicted {
                    self.evict(at.socket, AgentId::of(core), set, evicted, now);
                }
                self.sockets[at.socket].llc.set_sharers(set, way, holders_now);
            }
        }
        (MesiState::Shared, from)
    }

    /// Fetches a line that no other cache of the socket holds.
    fn fetch_from_beyond(
        &mut self,
        core: CoreId,
        set: SetIndex,
        line: LineAddr,
        want: AccessKind,
        now: Picos,
    ) -> (MesiState, AccessOutcome) {
        let at = self.location(core);
        let write = want == AccessKind::Store;
        // A core that writes a line of which it holds the only copy needs no data.
        let held = may_hold(want) && self.sockets[at.socket].holds_untracked(at.core, set, line);
        let (state, served) = if held {
            let state = self.claim(at.socket, line, write, now);
            let done = now + self.llc_latency(at, set);
            (state, AccessOutcome { done, found: Found::Upgraded })
        } else {
            self.fetch_from_other_sockets(at.socket, line, write, now)
        };
        self.trace(now, AgentId::of(core), want.operation(), line, served.found, None);
        self.settle(core, set, line, held, now);
        (state, served)
    }

    /// Records that a core has a line which was in no cache of its socket, unless that core `held` it.
    pub(super) fn settle(
        &mut self,
        core: CoreId,
        set: SetIndex,
        line: LineAddr,
        held: bool,
        now: Picos,
    ) {
        let at = self.location(core);
        let sharers = Sharers::of(at.core);
        match self.inclusion().fetch_miss() {
            FetchMiss::FillTracked => {
                let way = self.fill_llc(core, set, line, false, LineOperation::LlcFill, now);
                self.sockets[at.socket].llc.set_sharers(set, way, sharers);
            }
            FetchMiss::FillUntracked => {
                self.record_holders(at.socket, set, line, sharers, now);
                if !held {
                    self.fill_llc(core, set, line, false, LineOperation::LlcFill, now);
                }
            }
            FetchMiss::FillCoreOnly => {
                self.record_holders(at.socket, set, line, sharers, now);
            }
        }
    }
}

/// Whether a core that missed may still hold the line: as Shared if it stores, or in L1D if it fetches
/// an instruction.
#[inline]
fn may_hold(want: AccessKind) -> bool {
    matches!(want, AccessKind::Store | AccessKind::Fetch)
}
