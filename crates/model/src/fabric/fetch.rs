//! A line that a core's own caches lack, or may not write: who gives it, and what that means for the
//! others.
//!
//! Models: MESI among the cores of a socket, and what becomes of a line in the LLC when a core takes
//! it, under each inclusion policy: it stays (inclusive, independent levels), moves up (victim
//! caches), or migrates into an inclusive way if a device wrote it (non-inclusive).
//! Source: Intel (non-inclusive victim LLC of Skylake-SP); A4 (ISCA'25) for the migration.
//! Simplifies: a line that another core has modified becomes Shared through the LLC or memory; there
//! is no Owned or Forward state.

use super::core_path::{Served, Want};
use super::{Fabric, Place};
use crate::attribution::{AgentId, Owner};
use crate::core::private_cache::State;
use crate::llc::{Inclusion, LineInfo, Sharers};
use crate::tracer::{Found, Operation, Tracer};
use units::{LineAddr, Picos, SetIndex};

impl<T: Tracer> Fabric<T> {
    /// Gets `line` for `core` from whoever has it, with all that follows for the others; returns
    /// the state that the core may hold it in.
    #[inline]
    pub(super) fn fetch(
        &mut self,
        core: u8,
        line: LineAddr,
        want: Want,
        now: Picos,
    ) -> (State, Served) {
        if !self.buffered {
            return self.fetch_from_caches(core, line, want, now);
        }
        let most = self.snoop_buffers_for_core(line, want == Want::Store, now);
        if most == State::Shared {
            self.clean_in_llc(self.place(core).socket, line, now);
        }
        let (state, served) = self.fetch_from_caches(core, line, want, now);
        (if most == State::Shared { State::Shared } else { state }, served)
    }

    /// A line that a root-complex buffer shares may not move up into a core as modified.
    fn clean_in_llc(&mut self, socket: usize, line: LineAddr, now: Picos) {
        let llc = &self.sockets[socket].llc;
        let set = llc.set_of(line);
        if let Some(way) = llc.find(set, line)
            && llc.info(set, way).dirty
            && self.sockets[socket].gives_up(set, way)
        {
            self.sockets[socket].llc.mark_clean(set, way);
            self.memory.write(socket, line, now);
        }
    }

    fn fetch_from_caches(
        &mut self,
        core: u8,
        line: LineAddr,
        want: Want,
        now: Picos,
    ) -> (State, Served) {
        let place = self.place(core);
        let socket = &self.sockets[place.socket];
        let set = socket.llc.set_of(line);
        let (state, found) = if let Some(way) = socket.llc.find(set, line) {
            self.fetch_from_llc(core, set, way, line, want, now)
        } else {
            let holders = socket.other_holders(place.local, set, line);
            if holders.is_empty() {
                return self.fetch_from_beyond(core, set, line, want, now);
            }
            self.fetch_from_core(core, set, line, holders, want, now)
        };
        let done = match found {
            Found::OtherCore(_) => now + self.core_path.other_core,
            _ => now + self.llc_latency(place, set),
        };
        self.trace(now, AgentId(core), want.operation(), line, found, None);
        (state, Served { done, found })
    }

    #[inline]
    fn llc_latency(&self, place: Place, set: SetIndex) -> Picos {
        let slice = self.sockets[place.socket].llc.slice_of_set(set);
        self.core_path.llc.of(place.local, slice)
    }

    fn fetch_from_llc(
        &mut self,
        core: u8,
        set: SetIndex,
        way: u32,
        line: LineAddr,
        want: Want,
        now: Picos,
    ) -> (State, Found) {
        let place = self.place(core);
        let socket = &mut self.sockets[place.socket];
        let info = LineInfo { consumed: true, ..socket.llc.info(set, way) };
        let moves_up = socket.gives_up(set, way);
        if moves_up {
            socket.llc.take(set, way);
            let state = if info.dirty {
                State::Modified
            } else {
                self.claim(place.socket, line, want == Want::Store, now)
            };
            self.record_holders(place.socket, set, line, Sharers::of(place.local), now);
            return (state, Found::LlcHit(way));
        }
        if socket.inclusion == Inclusion::Nine {
            return self.copy_from_llc(core, set, way, line, want, now);
        }
        let holders = socket.llc.sharers(set, way).without(place.local);
        let way = self.migrate(core, set, way, line, info, now);
        let socket = &mut self.sockets[place.socket];
        if want == Want::Store {
            socket.invalidate_cores(line, holders);
            socket.llc.set_sharers(set, way, Sharers::of(place.local));
            self.claim(place.socket, line, true, now);
            return (State::Exclusive, Found::LlcHit(way));
        }
        if socket.downgrade_cores(line, holders) {
            socket.llc.update(set, way, LineInfo { dirty: true, ..info });
        }
        socket.llc.set_sharers(set, way, holders.with(place.local));
        let alone = holders.is_empty();
        let state = if alone { self.claim(place.socket, line, false, now) } else { State::Shared };
        (state, Found::LlcHit(way))
    }

