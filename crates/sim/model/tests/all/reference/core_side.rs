//! Operations of cores.

use super::{Held, Placed, Reference, Version};
use model::attribution::AgentId;
use model::llc::Inclusion;
use model::llc::inclusion::InclusiveMove;
use model::private_caches::MesiState;
use model::tracer::{Found, LineOperation};
use units::{CoreId, Id, LineAddr, SocketId, WayMask};

/// Kind of access to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    Load,
    Store,
    Prefetch,
    Fetch,
}

/// A line as a core receives it.
#[derive(Clone, Copy, Debug)]
struct Got {
    found: Found,
    state: MesiState,
    version: Version,
}

impl Want {
    fn operation(self) -> LineOperation {
        match self {
            Self::Load => LineOperation::Load,
            Self::Store => LineOperation::Store,
            Self::Prefetch => LineOperation::Prefetch,
            Self::Fetch => LineOperation::Fetch,
        }
    }

    /// Whether a copy in this state suffices.
    fn content_with(self, state: MesiState) -> bool {
        self != Self::Store || state != MesiState::Shared
    }
}

impl Reference {
    /// A load, store or software prefetch.
    pub fn access(&mut self, core: usize, line: LineAddr, want: Want) -> Found {
        let demand = u64::from(want != Want::Prefetch);
        self.counters.line_ops += 1;
        self.cores[core].counters.accesses += demand;
        self.cores[core].l1.used(line);
        let in_l1 = self.cores[core].l1.get(line).copied();
        if let Some(held) = in_l1.filter(|held| want.content_with(held.state)) {
            self.read_is_current(line, held.version, "L1D");
            if want == Want::Store {
                let version = self.write_anew(line);
                self.put_in_l1(core, line, Held { state: MesiState::Modified, version });
            }
            self.see(AgentId(core as u8), want.operation(), line, Found::L1);
            return Found::L1;
        }
        self.cores[core].counters.l1_misses += demand;
        let got = self.get_into_l2(core, line, want);
        self.read_is_current(line, got.version, "a core");
        let version = if want == Want::Store { self.write_anew(line) } else { got.version };
        // L1D's copy is newer than L2's only if the core writes.
        let clean = got.state.min(MesiState::Exclusive);
        let state = if want == Want::Store { MesiState::Modified } else { clean };
        self.still_in_l2(core, line);
        self.put_in_l1(core, line, Held { state, version });
        let prefetcher = &mut self.cores[core].prefetcher;
        let ahead: Vec<LineAddr> = if got.found == Found::L2 {
            prefetcher.after_hit(line).map(|prefetch| prefetch.line).collect()
        } else {
            prefetcher.after_miss(line).map(|prefetch| prefetch.line).collect()
        };
        ahead.into_iter().for_each(|ahead| self.prefetch_into_l2(core, ahead));
        got.found
    }

    /// An instruction fetch.
    pub fn fetch_instructions(&mut self, core: usize, line: LineAddr) -> Found {
        self.counters.line_ops += 1;
        self.cores[core].counters.fetches += 1;
        let l1i = self.cores[core].l1i.as_mut().expect("there is an L1I");
        l1i.used(line);
        if let Some(held) = l1i.get(line).copied() {
            self.read_is_current(line, held.version, "L1I");
            self.see(AgentId(core as u8), LineOperation::Fetch, line, Found::L1);
            return Found::L1;
        }
        self.cores[core].counters.fetch_misses += 1;
        let got = self.get_into_l2(core, line, Want::Fetch);
        self.read_is_current(line, got.version, "an instruction fetch");
        self.still_in_l2(core, line);
        let held = Held { state: got.state.min(MesiState::Exclusive), version: got.version };
        let ways = WayMask::bottom(self.config.private.l1i.map_or(0, |l1i| l1i.ways));
        let l1i = self.cores[core].l1i.as_mut().expect("there is an L1I");
        if let (_, Some((victim, _))) = l1i.put(line, held, ways) {
            self.copy_left(core, victim);
        }
        got.found
    }

