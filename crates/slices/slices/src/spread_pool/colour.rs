//! Buffers of one colour: they share their set indices, so that only their slices differ.
//!
//! A choice that keeps to the limit is searched in two steps: the buffer that fills the least filled sets
//! is taken again and again; then a buffer in an overfull set is exchanged for the best other one, and may
//! not come back for some rounds (tabu search), until no set is overfull.

use rand_core::RngCore;
use units::narrow::fit;

/// Candidates that are compared for each choice: more make large pools slow and no better.
const COMPARED: usize = 512;
/// Most exchanges. Choices that can be mended take some ten.
const MOST_EXCHANGES: u32 = 600;
/// Rounds for which an exchanged buffer stays out; a random number up to as many comes on top.
const OUT_ROUNDS: u32 = 8;
/// Cost of a line in an overfull set: beyond that of any number of others.
const OVERFULL: u32 = 1 << 16;

/// A buffer that may be chosen.
struct BufferCandidate {
    address: u64,
    is_chosen: bool,
    /// Round from which it may be exchanged again.
    free_from: u32,
}

/// The candidates of a colour, and the lines of chosen ones in each of its sets.
pub(super) struct Colour {
    slices: usize,
    lines: usize,
    candidates: Vec<BufferCandidate>,
    /// The set of each line of each candidate, by number: line x slices + slice.
    sets: Vec<u32>,
    filled: Vec<u32>,
    most: u32,
}

impl Colour {
    pub(super) fn new(slices: usize, lines: usize) -> Self {
        let (candidates, sets) = (Vec::new(), Vec::new());
        Self { slices, lines, candidates, sets, filled: vec![0; slices * lines], most: 0 }
    }

    /// Adds a candidate, whose lines lie in these slices.
    pub(super) fn add(&mut self, address: u64, slices: &[u16]) {
        self.candidates.push(BufferCandidate { address, is_chosen: false, free_from: 0 });
        let set =
            |(line, &slice): (usize, &u16)| -> u32 { fit(line * self.slices + usize::from(slice)) };
        self.sets.extend(slices.iter().enumerate().map(set));
    }

    pub(super) fn candidates(&self) -> usize {
        self.candidates.len()
    }

    /// Addresses of the chosen buffers.
    pub(super) fn chosen(&self) -> impl Iterator<Item = u64> + '_ {
        self.candidates.iter().filter(|it| it.is_chosen).map(|it| it.address)
    }

    /// Lines in the set that has most.
    pub(super) fn most_lines(&self) -> u32 {
        self.filled.iter().copied().max().unwrap_or(0)
    }

    /// Chooses `count` buffers, so that no set gets more than `most` lines if such a choice is found.
    pub(super) fn choose(&mut self, count: usize, most: u32, numbers: &mut impl RngCore) {
        self.most = most;
        for _ in 0..count {
            if let Some(best) = self.best_to_add(0, numbers) {
                self.change(best, true);
            }
        }
        for round in 1..=MOST_EXCHANGES {
            if self.most_lines() <= most {
                return;
            }
            let Some(out) = self.worst_chosen(round, numbers) else { continue };
            self.change(out, false);
            self.candidates[out].free_from = round + OUT_ROUNDS + numbers.next_u32() % OUT_ROUNDS;
            let next = self.best_to_add(round, numbers).unwrap_or(out);
            self.change(next, true);
            self.candidates[next].free_from = round + OUT_ROUNDS / 2;
        }
    }

    fn sets_of(&self, candidate: usize) -> &[u32] {
        &self.sets[candidate * self.lines..][..self.lines]
    }

    fn change(&mut self, candidate: usize, is_chosen: bool) {
        self.candidates[candidate].is_chosen = is_chosen;
        for &set in &self.sets[candidate * self.lines..][..self.lines] {
            let filled = &mut self.filled[set as usize];
            *filled = if is_chosen { *filled + 1 } else { *filled - 1 };
        }
    }

    /// The buffer that is not chosen and fills the least filled sets.
    fn best_to_add(&self, round: u32, numbers: &mut impl RngCore) -> Option<usize> {
        let open = self.candidates.iter().enumerate();
        let open = open.filter(|(_, it)| !it.is_chosen && it.free_from <= round);
        let cost = |(candidate, _): (usize, _)| {
            let lines = self.sets_of(candidate).iter().map(|&set| self.filled[set as usize]);
            let cost: u32 = lines
                .map(|filled| 2 * filled + if filled >= self.most { OVERFULL } else { 0 })
                .sum();
            (cost, numbers.next_u32(), candidate)
        };
        open.take(COMPARED).map(cost).min().map(|(.., candidate)| candidate)
    }

    /// The chosen buffer whose removal relieves overfull sets most; `None` if all such are kept for now.
    fn worst_chosen(&self, round: u32, numbers: &mut impl RngCore) -> Option<usize> {
        let chosen = self.candidates.iter().enumerate();
        let chosen = chosen.filter(|(_, it)| it.is_chosen && it.free_from <= round);
        let relief = |(candidate, _): (usize, _)| {
            let lines = self.sets_of(candidate).iter().map(|&set| self.filled[set as usize]);
            let relief: u32 = lines
                .map(|filled| 2 * filled + if filled > self.most { OVERFULL } else { 0 })
                .sum();
            (relief >= OVERFULL).then(|| (relief, numbers.next_u32(), candidate))
        };
        chosen.filter_map(relief).max().map(|(.., candidate)| candidate)
    }
}
