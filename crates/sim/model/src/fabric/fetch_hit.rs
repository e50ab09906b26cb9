//! A core fetches a line that hits the LLC of its socket: the effect on the LLC and other cores.
//!
//! Models: a line moves up (victim caches), stays with its holders listed (inclusive ways, into which a
//! device's line migrates), or is copied (independent levels); [`Inclusion::fetch_hit`] decides.
//! Source: Intel (non-inclusive victim LLC of Skylake-SP); A4 (ISCA'25) for the migration.
//! Simplifies: see [`super::fetch`].
//!
//! [`Inclusion::fetch_hit`]: crate::llc::Inclusion::fetch_hit

use super::Fabric;
use super::core_path::AccessKind;
use crate::attribution::AgentId;
use crate::llc::inclusion::FetchHit;
use crate::llc::{LineInfo, Sharers};
use crate::private_caches::MesiState;
use crate::tracer::{Found, Tracer};
use units::{CoreId, LineAddr, Picos, SetIndex};

impl<T: Tracer> Fabric<T> {
    /// Fetches a line from the LLC for a core.
    #[inline]
    pub(super) fn fetch_from_llc(
        &mut self,
        core: CoreId,
        set: SetIndex,
        way: u32,
        line: LineAddr,
        want: AccessKind,
        now: Picos,
    ) -> (MesiState, Found) {
        let socket = self.location(core).socket;
        match self.sockets[socket].on_fetch_hit(set, way) {
            FetchHit::MoveUp => self.move_up(core, set, way, line, want, now),
            FetchHit::Track => self.share_tracked(core, set, way, line, want, now),
            FetchHit::Copy => self.copy_from_llc(core, set, way, line, want, now),
        }
    }

    /// The LLC passes its line on to the core and keeps no copy.
    fn move_up(
        &mut self,
        core: CoreId,
        set: SetIndex,
        way: u32,
        line: LineAddr,
        want: AccessKind,
        now: Picos,
    ) -> (MesiState, Found) {
        let at = self.location(core);
        let llc = &mut self.sockets[at.socket].llc;
        let dirty = llc.info(set, way).dirty;
        llc.take(set, way);
        let state = if dirty {
            MesiState::Modified
        } else {
            self.claim(at.socket, line, want == AccessKind::Store, now)
        };
        self.record_holders(at.socket, set, line, Sharers::of(at.core), now);
        (state, Found::LlcHit(way))
    }

    /// The LLC keeps its line in a tracked way, which lists the core as a holder.
    fn share_tracked(
        &mut self,
        core: CoreId,
        set: SetIndex,
        way: u32,
        line: LineAddr,
        want: AccessKind,
        now: Picos,
    ) -> (MesiState, Found) {
        let at = self.location(core);
        let socket = &mut self.sockets[at.socket];
        let info = LineInfo { consumed: true, ..socket.llc.info(set, way) };
        let holders = socket.llc.sharers(set, way).without(at.core);
        let modified_by = socket.modified_by(line, holders);
        let way = self.migrate(core, set, way, line, info, now);
        let socket = &mut self.sockets[at.socket];
        let found = socket.found_in_llc(way, modified_by);
        if want == AccessKind::Store {
            socket.invalidate_cores(line, holders);
            socket.llc.set_sharers(set, way, Sharers::of(at.core));
            self.claim(at.socket, line, true, now);
            return (MesiState::Exclusive, found);
        }
        if socket.downgrade_cores(line, holders) {
            socket.llc.update(set, way, LineInfo { dirty: true, ..info });
        }
        socket.llc.set_sharers(set, way, holders.with(at.core));
        let alone = holders.is_empty();
        let state = if alone { self.claim(at.socket, line, false, now) } else { MesiState::Shared };
        (state, found)
    }

    /// The LLC keeps its line in its way, and the core gets a copy (independent levels).
    fn copy_from_llc(
        &mut self,
        core: CoreId,
        set: SetIndex,
        way: u32,
        line: LineAddr,
        want: AccessKind,
        now: Picos,
    ) -> (MesiState, Found) {
        let at = self.location(core);
        let socket = &mut self.sockets[at.socket];
        let info = LineInfo { consumed: true, ..socket.llc.info(set, way) };
        socket.llc.update(set, way, info);
        let holders = socket.other_holders(at.core, set, line);
        let found = socket.found_in_llc(way, socket.modified_by(line, holders));
        let modified = if want == AccessKind::Store {
            socket.invalidate_cores(line, holders)
        } else {
            socket.downgrade_cores(line, holders)
        };
        if modified {
            socket.llc.mark_dirty(set, way);
        }
        let alone = holders.is_empty() || want == AccessKind::Store;
        let left = if want == AccessKind::Store { Sharers::NONE } else { holders };
        self.record_holders(at.socket, set, line, left.with(at.core), now);
        let state = if alone {
            self.claim(at.socket, line, want == AccessKind::Store, now)
        } else {
            MesiState::Shared
        };
        (state, found)
    }

    /// Moves a line that a core now holds into an inclusive way; returns that way.
    fn migrate(
        &mut self,
        core: CoreId,
        set: SetIndex,
        way: u32,
        line: LineAddr,
        info: LineInfo,
        now: Picos,
    ) -> u32 {
        let socket = self.location(core).socket;
        let llc = &mut self.sockets[socket].llc;
        if llc.is_tracked_way(way) {
            llc.update(set, way, info);
            return way;
        }
        llc.take(set, way);
        let part = &mut self.sockets[socket];
        let ways = part.ways_for_core(set, part.llc.tracked_mask());
        let (new_way, evicted) = part.llc.allocate(set, line, info, ways);
        if let Some(evicted) = evicted {
            self.evict(socket, AgentId::of(core), set, evicted, now);
        }
        new_way
    }
}
