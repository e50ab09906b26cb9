//! Replays a trace on the first core of a machine, as fast as the model runs.
//!
//! Models: a program's references, one after another; each waits for the one before it.
//! Source: the trace gives the accesses, the machine their effect.
//! Simplifies: a Modify is one access, a store, since its load finds the line at the same level. It is
//! counted as a load.

use super::{AddressWindow, AddressWindowFull};
use model::attribution::AgentId;
use model::fabric::Fabric;
use model::miss_kinds::{AccessCounts, MissKinds};
use model::tracer::{Found, NoTrace};
use units::{CoreId, LineAddr, Picos, Reference, ReferenceKind};

/// The level that served a reference: the farthest at which one of its lines was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServedBy {
    /// L1I or L1D.
    L1,
    /// L2.
    L2,
    /// The LLC.
    Llc,
    /// Memory.
    Memory,
}

impl ServedBy {
    fn from_found(found: Found) -> Self {
        match found {
            Found::L1 => Self::L1,
            Found::L2 => Self::L2,
            found if found.is_memory() => Self::Memory,
            _ => Self::Llc,
        }
    }
}

/// Replayed references, by kind and by the level that served them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub(super) references: [[u64; 4]; 3],
    pub(super) lines: [[u64; 4]; 3],
    /// Number of instruction fetches that were skipped because the machine has no L1I.
    pub fetches_left_out: u64,
}

impl Counts {
    /// References of a kind that a level served, by the line that was found farthest away.
    #[must_use]
    pub fn references(&self, kind: ReferenceKind, by: ServedBy) -> u64 {
        self.references[row(kind)][by as usize]
    }

    /// Lines of references of a kind that a level served.
    #[must_use]
    pub fn lines(&self, kind: ReferenceKind, by: ServedBy) -> u64 {
        self.lines[row(kind)][by as usize]
    }
}

/// A Modify counts as a load, as cachegrind counts it.
pub(super) fn row(kind: ReferenceKind) -> usize {
    match kind {
        ReferenceKind::Fetch => 0,
        ReferenceKind::Load | ReferenceKind::Modify => 1,
        ReferenceKind::Store => 2,
    }
}

/// All counts of a replay: L1D, L2, LLC and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Counts of references, and of their hits and misses.
    pub counts: Counts,
    /// Fetches for a modified victim from above that hit.
    pub victim_hits: [u64; 3],
    /// Fetches for a modified victim from above that missed, and write-backs that missed.
    pub victim_misses: [u64; 3],
    /// Number of modified lines written back from L1D, L2 and LLC.
    pub writebacks: [u64; 3],
    /// Number of lines read from memory.
    pub memory_lines_read: u64,
    /// Number of lines written to memory.
    pub memory_lines_written: u64,
    /// Number of lines of references that reached the caches.
    pub line_ops: u64,
}

/// Shadows of L1D, L2 and LLC that classify misses.
#[derive(Debug)]
pub struct Shadows {
    levels: [MissKinds; 3],
}

/// The core that replays.
const CORE: CoreId = CoreId(0);

impl Shadows {
    /// Shadows of caches with these numbers of lines: L1D, L2, LLC.
    #[must_use]
    pub fn new(lines: [u32; 3]) -> Self {
        Self { levels: lines.map(MissKinds::new) }
    }

    /// The counts of a level's accesses: 0 for L1D, 1 for L2, 2 for the LLC.
    #[must_use]
    pub fn counts(&self, level: usize) -> &AccessCounts {
        self.levels[level].counts(AgentId::of(CORE))
    }

    fn access(&mut self, line: LineAddr, by: ServedBy, fetch: bool) {
        let levels = [ServedBy::L1, ServedBy::L2, ServedBy::Llc];
        for (shadow, level) in self.levels.iter_mut().zip(levels) {
            // L1I has no shadow of its own.
            if by >= level && !(fetch && level == ServedBy::L1) {
                shadow.access(AgentId::of(CORE), line, by == level);
            }
        }
    }
}