    /// Flushes a line out of all caches.
    pub fn flush(&mut self, line: LineAddr) {
        let sockets = 0..self.sockets.len();
        let newer = sockets.fold(None, |newer, s| self.drop_from_socket(s, line).or(newer));
        let in_buffer = self.take_from_buffers(line);
        if let Some(version) = newer.or(in_buffer) {
            self.memory_write(line, version);
        }
    }

    /// A fill never evicts its own line from the core: its own victim frees the entry in the snoop
    /// filter that the LLC's victim may need.
    fn still_in_l2(&mut self, core: usize, line: LineAddr) {
        if self.inclusion() != Inclusion::Nine && !self.cores[core].l2.has(line) {
            let what = format!("L2 of core {core} has lost {line:?} before L1 got it");
            self.broken.get_or_insert(what);
        }
    }

    /// Fetches a line into L2.
    fn get_into_l2(&mut self, core: usize, line: LineAddr, want: Want) -> Got {
        self.cores[core].l2.used(line);
        let in_l2 = self.cores[core].l2.get(line).copied();
        if let Some(held) = in_l2.filter(|held| want.content_with(held.state)) {
            self.see(AgentId(core as u8), want.operation(), line, Found::L2);
            return Got { found: Found::L2, state: held.state, version: held.version };
        }
        let got = self.get(core, line, want);
        let missed = u64::from(got.found.is_memory());
        let counters = &mut self.cores[core].counters;
        match want {
            Want::Prefetch => counters.llc_prefetch_misses += missed,
            Want::Load | Want::Store | Want::Fetch => {
                counters.l2_misses += 1;
                counters.l2_load_misses += u64::from(want == Want::Load);
                counters.llc_misses += missed;
            }
        }
        if want == Want::Load {
            counters.llc_load_misses += missed;
        }
        self.put_in_l2(core, line, Held { state: got.state, version: got.version });
        got
    }

    /// The adjacent-line prefetcher of L2.
    fn prefetch_into_l2(&mut self, core: usize, line: LineAddr) {
        let held = self.cores[core].holds(line);
        let in_l2 = self.cores[core].l2.has(line);
        if in_l2 || (held && self.inclusion() == Inclusion::Nine) {
            return;
        }
        let got = self.get(core, line, Want::Prefetch);
        self.read_is_current(line, got.version, "a prefetch");
        self.cores[core].counters.llc_prefetch_misses += u64::from(got.found.is_memory());
        self.cores[core].counters.l2_prefetcher_misses += u64::from(got.found.is_memory());
        self.put_in_l2(core, line, Held { state: got.state, version: got.version });
    }

    /// A core's L2 fetches a line on a device's hint.
    pub(super) fn follow_hint(&mut self, core: usize, line: LineAddr) {
        if !self.cores[core].holds(line) {
            let got = self.get(core, line, Want::Prefetch);
            self.read_is_current(line, got.version, "a hint");
            self.put_in_l2(core, line, Held { state: got.state, version: got.version });
        }
    }

    /// A core's L2 takes a line that a device has pushed into it; there is no other copy.
    pub(super) fn take_pushed(&mut self, core: usize, line: LineAddr, version: Version) {
        let socket = self.cores[core].socket;
        if self.inclusion() != Inclusion::Inclusive {
            self.track(socket, line);
        }
        if matches!(self.inclusion(), Inclusion::Inclusive | Inclusion::Nine) {
            self.place_for_core(core, line, version, false);
        }
        self.put_in_l2(core, line, Held { state: MesiState::Modified, version });
    }

