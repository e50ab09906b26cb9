//! Stores of the initialisation, which fill empty caches with hundreds of thousands of lines.
//!
//! Models: what [`Fabric::core_write`] models, for lines that no cache has, before time zero: memory takes
//! no time, and nothing is counted, since the start of the clock clears all counts.
//! Source: as in [`super::core_path`], [`super::fetch`] and [`super::victims`].
//!
//! Of the snoop filter only the ways in use and the state that chooses victims follow each fill; the lines
//! of L2 enter it at the end. While no set of the filter is full, nothing reads them. The first store that
//! is not plain ends this: the caller makes it, and those after it, one by one.

use super::Fabric;
use crate::attribution::Owner;
use crate::llc::inclusion::FetchMiss;
use crate::llc::{LineInfo, Sharers};
use crate::private_caches::{MesiState, Prefetch, PrefetchInFlight};
use crate::tracer::Tracer;
use units::narrow::usize_from;
use units::{CoreId, Id, LineAddr, SetIndex, SocketCore, SocketId, WayMask};

/// Lines whose data the host loads together.
const TOGETHER: usize = 16;
const SOCKET: SocketId = SocketId(0);

/// The lines of one core's L2 that the snoop filter does not have yet.
struct UnlistedFills {
    core: SocketCore,
    /// For each place in L2: the LLC set of its line, and the way that the line has in the snoop filter.
    fills: Vec<(SetIndex, u32)>,
    /// Ways in use of each set of the snoop filter.
    in_use: Vec<WayMask>,
    /// Whether the snoop filter has them all: an access was not plain, and no later one is.
    are_listed: bool,
}

impl UnlistedFills {
    /// A line of `set` has filled `place`; returns its way in the snoop filter, and the set of the line that
    /// was there before, if one `was_there`.
    #[inline]
    fn filled(&mut self, place: usize, set: SetIndex, was_there: bool) -> (u32, Option<SetIndex>) {
        let ways = &mut self.in_use[set.0 as usize];
        let way = ways.0.trailing_ones();
        ways.0 |= 1 << way;
        let (set_before, way_before) = std::mem::replace(&mut self.fills[place], (set, way));
        if was_there {
            self.in_use[set_before.0 as usize].0 &= !(1 << way_before);
        }
        (way, was_there.then_some(set_before))
    }
}

impl<T: Tracer> Fabric<T> {
    /// `core` stores to `lines` in order, before time zero, until one of them needs the general path. Returns
    /// the lines that were taken and not stored to.
    pub fn store_to_new_lines(
        &mut self,
        core: CoreId,
        lines: &mut impl Iterator<Item = LineAddr>,
    ) -> Vec<LineAddr> {
        let Some(mut unlisted) = self.unlisted_fills(core) else { return Vec::new() };
        let mut next = Vec::with_capacity(TOGETHER);
        loop {
            next.clear();
            next.extend(lines.take(TOGETHER));
            next.iter().for_each(|&line| self.load_sets_for_store(&unlisted, line));
            let stored =
                next.iter().take_while(|&&line| self.store_plainly(&mut unlisted, line)).count();
            if stored < TOGETHER {
                self.list_fills(&mut unlisted);
                return next.split_off(stored);
            }
        }
    }

    /// The fills of a core whose stores are plain: all caches are empty, of a socket without others, without
    /// a buffer beside the caches, and with a snoop filter that fills the lowest empty way.
    fn unlisted_fills(&self, core: CoreId) -> Option<UnlistedFills> {
        let socket = &self.sockets[SOCKET];
        socket.directory.as_ref().filter(|it| it.fills_lowest_way())?;
        let is_plain = !T::WATCHING
            && !self.buffered
            && self.sockets.len() == 1
            && !socket.inclusion.levels_are_independent()
            && socket.inclusion.fetch_miss() == FetchMiss::FillCoreOnly
            && socket.llc.occupancy_bytes().all(|bytes| bytes == 0)
            && socket.cores.iter().all(|core| core.l2.lines().next().is_none());
        let (core, sets) = (self.location(core).core, socket.llc.sets());
        is_plain.then(|| UnlistedFills {
            core,
            fills: vec![(SetIndex(0), 0); socket.cores[core].l2.places()],
            in_use: vec![WayMask(0); usize_from(sets)],
            are_listed: false,
        })
    }

