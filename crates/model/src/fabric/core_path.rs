//! Core -> L1D -> L2 -> LLC, another core, or DRAM.
//!
//! Models: loads, stores and prefetches of cores on a non-inclusive LLC: a line from DRAM fills L2
//! only; an L2 victim goes to the LLC within the core's CAT mask; a line that a device wrote
//! migrates into an inclusive way when a core touches it and stays there.
//! Source: Intel (non-inclusive victim LLC of Skylake-SP); A4 (ISCA'25) for the migration.
//! Simplifies: L1D is inside L2 (DEVIATIONS.md, 4); a line shared by cores stays in the LLC.

use super::Fabric;
use crate::attribution::AgentId;
use crate::core::prefetcher::PrefetcherConfig;
use crate::core::private_cache::State;
use crate::llc::{LineInfo, Sharers};
use crate::tracer::{Found, Operation, Tracer};
use units::{LineAddr, Picos, SetIndex};

/// Latencies and policies of cores' accesses.
#[derive(Clone, Debug)]
pub struct CorePathConfig {
    /// Load-to-use latency of L1D.
    pub l1: Picos,
    /// Load-to-use latency of L2.
    pub l2: Picos,
    /// Mean load-to-use latency of the LLC over all slices.
    pub llc: Picos,
    /// Load-to-use latency of a line that another core holds modified.
    pub other_core: Picos,
    /// The prefetchers of L2.
    pub prefetcher: PrefetcherConfig,
    /// L2 victims that are not newer than memory are placed in the LLC too.
    pub clean_victims_to_llc: bool,
}

impl CorePathConfig {
    /// How much longer a line takes from another core than from the LLC.
    #[must_use]
    pub fn snoop_extra(&self) -> Picos {
        self.other_core.saturating_sub(self.llc)
    }
}

/// When an access is done and where it was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Data is there, or the line may be written.
    pub done: Picos,
    /// Who had it.
    pub found: Found,
}

/// What a core wants with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Load,
    Store,
    Prefetch,
}

impl<T: Tracer> Fabric<T> {
    /// A demand load.
    #[inline]
    pub fn core_read(&mut self, core: u8, line: LineAddr, now: Picos) -> Served {
        self.counters.line_ops += 1;
        self.access(core, line, Want::Load, now)
    }

    /// A demand store: the line is read for ownership if the core may not write it yet.
    #[inline]
    pub fn core_write(&mut self, core: u8, line: LineAddr, now: Picos) -> Served {
        self.counters.line_ops += 1;
        self.access(core, line, Want::Store, now)
    }

    /// A software prefetch into L1D.
    #[inline]
    pub fn core_prefetch(&mut self, core: u8, line: LineAddr, now: Picos) -> Served {
        self.counters.line_ops += 1;
        self.access(core, line, Want::Prefetch, now)
    }

    #[inline]
    fn access(&mut self, core: u8, line: LineAddr, want: Want, now: Picos) -> Served {
        let write = want == Want::Store;
        let enough = |state: State| !write || state != State::Shared;
        let private = &mut self.cores[usize::from(core)];
        if want != Want::Prefetch {
            private.counters.accesses += 1;
        }
        if private.l1.access(line, write).is_some_and(enough) {
            self.trace(now, AgentId(core), want.operation(), line, Found::L1, None);
            return Served { done: now + self.core_path.l1, found: Found::L1 };
        }
        if want != Want::Prefetch {
            private.counters.l1_misses += 1;
        }
        if let Some(state) = private.l2.access(line, false).filter(|&state| enough(state)) {
            self.fill_l1(core, line, if write { State::Modified } else { state });
            self.trace(now, AgentId(core), want.operation(), line, Found::L2, None);
            return Served { done: now + self.core_path.l2, found: Found::L2 };
        }
        self.miss_l2(core, line, want, now)
    }

