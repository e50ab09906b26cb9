//! The path of a core's access: L1D, L2, LLC, then another core, another socket, or memory.
//!
//! Models: loads, stores, prefetches and instruction fetches of cores, and cache line flushes.
//! Source: Intel optimization manual; A4 (ISCA'25) for what happens in the LLC.
//! Simplifies: L1D is included in L2 (DEVIATIONS.md, 4) unless levels are independent.

use super::{CoreLocation, Fabric};
use crate::attribution::AgentId;
use crate::llc::inclusion::L1Victim;
use crate::llc::{Inclusion, LlcLatency};
use crate::private_caches::{MesiState, PrefetchInFlight, PrivateCaches};
use crate::tracer::{Found, LineOperation, Tracer};
use units::{CoreId, LineAddr, Picos, SocketCore, SocketId};

/// Latencies and policies of cores' accesses.
#[derive(Clone, Debug)]
pub struct CorePathConfig {
    /// Load-to-use latency of L1D.
    pub l1: Picos,
    /// Load-to-use latency of L2.
    pub l2: Picos,
    /// Load-to-use latency of the LLC, by core and slice.
    pub llc: LlcLatency,
    /// Load-to-use latency of a line that another core holds modified.
    pub other_core: Picos,
    /// Load-to-use latency of a line that a core of another socket holds modified.
    pub other_socket: Picos,
    /// Whether L2 victims that are not newer than memory are allocated in the LLC too.
    pub clean_victims_to_llc: bool,
}

impl CorePathConfig {
    /// Additional latency of a line from another core, compared with the LLC.
    #[must_use]
    pub fn snoop_extra(&self) -> Picos {
        self.other_core.saturating_sub(self.llc.mean())
    }
}

/// When an access completes, and the level that served it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessOutcome {
    /// Time at which the data arrives, or the line may be written.
    pub done: Picos,
    /// The cache or memory that served it.
    pub found: Found,
}

/// Kind of access to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessKind {
    Load,
    Store,
    Prefetch,
    Fetch,
}

impl AccessKind {
    pub(super) fn operation(self) -> LineOperation {
        match self {
            Self::Load => LineOperation::Load,
            Self::Store => LineOperation::Store,
            Self::Prefetch => LineOperation::Prefetch,
            Self::Fetch => LineOperation::Fetch,
        }
    }
}

impl<T: Tracer> Fabric<T> {
    /// `core` loads `line`: a demand load.
    #[inline]
    pub fn core_read(&mut self, core: CoreId, line: LineAddr, now: Picos) -> AccessOutcome {
        self.access(core, line, AccessKind::Load, now)
    }

    /// A demand store: the line is read for ownership if the core may not write it yet.
    #[inline]
    pub fn core_write(&mut self, core: CoreId, line: LineAddr, now: Picos) -> AccessOutcome {
        self.access(core, line, AccessKind::Store, now)
    }

    /// A software prefetch into L1D.
    #[inline]
    pub fn core_prefetch(&mut self, core: CoreId, line: LineAddr, now: Picos) -> AccessOutcome {
        self.access(core, line, AccessKind::Prefetch, now)
    }

    /// An instruction fetch, on a machine with an L1I.
    ///
    /// # Panics
    /// If the machine has none: check [`Self::fetches_instructions`] first.
    pub fn core_fetch(&mut self, core: CoreId, line: LineAddr, now: Picos) -> AccessOutcome {
        self.count_line_ops(1);
        let private = self.private(core);
        private.counters.fetches += 1;
        let l1i = private.l1i.as_mut().expect("the machine has an L1I");
        if l1i.access(line, false).is_some() {
            self.trace(now, AgentId::of(core), LineOperation::Fetch, line, Found::L1, None);
            let done = now + self.core_path.l1;
            self.tracer.operation_ends(AgentId::of(core), line, done);
            return AccessOutcome { done, found: Found::L1 };
        }
        private.counters.fetch_misses += 1;
        let (state, served) = self.beyond_l1(core, line, AccessKind::Fetch, now);
        self.tracer.operation_ends(AgentId::of(core), line, served.done);
        if let Some(l1i) = &mut self.private(core).l1i
            && let Some((victim, _)) = l1i.fill(line, state.min(MesiState::Exclusive))
            && self.inclusion().l1_victim(false) == L1Victim::DropLast
        {
            self.leave_core(core, victim, now);
        }
        served
    }