    fn put_in_l1(&mut self, core: usize, line: LineAddr, held: Held) {
        if let Some(there) = self.cores[core].l1.get_mut(line) {
            *there = held;
            return;
        }
        let ways = WayMask::bottom(self.config.private.l1.ways);
        let (_, victim) = self.cores[core].l1.put(line, held, ways);
        let Some((victim, left)) = victim else { return };
        if left.state != MesiState::Modified {
            self.copy_left(core, victim);
            return;
        }
        self.cores[core].counters.l1_writebacks += 1;
        if let Some(below) = self.cores[core].l2.get_mut(victim) {
            *below = left;
            return;
        }
        // Only independent levels get here: L2 allocates on a write-back.
        self.cores[core].counters.l2_victim_misses += 1;
        let got = self.get(core, victim, Want::Store);
        self.cores[core].counters.l2_victims_from_memory += u64::from(got.found.is_memory());
        self.put_in_l2(core, victim, left);
    }

    fn put_in_l2(&mut self, core: usize, line: LineAddr, held: Held) {
        if let Some(there) = self.cores[core].l2.get_mut(line) {
            *there = held;
            return;
        }
        let ways = WayMask::bottom(self.config.private.l2.ways);
        let (_, victim) = self.cores[core].l2.put(line, held, ways);
        let Some((victim, left)) = victim else { return };
        if self.inclusion() == Inclusion::Nine {
            if left.state == MesiState::Modified {
                self.write_into_independent_llc(core, victim, left.version);
            }
            self.copy_left(core, victim);
            return;
        }
        // L2 includes the caches above it, so the victim leaves L1 too.
        let above = self.cores[core].l1.take(victim);
        self.cores[core].l1i.as_mut().and_then(|l1i| l1i.take(victim));
        let above = above.filter(|above| above.state == MesiState::Modified);
        let modified = above.is_some() || left.state == MesiState::Modified;
        let version = above.map_or(left.version, |above| above.version);
        self.cores[core].counters.l2_writebacks += u64::from(modified);
        self.l2_victim(core, victim, version, modified);
    }

    /// Independent levels: the snoop filter, if there is one, is informed of the last copy.
    fn copy_left(&mut self, core: usize, line: LineAddr) {
        if self.inclusion() != Inclusion::Nine || self.cores[core].holds(line) {
            return;
        }
        let socket = self.cores[core].socket;
        if self.holders(socket, line).is_empty() {
            self.untrack(socket, line);
        } else {
            self.track(socket, line);
        }
    }

    /// Independent levels: the LLC fetches a line that misses before it is written.
    fn write_into_independent_llc(&mut self, core: usize, line: LineAddr, version: Version) {
        let socket = self.cores[core].socket;
        self.cores[core].counters.l2_writebacks += 1;
        if let Some(placed) = self.sockets[socket].llc.get_mut(line) {
            (placed.dirty, placed.version) = (true, version);
            return;
        }
        self.cores[core].counters.llc_victim_misses += 1;
        self.memory_read(line);
        self.place_for_core(core, line, version, true);
    }

    /// L2 evicts a line to the LLC.
    fn l2_victim(&mut self, core: usize, line: LineAddr, version: Version, modified: bool) {
        let socket = self.cores[core].socket;
        let llc = &mut self.sockets[socket].llc;
        if llc.has(line) {
            if let Some(placed) = llc.get_mut(line).filter(|_| modified) {
                let owner = AgentId(core as u8);
                *placed = Placed { owner, dirty: true, consumed: true, version };
                llc.used(line);
            }
            return;
        }
        if !self.holders(socket, line).is_empty() {
            self.track(socket, line);
            return;
        }
        self.untrack(socket, line);
        if modified || self.config.core_path.clean_victims_to_llc {
            self.place_for_core(core, line, version, modified);
        }
    }

    fn place_for_core(&mut self, core: usize, line: LineAddr, version: Version, dirty: bool) {
        let agent = AgentId(core as u8);
        let placed = Placed { owner: agent, dirty, consumed: true, version };
        let Self { cores, .. } = self;
        let (socket, mask) = (cores[core].socket, cores[core].mask);
        let mask = self.ways_for_core(socket, line, mask);
        self.place(socket, line, placed, mask, agent);
    }