    fn miss_l2(&mut self, core: u8, line: LineAddr, want: Want, now: Picos) -> Served {
        let (state, served) = self.fetch(core, line, want, now);
        let counters = &mut self.cores[usize::from(core)].counters;
        let from_dram = served.found == Found::Dram;
        match want {
            Want::Prefetch => counters.llc_prefetch_misses += u64::from(from_dram),
            Want::Load => {
                counters.l2_misses += 1;
                counters.llc_load_misses += u64::from(from_dram);
            }
            Want::Store => counters.l2_misses += 1,
        }
        self.fill_l2(core, line, state, now);
        self.fill_l1(core, line, if want == Want::Store { State::Modified } else { state });
        for ahead in self.cores[usize::from(core)].prefetcher.after_miss(line) {
            self.prefetch_into_l2(core, ahead, now);
        }
        served
    }

    /// The L2 prefetcher's access: into L2 only, nobody waits for it.
    fn prefetch_into_l2(&mut self, core: u8, line: LineAddr, now: Picos) {
        if self.cores[usize::from(core)].l2.state(line).is_some() {
            return;
        }
        let (state, served) = self.fetch(core, line, Want::Prefetch, now);
        let counters = &mut self.cores[usize::from(core)].counters;
        counters.llc_prefetch_misses += u64::from(served.found == Found::Dram);
        self.fill_l2(core, line, state, now);
    }

    /// Gets `line` for `core` from whoever has it, with all that follows for the others; returns
    /// the state that the core may hold it in.
    fn fetch(&mut self, core: u8, line: LineAddr, want: Want, now: Picos) -> (State, Served) {
        let set = self.llc.set_of(line);
        let (state, found) = if let Some(way) = self.llc.find(set, line) {
            self.fetch_from_llc(core, set, way, line, want, now)
        } else {
            let holders = self.directory.sharers(set, line).without(core);
            if holders.is_empty() {
                // A core that writes a line it alone still holds needs no data.
                let held = self.cores[usize::from(core)].l2.state(line).is_some();
                self.record_sharers(set, line, Sharers::of(core), now);
                (State::Exclusive, if held { Found::Upgraded } else { Found::Dram })
            } else {
                self.fetch_from_core(core, set, line, holders, want, now)
            }
        };
        let done = match found {
            Found::OtherCore(_) => now + self.core_path.other_core,
            Found::Dram => self.dram.read(now),
            _ => now + self.core_path.llc,
        };
        self.trace(now, AgentId(core), want.operation(), line, found, None);
        (state, Served { done, found })
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
        let info = LineInfo { consumed: true, ..self.llc.info(set, way) };
        let holders = self.llc.sharers(set, way).without(core);
        if !self.is_device(info.owner) && holders.is_empty() && !self.llc.is_inclusive_way(way) {
            // Victim cache behaviour: the core's own line moves back into its L2.
            self.llc.take(set, way);
            self.record_sharers(set, line, Sharers::of(core), now);
            let state = if info.dirty { State::Modified } else { State::Exclusive };
            return (state, Found::LlcHit(way));
        }
        let way = self.migrate(core, set, way, line, info, now);
        if want == Want::Store {
            self.invalidate_cores(line, holders);
            self.llc.set_sharers(set, way, Sharers::of(core));
            return (State::Exclusive, Found::LlcHit(way));
        }
        if self.downgrade_cores(line, holders) {
            self.llc.update(set, way, LineInfo { dirty: true, ..info });
        }
        self.llc.set_sharers(set, way, holders.with(core));
        let state = if holders.is_empty() { State::Exclusive } else { State::Shared };
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
        if self.llc.is_inclusive_way(way) {
            self.llc.update(set, way, info);
            return way;
        }
        self.llc.take(set, way);
        let (new_way, evicted) = self.llc.allocate(set, line, info, self.llc.inclusive_mask());
        if let Some(evicted) = evicted {
            self.evict(AgentId(core), set, evicted, now);
        }
        new_way
    }