    /// Whether cores have an L1I.
    #[must_use]
    pub fn fetches_instructions(&self) -> bool {
        self.sockets[SocketId(0)].cores.first().is_some_and(|core| core.l1i.is_some())
    }

    #[inline]
    fn access(
        &mut self,
        core: CoreId,
        line: LineAddr,
        want: AccessKind,
        now: Picos,
    ) -> AccessOutcome {
        self.count_line_ops(1);
        let write = want == AccessKind::Store;
        let private = self.private(core);
        if want != AccessKind::Prefetch {
            private.counters.accesses += 1;
        }
        let held = private.l1.access(line, write);
        if held.is_some_and(|state| !write || state != MesiState::Shared) {
            self.trace(now, AgentId::of(core), want.operation(), line, Found::L1, None);
            let done = now + self.core_path.l1;
            self.tracer.operation_ends(AgentId::of(core), line, done);
            return AccessOutcome { done, found: Found::L1 };
        }
        if want != AccessKind::Prefetch {
            private.counters.l1_misses += 1;
        }
        let (state, served) = self.beyond_l1(core, line, want, now);
        self.tracer.operation_ends(AgentId::of(core), line, served.done);
        // A line that L1D only reads is not newer than L2's copy, even if that is modified.
        let unwritten = state.min(MesiState::Exclusive);
        let state = if write { MesiState::Modified } else { unwritten };
        self.fill_l1(core, line, state, held.is_some(), now);
        self.prefetch_after(core, line, served.found, now);
        served
    }

    /// Fetches a line into L2 if it misses; returns the state in which L1 may hold it.
    #[inline]
    fn beyond_l1(
        &mut self,
        core: CoreId,
        line: LineAddr,
        want: AccessKind,
        now: Picos,
    ) -> (MesiState, AccessOutcome) {
        let held = self.private(core).l2.access(line, false);
        let enough = |state: &MesiState| want != AccessKind::Store || *state != MesiState::Shared;
        if let Some(state) = held.filter(enough) {
            self.trace(now, AgentId::of(core), want.operation(), line, Found::L2, None);
            let done = now + self.core_path.l2;
            let done = self.await_prefetch(core, line, want, now).map_or(done, |at| at.max(done));
            return (state, AccessOutcome { done, found: Found::L2 });
        }
        self.expect_unexpected(core, line);
        let (state, served) = self.fetch(core, line, want, now);
        let counters = &mut self.private(core).counters;
        let from_memory = served.found.is_memory();
        if want == AccessKind::Prefetch {
            counters.llc_prefetch_misses += u64::from(from_memory);
        } else {
            counters.l2_misses += 1;
            counters.l2_load_misses += u64::from(want == AccessKind::Load);
            counters.llc_misses += u64::from(from_memory);
            counters.llc_load_misses += u64::from(from_memory && want == AccessKind::Load);
        }
        self.fill_l2(core, line, state, held.is_some(), now);
        // The victim of the fill does not evict the line from the core: it frees the entry in the snoop
        // filter that an LLC victim of the fill may need.
        debug_assert!(self.private(core).l2.state(line).is_some());
        (state, served)
    }

