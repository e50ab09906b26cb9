//! Replays a trace on independent levels: counts hits and misses, without time.
//!
//! Models: a program's references, in order.
//! Source: the trace gives the accesses, the levels their effect.
//! Simplifies: see [`super::Replay`]; in addition, there is no time.

mod beyond_l1;

use self::beyond_l1::LevelServer;
use super::replay::{Tally, row};
use super::{AddressWindow, AddressWindowFull, Counts};
use model::independent_levels::{IndependentLevels, LEVELS, Level, LevelRequests, Request};
use units::{Reference, ReferenceKind};

/// References that L1 serves together: 64 KiB, which stay in the host's L2 from level to level.
const BLOCK_REFERENCES: usize = 4096;

/// Loads that L1 serves together: few enough that the host's own prefetcher loads the next addresses
/// meanwhile.
const ASKED_TOGETHER: usize = 512;

/// Misses of L1 that are passed on together to the levels beyond: few enough for the host's L2, and so
/// many that passing them to another thread costs little compared with serving them.
const GIVEN_TOGETHER: usize = 2 * BLOCK_REFERENCES;

/// A trace that is replayed on the levels of a core.
#[derive(Debug)]
pub struct UntimedReplay {
    window: AddressWindow,
    l1: Level,
    beyond_l1: LevelServer,
    asked_of_l1: LevelRequests,
    asked_beyond: LevelRequests,
    fetches_left_out: u64,
}

impl UntimedReplay {
    /// A replay on empty levels. With a `second_thread`, another thread serves the levels beyond L1
    /// while L1 continues.
    #[must_use]
    pub fn new(levels: IndependentLevels, second_thread: bool) -> Self {
        let IndependentLevels { l1, beyond_l1 } = levels;
        Self {
            window: AddressWindow::default(),
            l1,
            beyond_l1: if second_thread {
                LevelServer::apart(beyond_l1)
            } else {
                LevelServer::here(beyond_l1)
            },
            asked_of_l1: LevelRequests::default(),
            asked_beyond: LevelRequests::default(),
            fetches_left_out: 0,
        }
    }

    /// Replays references in order, in blocks that stay in the host's caches from level to level.
    ///
    /// # Errors
    /// If they use more different addresses than the simulated memory holds.
    pub fn references(&mut self, references: &[Reference]) -> Result<(), AddressWindowFull> {
        references.chunks(BLOCK_REFERENCES).try_for_each(|block| self.block(block))
    }

    /// Replays loads of the bytes at these addresses, in order.
    ///
    /// # Errors
    /// As [`Self::references`].
    pub fn loads(&mut self, addresses: &[u64]) -> Result<(), AddressWindowFull> {
        addresses.chunks(ASKED_TOGETHER).try_for_each(|block| self.block_of_loads(block))
    }

    fn block_of_loads(&mut self, addresses: &[u64]) -> Result<(), AddressWindowFull> {
        self.asked_of_l1.clear();
        self.window.place_all(addresses, &mut self.asked_of_l1.reads)?;
        self.serve();
        Ok(())
    }

    fn block(&mut self, references: &[Reference]) -> Result<(), AddressWindowFull> {
        self.asked_of_l1.clear();
        for &reference in references {
            if reference.kind == ReferenceKind::Fetch {
                self.fetches_left_out += 1;
                continue;
            }
            let (is_store, modifies) = (row(reference.kind) == 2, reference.kind.writes());
            let mut head = true;
            for line in reference.lines() {
                let line = self.window.place(line)?.low_bits();
                self.asked_of_l1.requests.push(Request::reference(line, head, is_store, modifies));
                head = false;
            }
        }
        self.serve();
        Ok(())
    }

    fn serve(&mut self) {
        self.l1.serve(&self.asked_of_l1, &mut self.asked_beyond);
        if self.asked_beyond.lines() >= GIVEN_TOGETHER {
            self.beyond_l1.serve(&mut self.asked_beyond);
        }
    }

    /// Ends the replay; returns the counts.
    #[must_use]
    pub fn finish(mut self) -> Tally {
        self.beyond_l1.serve(&mut self.asked_beyond);
        let beyond_l1 = self.beyond_l1.finish();
        tally(&IndependentLevels { l1: self.l1, beyond_l1 }, self.fetches_left_out)
    }
}

/// The counts of all levels.
fn tally(levels: &IndependentLevels, fetches_left_out: u64) -> Tally {
    let mut counts = Counts { fetches_left_out, ..Counts::default() };
    let mut tally = Tally::default();
    for level in 0..=LEVELS {
        let here = levels.arrived(level);
        let below = if level < LEVELS { *levels.arrived(level + 1) } else { Default::default() };
        for (store, kind) in [ReferenceKind::Load, ReferenceKind::Store].into_iter().enumerate() {
            counts.lines[row(kind)][level] = here.lines[store] - below.lines[store];
            counts.references[row(kind)][level] = here.references[store] - below.references[store];
        }
        if level < LEVELS {
            let victims = here.for_victims + levels.victims_missed(level);
            tally.writebacks[level] = below.written_back;
            tally.victim_misses[level] = below.for_victims;
            tally.victim_hits[level] = victims - below.for_victims;
        }
    }
    let memory = levels.arrived(LEVELS);
    let arrived = levels.arrived(0);
    Tally {
        counts,
        memory_lines_read: memory.fetches(),
        memory_lines_written: memory.written_back,
        line_ops: arrived.lines[0] + arrived.lines[1],
        ..tally
    }
}