/// A trace that is replayed on a machine.
#[derive(Debug)]
pub struct Replay {
    /// Caches and memory on which the trace is replayed.
    pub fabric: Fabric<NoTrace>,
    /// Counts of references so far.
    pub counts: Counts,
    /// Kinds of misses, if they were requested.
    pub shadows: Option<Shadows>,
    window: AddressWindow,
    now: Picos,
    fetches: bool,
}

/// How many references ahead a reference is announced: enough to hide the host's memory latency.
const ANNOUNCED_AHEAD: usize = 12;

impl Replay {
    /// A replay on the first core of an idle machine.
    #[must_use]
    pub fn new(fabric: Fabric<NoTrace>, shadows: Option<Shadows>) -> Self {
        let fetches = fabric.fetches_instructions();
        Self {
            fabric,
            counts: Counts::default(),
            shadows,
            window: AddressWindow::default(),
            now: Picos::ZERO,
            fetches,
        }
    }

    /// Simulated time of the core.
    #[must_use]
    pub fn now(&self) -> Picos {
        self.now
    }

    /// All counts so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let core = &self.fabric.private_caches(CORE).counters;
        let machine = self.fabric.counters();
        let (memory_lines_read, memory_lines_written) = self.fabric.memory().lines_moved();
        Tally {
            counts: self.counts,
            victim_hits: [0, 0, core.l2_victim_misses - core.l2_victims_from_memory],
            victim_misses: [
                0,
                core.l2_victim_misses,
                core.l2_victims_from_memory + core.llc_victim_misses,
            ],
            writebacks: [core.l1_writebacks, core.l2_writebacks, machine.llc_writebacks],
            memory_lines_read,
            memory_lines_written,
            line_ops: machine.line_ops,
        }
    }

    /// Replays references in order.
    ///
    /// # Errors
    /// If they use more different addresses than the simulated memory holds.
    pub fn references(&mut self, references: &[Reference]) -> Result<(), AddressWindowFull> {
        for (i, &reference) in references.iter().enumerate() {
            if let Some(ahead) = references.get(i + ANNOUNCED_AHEAD) {
                let line = self.window.place(LineAddr::of_byte(ahead.address))?;
                self.fabric.expect(CORE, line);
            }
            if reference.kind == ReferenceKind::Fetch && !self.fetches {
                self.counts.fetches_left_out += 1;
                continue;
            }
            self.one(reference)?;
        }
        Ok(())
    }

    /// Replays loads of the bytes at these addresses, in order.
    ///
    /// # Errors
    /// As [`Self::references`].
    pub fn loads(&mut self, addresses: &[u64]) -> Result<(), AddressWindowFull> {
        let load = |&address| Reference { address, bytes: 1, kind: ReferenceKind::Load };
        self.references(&addresses.iter().map(load).collect::<Vec<_>>())
    }

    #[inline]
    fn one(&mut self, reference: Reference) -> Result<(), AddressWindowFull> {
        let mut farthest = ServedBy::L1;
        for line in reference.lines() {
            let line = self.window.place(line)?;
            let served = match reference.kind {
                ReferenceKind::Fetch => self.fabric.core_fetch(CORE, line, self.now),
                ReferenceKind::Load => self.fabric.core_read(CORE, line, self.now),
                ReferenceKind::Store | ReferenceKind::Modify => {
                    self.fabric.core_write(CORE, line, self.now)
                }
            };
            self.now = served.done;
            let by = ServedBy::from_found(served.found);
            farthest = farthest.max(by);
            self.counts.lines[row(reference.kind)][by as usize] += 1;
            if let Some(shadows) = &mut self.shadows {
                shadows.access(line, by, reference.kind == ReferenceKind::Fetch);
            }
        }
        self.counts.references[row(reference.kind)][farthest as usize] += 1;
        Ok(())
    }
}