    /// When a line of L2 with a prefetch under way arrives. A demand access meanwhile counts as an L2
    /// miss. It counts as an LLC miss only if the prefetch has not begun yet, so that the demand
    /// request goes first; otherwise the prefetch's look-up counts there.
    #[inline]
    fn await_prefetch(
        &mut self,
        core: CoreId,
        line: LineAddr,
        want: AccessKind,
        now: Picos,
    ) -> Option<Picos> {
        let private = self.private(core);
        let prefetch = private.prefetcher.under_way(line, now)?;
        let goes_first = now < prefetch.begins;
        if want != AccessKind::Prefetch {
            let is_load = want == AccessKind::Load;
            let missed_llc = goes_first && prefetch.from_memory;
            private.counters.l2_misses += 1;
            private.counters.l2_load_misses += u64::from(is_load);
            private.counters.llc_misses += u64::from(missed_llc);
            private.counters.llc_load_misses += u64::from(missed_llc && is_load);
        }
        let earlier = prefetch.begins.saturating_sub(now);
        Some(prefetch.arrives.saturating_sub(earlier))
    }

    /// Issues the L2 prefetches after an access that missed L1D: into L2 only; no access waits for
    /// them.
    #[inline]
    fn prefetch_after(&mut self, core: CoreId, line: LineAddr, found: Found, now: Picos) {
        let prefetcher = &mut self.private(core).prefetcher;
        if found == Found::L2 {
            for ahead in prefetcher.after_hit(line) {
                self.prefetch_into_l2(core, ahead.line, now + ahead.delay);
            }
        } else {
            for ahead in prefetcher.after_miss(line) {
                self.prefetch_into_l2(core, ahead.line, now + ahead.delay);
            }
        }
    }

    pub(super) fn prefetch_into_l2(&mut self, core: CoreId, line: LineAddr, now: Picos) {
        let private = self.private(core);
        if private.l2.state(line).is_some() {
            return;
        }
        // A line that only L1D holds is not prefetched.
        let may_be_in_l1 = self.inclusion().levels_are_independent();
        if may_be_in_l1 && self.private(core).state(line).is_some() {
            return;
        }
        let (state, served) = self.fetch(core, line, AccessKind::Prefetch, now);
        self.tracer.operation_ends(AgentId::of(core), line, served.done);
        let from_memory = served.found.is_memory();
        let private = self.private(core);
        private.counters.llc_prefetch_misses += u64::from(from_memory);
        private.counters.l2_prefetcher_misses += u64::from(from_memory);
        private.prefetcher.note(PrefetchInFlight {
            line,
            begins: now,
            arrives: served.done,
            from_memory,
        });
        self.fill_l2(core, line, state, false, now);
    }

    /// As the fetch of a store, for a write-back into L2 that misses.
    pub(super) fn fetch_for_store(
        &mut self,
        core: CoreId,
        line: LineAddr,
        now: Picos,
    ) -> (MesiState, AccessOutcome) {
        self.fetch(core, line, AccessKind::Store, now)
    }

    /// Flushes a line from every cache and buffer of the machine (CLFLUSH) and writes it back if it is
    /// newer than memory. Returns when memory has taken the write.
    pub fn flush(&mut self, line: LineAddr, now: Picos) -> Picos {
        let in_buffer = self.take_from_buffers(line, None);
        let sockets = self.sockets.iter_mut();
        let dirty = sockets.fold(in_buffer, |dirty, socket| socket.drop_line(line) || dirty);
        self.elsewhere.forget(line);
        if dirty { self.write_memory(self.memory.socket_of(line), line, now) } else { now }
    }

    /// The socket and number of a core: with one socket, the common case, without a table look-up.
    #[inline(always)]
    pub(super) fn location(&self, core: CoreId) -> CoreLocation {
        if self.sockets.len() == 1 {
            return CoreLocation { socket: SocketId(0), core: SocketCore(core.0) };
        }
        self.locations[core]
    }

    #[inline(always)]
    pub(super) fn private(&mut self, core: CoreId) -> &mut PrivateCaches {
        // The same result, without a look-up for the only socket.
        if self.sockets.len() == 1 {
            return &mut self.sockets[SocketId(0)].cores[SocketCore(core.0)];
        }
        let at = self.locations[core];
        &mut self.sockets[at.socket].cores[at.core]
    }

    #[inline]
    pub(super) fn inclusion(&self) -> Inclusion {
        self.sockets[SocketId(0)].inclusion
    }
}
