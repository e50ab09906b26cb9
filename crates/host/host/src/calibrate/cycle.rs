//! A pointer chase: each word of a cycle holds the address of the next.
//!
//! The only unsafe code of the calibration. Indices instead of pointers would need none, but their
//! scaled addresses cost a cycle on some cores, which would then be in every latency.

use super::{LINE_BYTES, chain};
use std::hint::black_box;
use std::time::Instant;
use units::narrow::usize_from;

/// Steps that the compiler lays out one after another.
const UNROLLED: usize = 8;

/// A cycle of pointers through memory that it borrows exclusively.
#[derive(Debug)]
pub(super) struct Cycle<'w> {
    words: &'w mut [u64],
    /// Index of the current word of the chase.
    at: usize,
}

impl<'w> Cycle<'w> {
    /// Writes a cycle through the words with these indices, in this order; the chase begins at the first.
    ///
    /// # Panics
    /// If there is no index, or one lies beyond the words.
    pub(super) fn new(words: &'w mut [u64], indices: &[usize]) -> Self {
        let base = words.as_ptr().expose_provenance();
        let next = indices.iter().cycle().skip(1);
        for (&index, &next) in indices.iter().zip(next) {
            assert!(next < words.len());
            words[index] = (base + next * size_of::<u64>()) as u64;
        }
        Self { words, at: indices[0] }
    }

    /// Writes a cycle through lines in the given order.
    pub(super) fn through_lines(words: &'w mut [u64], order: &[u32]) -> Self {
        let word_of = |line: &u32| chain::line_byte(*line as usize) / size_of::<u64>();
        let indices: Vec<usize> = order.iter().map(word_of).collect();
        Self::new(words, &indices)
    }

    /// Follows the cycle for at least `steps` steps; returns the mean time of a step in ns.
    #[allow(unsafe_code)]
    pub(super) fn step_ns(&mut self, steps: usize) -> f64 {
        let rounds = steps.div_ceil(UNROLLED);
        let base = self.words.as_ptr().expose_provenance();
        let mut here: *const u64 = &raw const self.words[self.at];
        let started = Instant::now();
        for _ in 0..rounds {
            for _ in 0..UNROLLED {
                // SAFETY: `here` begins at a word of the cycle, and each of these holds the address
                // of another one (`new` wrote them, nothing else can while `words` is borrowed), so
                // it always points to an initialised, aligned word of the borrowed memory, whose
                // provenance was exposed.
                here = unsafe { std::ptr::with_exposed_provenance(usize_from(here.read())) };
            }
        }
        let elapsed = started.elapsed();
        self.at = (black_box(here).addr() - base) / size_of::<u64>();
        elapsed.as_nanos() as f64 / (rounds * UNROLLED) as f64
    }

    /// Current line of the chase.
    #[cfg(test)]
    pub(super) fn line(&self) -> usize {
        self.at * size_of::<u64>() / LINE_BYTES
    }
}

/// Number of lines, each on a page of its own: few enough for any L1D, more than any L1 TLB has entries.
pub(super) const SPARSE_LINES: usize = 384;
/// Bytes that [`through_pages`] needs.
pub(super) const SPARSE_BYTES: usize = SPARSE_LINES * super::PAGE_BYTES;

/// A chase through L1D whose lines are on a page each. It is slower than one through neighbouring lines
/// if the processor's translations are no larger than small pages, whatever pages the system reports: a
/// hypervisor's pages matter too.
pub(super) fn through_pages(words: &mut [u64], seed: u64) -> Cycle<'_> {
    // Line i of page i, so that the sets of L1D are evenly filled.
    let word_of = |page: u32| {
        let page = page as usize;
        (page * super::PAGE_BYTES + page * LINE_BYTES % super::PAGE_BYTES) / size_of::<u64>()
    };
    let order = chain::order(SPARSE_LINES, seed);
    let indices: Vec<usize> = order.into_iter().map(word_of).collect();
    Cycle::new(words, &indices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_chase_meets_every_line_once_and_comes_back(rounds in 1_usize..600, seed: u64) {
            // Steps come in eights: so do the lines.
            let lines = rounds * UNROLLED;
            let mut words = vec![0; chain::spread_bytes(lines * LINE_BYTES) / size_of::<u64>()];
            let order = chain::order(lines, seed);
            let mut cycle = Cycle::through_lines(&mut words, &order);
            let begin = cycle.line();
            let mut seen = BTreeSet::new();
            for _ in 0..rounds {
                prop_assert!(seen.insert(cycle.line()));
                cycle.step_ns(UNROLLED);
            }
            prop_assert_eq!(cycle.line(), begin);
            let lines_of_order: BTreeSet<usize> =
                order.iter().map(|&line| chain::line_byte(line as usize) / LINE_BYTES).collect();
            prop_assert!(seen.is_subset(&lines_of_order));
            prop_assert_eq!(lines_of_order.len(), lines);
        }
    }

    #[test]
    fn the_chase_with_a_line_per_page_touches_as_many_pages_as_lines() {
        let mut words = vec![0; SPARSE_BYTES / size_of::<u64>()];
        through_pages(&mut words, 1);
        let pages = words.chunks(512).filter(|page| page.iter().any(|&word| word != 0)).count();
        assert_eq!(pages, SPARSE_LINES);
    }

    #[test]
    #[should_panic(expected = "next < words.len()")]
    fn a_cycle_cannot_leave_its_memory() {
        Cycle::new(&mut [0; 4], &[1, 4]);
    }
}