    /// Fetches a line that misses L2, or the right to write it.
    fn get(&mut self, core: usize, line: LineAddr, want: Want) -> Got {
        let socket = self.cores[core].socket;
        let from_buffer = if want == Want::Store { self.take_from_buffers(line) } else { None };
        let shared_with_buffer = want != Want::Store && self.buffers_share(line);
        if shared_with_buffer {
            self.clean_in_llc(socket, line);
        }
        let mut neighbours = self.holders(socket, line);
        neighbours.retain(|&other| other != core);
        let mut got = if self.sockets[socket].llc.has(line) {
            self.get_from_llc(core, line, want, &neighbours)
        } else if !neighbours.is_empty() {
            self.get_from_neighbours(core, line, want, &neighbours)
        } else if self.cores[core].l1.has(line) || self.cores[core].l2.has(line) {
            self.get_right_to_own_copy(core, line, want)
        } else {
            self.get_from_beyond(core, line, want, from_buffer)
        };
        if shared_with_buffer {
            got.state = MesiState::Shared;
        }
        self.see(AgentId(core as u8), want.operation(), line, got.found);
        got
    }

    /// Invalidates all other copies if the core will write the line; returns the state in which the
    /// core may hold it. The caller keeps content newer than memory.
    fn claim(
        &mut self,
        core: usize,
        line: LineAddr,
        want: Want,
        neighbours: &[usize],
    ) -> MesiState {
        let socket = self.cores[core].socket;
        if want == Want::Store {
            for &other in neighbours {
                self.drop_from_core(other, line);
            }
            self.drop_elsewhere(socket, line);
            return MesiState::Exclusive;
        }
        for &other in neighbours {
            self.downgrade_core(other, line);
        }
        let alone = neighbours.is_empty() && self.elsewhere(socket, line).is_empty();
        if alone { MesiState::Exclusive } else { MesiState::Shared }
    }

    fn get_from_llc(
        &mut self,
        core: usize,
        line: LineAddr,
        want: Want,
        neighbours: &[usize],
    ) -> Got {
        let socket = self.cores[core].socket;
        let modifier = neighbours.iter().find(|&&other| self.cores[other].modified(line).is_some());
        let modifier = modifier.copied();
        let (version, _) = self.answer(socket, line).expect("the LLC has it");
        let is_held = !self.holders(socket, line).is_empty();
        let state = self.claim(core, line, want, neighbours);
        let llc = &mut self.sockets[socket].llc;
        let way = llc.way_of(line).expect("the LLC has it");
        let tracked = self.tracked_ways().0 >> way & 1 == 1;
        let llc = &mut self.sockets[socket].llc;
        let placed = llc.get_mut(line).expect("the LLC has it");
        placed.consumed = true;
        if modifier.is_some()
            && (want != Want::Store || self.config.socket.llc.inclusion == Inclusion::Nine)
        {
            (placed.dirty, placed.version) = (true, version);
        }
        let placed = *placed;
        llc.used(line);
        let from_core = usize::from(placed.owner.0) < self.cores.len();
        let moves_up = |moved_by| match moved_by {
            InclusiveMove::CoreAccess => !tracked && from_core,
            InclusiveMove::DeviceWrite => !(tracked && is_held),
        };
        let mut way = way;
        let mut state = state;
        match self.inclusion() {
            Inclusion::Nine => self.track(socket, line),
            Inclusion::ExclusiveVictim => {
                self.sockets[socket].llc.take(line);
                state = if placed.dirty { MesiState::Modified } else { state };
                self.track(socket, line);
            }
            // A victim of an L2 moves back up; so does a device's line if devices move lines.
            Inclusion::NonInclusive { moved_by, .. } if moves_up(moved_by) => {
                self.sockets[socket].llc.take(line);
                state = if placed.dirty { MesiState::Modified } else { state };
                self.track(socket, line);
            }
            // A device's line migrates to the tracked ways.
            Inclusion::NonInclusive { .. } if !tracked => {
                self.sockets[socket].llc.take(line);
                let by = AgentId(core as u8);
                let ways = self.ways_for_core(socket, line, self.tracked_ways());
                way = self.place(socket, line, placed, ways, by);
            }
            Inclusion::NonInclusive { .. } | Inclusion::Inclusive => {}
        }
        let found = match modifier {
            Some(other) => Found::OtherCore(CoreId(other as u8)),
            None => Found::LlcHit(way as u32),
        };
        Got { found, state, version }
    }