    /// Gets a line that only other cores hold.
    fn fetch_from_core(
        &mut self,
        core: u8,
        set: SetIndex,
        line: LineAddr,
        holders: Sharers,
        want: Want,
        now: Picos,
    ) -> (State, Found) {
        let from = Found::OtherCore(holders.cores().next().unwrap_or_default());
        if want == Want::Store {
            let modified = self.invalidate_cores(line, holders);
            self.record_sharers(set, line, Sharers::of(core), now);
            return (if modified { State::Modified } else { State::Exclusive }, from);
        }
        if self.downgrade_cores(line, holders) {
            // The newest content has to live somewhere that may be shared: an inclusive way.
            self.directory.record(set, line, Sharers::NONE);
            let info = LineInfo { owner: AgentId(core), dirty: true, consumed: true };
            let mask = self.llc.inclusive_mask();
            let (way, evicted) = self.llc.allocate(set, line, info, mask);
            if let Some(evicted) = evicted {
                self.evict(AgentId(core), set, evicted, now);
            }
            self.llc.set_sharers(set, way, holders.with(core));
        } else {
            self.record_sharers(set, line, holders.with(core), now);
        }
        (State::Shared, from)
    }

    /// Makes the copies of `holders` Shared; says whether one was modified.
    fn downgrade_cores(&mut self, line: LineAddr, holders: Sharers) -> bool {
        holders.cores().fold(false, |modified, core| {
            let private = &mut self.cores[usize::from(core)];
            let was_modified = private.l1.state(line) == Some(State::Modified)
                || private.l2.state(line) == Some(State::Modified);
            private.l1.set_state(line, State::Shared);
            private.l2.set_state(line, State::Shared);
            modified || was_modified
        })
    }

    fn fill_l1(&mut self, core: u8, line: LineAddr, state: State) {
        let private = &mut self.cores[usize::from(core)];
        if let Some((victim, State::Modified)) = private.l1.fill(line, state) {
            private.l2.set_state(victim, State::Modified);
        }
    }

    fn fill_l2(&mut self, core: u8, line: LineAddr, state: State, now: Picos) {
        if let Some((victim, state)) = self.cores[usize::from(core)].l2.fill(line, state) {
            let l1 = self.cores[usize::from(core)].l1.invalidate(victim);
            let modified = state == State::Modified || l1 == Some(State::Modified);
            self.take_l2_victim(core, victim, modified, now);
        }
    }

    /// A line leaves a core's L2: into its inclusive way if it still has one, else into the LLC.
    fn take_l2_victim(&mut self, core: u8, line: LineAddr, modified: bool, now: Picos) {
        let set = self.llc.set_of(line);
        let agent = AgentId(core);
        if let Some(way) = self.llc.find(set, line) {
            let left = self.llc.sharers(set, way).without(core);
            self.llc.set_sharers(set, way, left);
            if modified {
                let info = LineInfo { owner: agent, dirty: true, consumed: true };
                self.llc.update(set, way, info);
            }
            self.trace(now, agent, Operation::L2Victim, line, Found::LlcHit(way), None);
            return;
        }
        let left = self.directory.sharers(set, line).without(core);
        self.record_sharers(set, line, left, now);
        if !left.is_empty() || !(modified || self.core_path.clean_victims_to_llc) {
            return;
        }
        let info = LineInfo { owner: agent, dirty: modified, consumed: true };
        let mask = self.core_way_masks[usize::from(core)];
        let (way, evicted) = self.llc.allocate(set, line, info, mask);
        self.trace(
            now,
            agent,
            Operation::L2Victim,
            line,
            Found::LlcAllocated(way),
            evicted.as_ref(),
        );
        if let Some(evicted) = evicted {
            self.evict(agent, set, evicted, now);
        }
    }
}

impl Want {
    fn operation(self) -> Operation {
        match self {
            Self::Load => Operation::Load,
            Self::Store => Operation::Store,
            Self::Prefetch => Operation::Prefetch,
        }
    }
}