    /// Loads the data of the host for a store: the sets of the line, and of the line that it evicts from L2.
    #[inline]
    fn load_sets_for_store(&mut self, unlisted: &UnlistedFills, line: LineAddr) {
        let socket = &self.sockets[SOCKET];
        let l2 = &socket.cores[unlisted.core].l2;
        if let Some(place) = l2.next_place(line) {
            socket.llc.prefetch_for_fill(unlisted.fills[place].0);
        }
        if self.recent_sets.find(line).is_none() {
            let pair = LineAddr(line.0 & !1);
            let mut sets = [SetIndex(0); 2];
            socket.llc.sets_of_run(pair, &mut sets);
            for (line, set) in [(pair, sets[0]), (pair.step(1), sets[1])] {
                socket.llc.prefetch(set);
                self.recent_sets.note(line, set);
            }
        }
    }

    /// Stores to a line; returns whether that was plain, before anything has changed if not.
    #[inline]
    fn store_plainly(&mut self, unlisted: &mut UnlistedFills, line: LineAddr) -> bool {
        let private = &mut self.sockets[SOCKET].cores[unlisted.core];
        if unlisted.are_listed || private.l1.state(line).is_some() {
            return false;
        }
        let is_hit = private.l2.access(line, false).is_some();
        if !is_hit && !self.fill_plainly(unlisted, line) {
            return false;
        }
        let private = &mut self.sockets[SOCKET].cores[unlisted.core];
        if let Some((victim, MesiState::Modified)) = private.l1.insert(line, MesiState::Modified) {
            private.l2.set_state(victim, MesiState::Modified);
        }
        if is_hit {
            let ahead = private.prefetcher.after_hit(line);
            ahead.for_each(|ahead| self.prefetch_plainly(unlisted, ahead));
        } else {
            let ahead = private.prefetcher.after_miss(line);
            ahead.for_each(|ahead| self.prefetch_plainly(unlisted, ahead));
        }
        true
    }

    /// Prefetches a line into L2, if it is not there.
    #[inline]
    fn prefetch_plainly(&mut self, unlisted: &mut UnlistedFills, ahead: Prefetch) {
        let Prefetch { line, delay } = ahead;
        if self.sockets[SOCKET].cores[unlisted.core].l2.state(line).is_some() {
            return;
        }
        if unlisted.are_listed || !self.fill_plainly(unlisted, line) {
            self.list_fills(unlisted);
            self.prefetch_into_l2(CoreId::at(unlisted.core.index()), line, delay);
            return;
        }
        let (begins, arrives) = (delay, delay);
        let prefetch = PrefetchInFlight { line, begins, arrives, from_memory: true };
        self.sockets[SOCKET].cores[unlisted.core].prefetcher.note(prefetch);
    }

    /// Fills a line into L2, whose victim moves to the LLC; returns whether that was plain, before anything
    /// has changed if not.
    #[inline]
    fn fill_plainly(&mut self, unlisted: &mut UnlistedFills, line: LineAddr) -> bool {
        let set = self.recent_set(SOCKET, line);
        let socket = &mut self.sockets[SOCKET];
        let Some(directory) = &mut socket.directory else { return false };
        let is_full = unlisted.in_use[set.0 as usize] == directory.ways();
        if is_full || socket.llc.find(set, line).is_some() {
            return false;
        }
        let private = &mut socket.cores[unlisted.core];
        let (place, victim) = private.l2.insert_at(line, MesiState::Exclusive);
        let (way, victim_set) = unlisted.filled(place, set, victim.is_some());
        directory.note_fill(set, way);
        let (Some(victim_set), Some((victim, state))) = (victim_set, victim) else { return true };
        let above = private.invalidate_l1(victim);
        let dirty = state.max(above.unwrap_or(state)) == MesiState::Modified;
        if dirty || self.core_path.clean_victims_to_llc {
            let info = LineInfo { owner: Owner::core(unlisted.core), dirty, consumed: true };
            let mask = self.core_way_masks[CoreId::at(unlisted.core.index())];
            // Of the line that the LLC evicts for it, only the counts would tell.
            socket.llc.allocate(victim_set, victim, info, mask);
        }
        true
    }

    /// Enters the lines of L2 into the snoop filter.
    fn list_fills(&mut self, unlisted: &mut UnlistedFills) {
        if std::mem::replace(&mut unlisted.are_listed, true) {
            return;
        }
        let socket = &mut self.sockets[SOCKET];
        let Some(directory) = &mut socket.directory else { return };
        let sharers = Sharers::of(unlisted.core);
        for (place, line) in socket.cores[unlisted.core].l2.places_in_use() {
            let (set, way) = unlisted.fills[place];
            directory.enter(set, way, line, sharers);
        }
    }
}