    fn get_from_neighbours(
        &mut self,
        core: usize,
        line: LineAddr,
        want: Want,
        neighbours: &[usize],
    ) -> Got {
        let socket = self.cores[core].socket;
        let (version, newer) = self.answer(socket, line).expect("a neighbour has it");
        let found = Found::OtherCore(CoreId::at(neighbours[0]));
        let state = self.claim(core, line, want, neighbours);
        if want == Want::Store {
            self.track(socket, line);
            let state = if newer { MesiState::Modified } else { state };
            return Got { found, state, version };
        }
        let tracked = self.tracked_ways();
        match self.inclusion() {
            Inclusion::NonInclusive { .. } | Inclusion::Inclusive if newer => {
                // Shared content that is newer than memory is kept in the LLC.
                self.untrack(socket, line);
                let agent = AgentId(core as u8);
                let placed = Placed { owner: agent, dirty: true, consumed: true, version };
                let ways = self.ways_for_core(socket, line, tracked);
                self.place(socket, line, placed, ways, agent);
            }
            Inclusion::Nine if newer => {
                self.track(socket, line);
                self.place_for_core(core, line, version, true);
            }
            Inclusion::ExclusiveVictim if newer => {
                self.track(socket, line);
                self.memory_write(line, version);
            }
            _ => self.track(socket, line),
        }
        Got { found, state, version }
    }

    fn get_right_to_own_copy(&mut self, core: usize, line: LineAddr, want: Want) -> Got {
        let socket = self.cores[core].socket;
        let version = self.cores[core].copy(line).expect("it has a copy").version;
        let state = self.claim(core, line, want, &[]);
        self.track(socket, line);
        Got { found: Found::Upgraded, state, version }
    }

    /// Fetches a line that misses every cache of the socket; a buffer may just have given it up.
    fn get_from_beyond(
        &mut self,
        core: usize,
        line: LineAddr,
        want: Want,
        from_buffer: Option<Version>,
    ) -> Got {
        let socket = self.cores[core].socket;
        self.count_remote(socket, line);
        let others = self.elsewhere(socket, line);
        let got = match (from_buffer, others.first()) {
            (Some(version), _) => {
                Got { found: Found::RootComplexBuffer, state: MesiState::Modified, version }
            }
            (None, None) => {
                let found = self.in_memory(socket, line);
                Got { found, state: MesiState::Exclusive, version: self.memory_read(line) }
            }
            (None, Some(&first)) => {
                let answers = others.iter().filter_map(|&other| self.answer(other, line));
                // At most one of them is newer than memory.
                let (version, newer) = answers.max_by_key(|answer| answer.1).expect("one has it");
                let found = Found::OtherSocket(SocketId(first as u8));
                if want == Want::Store {
                    self.drop_elsewhere(socket, line);
                    let state = if newer { MesiState::Modified } else { MesiState::Exclusive };
                    Got { found, state, version }
                } else {
                    for other in others {
                        self.clean_in_socket(other, line);
                    }
                    Got { found, state: MesiState::Shared, version }
                }
            }
        };
        if self.inclusion() != Inclusion::Inclusive {
            self.track(socket, line);
        }
        if matches!(self.inclusion(), Inclusion::Inclusive | Inclusion::Nine) {
            self.place_for_core(core, line, got.version, false);
        }
        got
    }
}
