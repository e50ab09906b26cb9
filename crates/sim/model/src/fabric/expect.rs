//! Look-ahead for the host: agents announce the lines that they will access.
//!
//! Models: no hardware; the simulated machine does not change. The sets of announced lines are hashed
//! once, and the host prefetches their tags before the look-up.
//! Simplifies: a line that was not announced is hashed at its access.

use super::{CoreLocation, DmaDirection, Fabric};
use crate::private_caches::FillEffect;
use crate::tracer::Tracer;
use units::narrow::usize_from;
use units::{CoreId, LINE_BYTES, LineAddr, RootPortId, SetIndex, SocketId};

/// Most lines of an announced burst: sets of further lines are computed at their access.
const EXPECTED_LINES: usize = 32;

/// Neighbouring lines whose sets are computed and being loaded into the host's cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    first: LineAddr,
    lines: usize,
    sets: [SetIndex; EXPECTED_LINES],
}

impl Expected {
    pub const NOTHING: Self =
        Self { first: LineAddr(0), lines: 0, sets: [SetIndex(0); EXPECTED_LINES] };

    /// The sets of `lines` lines from `first` on, if all of them were announced.
    #[inline]
    pub fn sets_of(&self, first: LineAddr, lines: usize) -> Option<&[SetIndex]> {
        let offset = usize_from(first.0.checked_sub(self.first.0)?);
        self.sets[..self.lines].get(offset..offset.checked_add(lines)?)
    }
}

impl<T: Tracer> Fabric<T> {
    /// Announces that software on `core` will access `line`. Prefetches the simulator's data for it,
    /// for the line that L2's prefetcher fetches with it, and for their L2 victims into the host's
    /// cache. The simulated machine does not change.
    #[inline]
    pub fn expect(&mut self, core: CoreId, line: LineAddr) {
        let at = self.location(core);
        let private = &self.sockets[at.socket].cores[at.core];
        let pair = private.prefetcher.pair_of(line);
        if self.expect_fill(at, line)
            && let Some(pair) = pair
        {
            self.expect_fill(at, pair);
        }
    }

    /// As [`Self::expect`], for a line that is accessed now without an announcement: the data of later
    /// steps is loaded while the line itself is.
    #[inline]
    pub(super) fn expect_unexpected(&mut self, core: CoreId, line: LineAddr) {
        if self.recent_sets.find(line).is_none() {
            self.expect(core, line);
        }
    }

    /// Prefetches the data for a fill of a core's L2; returns whether there will be a fill.
    #[inline]
    pub(super) fn expect_fill(&mut self, at: CoreLocation, line: LineAddr) -> bool {
        let l2 = &self.sockets[at.socket].cores[at.core].l2;
        let FillEffect::Fills { victim } = l2.fill_effect(line) else { return false };
        self.recent_set(at.socket, line);
        if let Some(victim) = victim {
            self.recent_set(at.socket, victim);
        }
        true
    }

    /// The set of a line that a core accesses or evicts. If it is not remembered, the host prefetches
    /// it.
    #[inline]
    pub(super) fn recent_set(&mut self, socket: SocketId, line: LineAddr) -> SetIndex {
        self.recent_sets.find(line).unwrap_or_else(|| self.find_set(socket, line))
    }

    /// As [`Self::recent_set`], for a line that is not remembered.
    #[inline(never)]
    pub(super) fn find_set(&mut self, socket: SocketId, line: LineAddr) -> SetIndex {
        let socket = &self.sockets[socket];
        let set = socket.llc.set_of(line);
        socket.prefetch(set);
        self.recent_sets.note(line, set);
        set
    }

    /// The device at `port` will write or read `bytes` from `first` on: as [`Self::expect`].
    #[inline]
    pub fn expect_dma(
        &mut self,
        port: RootPortId,
        direction: DmaDirection,
        first: LineAddr,
        bytes: u64,
    ) {
        let part = &mut self.ports[port];
        let socket = &self.sockets[part.socket];
        let expected = &mut part.expected[direction as usize];
        expected.first = first;
        expected.lines = usize_from(bytes.div_ceil(LINE_BYTES)).min(EXPECTED_LINES);
        let sets = &mut expected.sets[..expected.lines];
        socket.llc.sets_of_run(first, sets);
        for &set in &*sets {
            socket.prefetch_for_device(set);
        }
    }
}
