//! Replays a trace through levels that do not talk back: what it hits and misses, at no time.
//!
//! Models: a program's references, in their order.
//! Source: none needed: the trace says what is touched, the levels what that means.
//! Simplifies: as [`super::Replay`] does; beside that, there is no time.

use super::replay::{Tally, row};
use super::{
    AddressWindow, AddressWindowFull, BLOCK_LOADS, BLOCK_REFERENCES, Batch, Counts, Reference,
    ReferenceKind,
};
use model::independent_levels::{IndependentLevels, LEVELS, Request};

/// A trace on its way through the levels of a core.
#[derive(Debug)]
pub struct UntimedReplay {
    levels: IndependentLevels,
    window: AddressWindow,
    lines: Vec<u32>,
    requests: Vec<Request>,
    fetches_left_out: u64,
}

impl UntimedReplay {
    /// Through levels in which nothing is yet.
    #[must_use]
    pub fn new(levels: IndependentLevels) -> Self {
        let (lines, requests) = (Vec::new(), Vec::new());
        Self { levels, window: AddressWindow::default(), lines, requests, fetches_left_out: 0 }
    }

    /// Replays references in their order, in blocks that stay in the host's caches from level to
    /// level.
    ///
    /// # Errors
    /// If they use more different addresses than the simulated memory holds.
    pub fn batch(&mut self, batch: &Batch) -> Result<(), AddressWindowFull> {
        match batch {
            Batch::Loads(addresses) => {
                addresses.chunks(BLOCK_LOADS).try_for_each(|block| self.loads(block))
            }
            Batch::References(references) => {
                references.chunks(BLOCK_REFERENCES).try_for_each(|block| self.references(block))
            }
        }
    }

    fn loads(&mut self, addresses: &[u64]) -> Result<(), AddressWindowFull> {
        self.lines.clear();
        self.window.place_all(addresses, &mut self.lines)?;
        self.levels.read(&self.lines);
        Ok(())
    }

    fn references(&mut self, references: &[Reference]) -> Result<(), AddressWindowFull> {
        self.requests.clear();
        for &reference in references {
            if reference.kind == ReferenceKind::Fetch {
                self.fetches_left_out += 1;
                continue;
            }
            let (is_store, modifies) = (row(reference.kind) == 2, reference.kind.writes());
            let mut head = true;
            for line in reference.lines() {
                let line = self.window.place(line)?.0 as u32;
                self.requests.push(Request::reference(line, head, is_store, modifies));
                head = false;
            }
        }
        self.levels.serve(&self.requests);
        Ok(())
    }

    /// What was counted so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut counts = Counts { fetches_left_out: self.fetches_left_out, ..Counts::default() };
        let mut tally = Tally::default();
        for level in 0..=LEVELS {
            let here = self.levels.arrived(level);
            let below =
                if level < LEVELS { *self.levels.arrived(level + 1) } else { Default::default() };
            for (store, kind) in [ReferenceKind::Load, ReferenceKind::Store].into_iter().enumerate()
            {
                counts.lines[row(kind)][level] = here.lines[store] - below.lines[store];
                counts.references[row(kind)][level] =
                    here.references[store] - below.references[store];
            }
            if level < LEVELS {
                let victims = here.for_victims + self.levels.victims_missed(level);
                tally.writebacks[level] = below.written_back;
                tally.victim_misses[level] = below.for_victims;
                tally.victim_hits[level] = victims - below.for_victims;
            }
        }
        let memory = self.levels.arrived(LEVELS);
        let arrived = self.levels.arrived(0);
        Tally {
            counts,
            memory_lines_read: memory.fetches(),
            memory_lines_written: memory.written_back,
            line_ops: arrived.lines[0] + arrived.lines[1],
            ..tally
        }
    }
}