    /// Independent levels: the LLC keeps its line, the core gets a copy.
    fn copy_from_llc(
        &mut self,
        core: u8,
        set: SetIndex,
        way: u32,
        line: LineAddr,
        want: Want,
        now: Picos,
    ) -> (State, Found) {
        let place = self.place(core);
        let socket = &mut self.sockets[place.socket];
        let info = LineInfo { consumed: true, ..socket.llc.info(set, way) };
        socket.llc.update(set, way, info);
        let holders = socket.other_holders(place.local, set, line);
        let modified = if want == Want::Store {
            socket.invalidate_cores(line, holders)
        } else {
            socket.downgrade_cores(line, holders)
        };
        if modified {
            socket.llc.mark_dirty(set, way);
        }
        let alone = holders.is_empty() || want == Want::Store;
        let left = if want == Want::Store { Sharers::NONE } else { holders };
        self.record_holders(place.socket, set, line, left.with(place.local), now);
        let state = if alone {
            self.claim(place.socket, line, want == Want::Store, now)
        } else {
            State::Shared
        };
        (state, Found::LlcHit(way))
    }

    /// Moves a line that is now held by a core too into an inclusive way; returns its way.
    fn migrate(
        &mut self,
        core: u8,
        set: SetIndex,
        way: u32,
        line: LineAddr,
        info: LineInfo,
        now: Picos,
    ) -> u32 {
        let socket = self.place(core).socket;
        let llc = &mut self.sockets[socket].llc;
        if llc.is_tracked_way(way) {
            llc.update(set, way, info);
            return way;
        }
        llc.take(set, way);
        let (new_way, evicted) = llc.allocate(set, line, info, llc.tracked_mask());
        if let Some(evicted) = evicted {
            self.evict(socket, AgentId(core), set, evicted, now);
        }
        new_way
    }

    /// Gets a line that only other cores of the socket hold.
    fn fetch_from_core(
        &mut self,
        core: u8,
        set: SetIndex,
        line: LineAddr,
        holders: Sharers,
        want: Want,
        now: Picos,
    ) -> (State, Found) {
        let place = self.place(core);
        let socket = &mut self.sockets[place.socket];
        let first = socket.first_core as u8 + holders.cores().next().unwrap_or_default();
        let from = Found::OtherCore(first);
        if want == Want::Store {
            let modified = socket.invalidate_cores(line, holders);
            self.record_holders(place.socket, set, line, Sharers::of(place.local), now);
            self.claim(place.socket, line, true, now);
            return (if modified { State::Modified } else { State::Exclusive }, from);
        }
        let holders_now = holders.with(place.local);
        if !socket.downgrade_cores(line, holders) {
            self.record_holders(place.socket, set, line, holders_now, now);
            return (State::Shared, from);
        }
        // The newest content has to live somewhere that may be shared.
        match socket.inclusion {
            Inclusion::ExclusiveVictim => {
                self.record_holders(place.socket, set, line, holders_now, now);
                self.memory.write(place.socket, line, now);
            }
            Inclusion::Nine => {
                self.record_holders(place.socket, set, line, holders_now, now);
                self.place_in_llc(core, set, line, true, Operation::LlcFill, now);
            }
            Inclusion::Inclusive | Inclusion::NonInclusive { .. } => {
                if let Some(directory) = &mut socket.directory {
                    directory.record(set, line, Sharers::NONE);
                }
                let info = LineInfo { owner: Owner(place.local), dirty: true, consumed: true };
                let mask = socket.llc.tracked_mask();
                let (way, evicted) = socket.llc.allocate(set, line, info, mask);
                if let Some(evicted) = evicted {
                    self.evict(place.socket, AgentId(core), set, evicted, now);
                }
                self.sockets[place.socket].llc.set_sharers(set, way, holders_now);
            }
        }
        (State::Shared, from)
    }

    /// Whether a core that has missed may yet hold the line: as Shared when it stores, or in the
    /// other of its two first levels.
    #[inline]
    fn may_hold(&mut self, core: u8, want: Want) -> bool {
        want == Want::Store || self.private(core).l1i.is_some()
    }

    /// Gets a line that no other cache of the socket holds.
    fn fetch_from_beyond(
        &mut self,
        core: u8,
        set: SetIndex,
        line: LineAddr,
        want: Want,
        now: Picos,
    ) -> (State, Served) {
        let place = self.place(core);
        let write = want == Want::Store;
        // A core that writes a line it alone still holds needs no data.
        let held = self.may_hold(core, want) && self.private(core).state(line).is_some();
        let (state, served) = if held {
            let state = self.claim(place.socket, line, write, now);
            let done = now + self.llc_latency(place, set);
            (state, Served { done, found: Found::Upgraded })
        } else {
            self.fetch_from_other_sockets(place.socket, line, write, now)
        };
        self.trace(now, AgentId(core), want.operation(), line, served.found, None);
        match self.inclusion() {
            Inclusion::Inclusive => {
                let way = self.place_in_llc(core, set, line, false, Operation::LlcFill, now);
                let sharers = Sharers::of(place.local);
                self.sockets[place.socket].llc.set_sharers(set, way, sharers);
            }
            Inclusion::Nine => {
                self.record_holders(place.socket, set, line, Sharers::of(place.local), now);
                if !held {
                    self.place_in_llc(core, set, line, false, Operation::LlcFill, now);
                }
            }
            Inclusion::NonInclusive { .. } | Inclusion::ExclusiveVictim => {
                self.record_holders(place.socket, set, line, Sharers::of(place.local), now);
            }
        }
        (state, served)
    }
}
