//! The order of a pointer chase: one cycle through all lines of a working set, at random.
//!
//! The chase visits one line of each pair, so that it never uses what a prefetcher fetches beside a
//! miss: even lines of some pages, odd lines of the others. The Thue-Morse sequence decides which
//! (parity of the ones in the page's number): neighbouring pages, and pages any power of two apart,
//! then fill the sets of a cache evenly. The cycle leaves a window of pages only after all of its
//! lines: a page costs one TLB miss per round, not one per line. The simulated kernel
//! (`workload::kernel`) uses the same order.

use super::{LINE_BYTES, PAGE_BYTES};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::narrow::fit;

/// Neighbouring lines of which the chase visits one.
pub(super) const PAIR_LINES: usize = 2;
/// Pages of a window: fewer than any L1 TLB has entries.
pub(super) const WINDOW_PAGES: usize = 32;
/// Lines of a page that the chase visits.
const PAGE_LINES: usize = PAGE_BYTES / LINE_BYTES / PAIR_LINES;

/// Bytes of memory over which a working set is spread.
pub(super) fn spread_bytes(working_set_bytes: usize) -> usize {
    (working_set_bytes * PAIR_LINES).next_multiple_of(PAGE_BYTES)
}

/// Offset of the first byte of a line, by its number.
pub(super) fn line_byte(line: usize) -> usize {
    let (page, within) = (line / PAGE_LINES, line % PAGE_LINES);
    let odd = page.count_ones() as usize % PAIR_LINES;
    page * PAGE_BYTES + (within * PAIR_LINES + odd) * LINE_BYTES
}

/// Random order in which `lines` lines are visited.
pub(super) fn order(lines: usize, seed: u64) -> Vec<u32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let window_lines = WINDOW_PAGES * PAGE_LINES;
    let mut windows: Vec<usize> = (0..lines.div_ceil(window_lines)).collect();
    shuffle(&mut windows, &mut rng);
    let mut order = Vec::with_capacity(lines);
    for window in windows {
        let first = order.len();
        let end = lines.min((window + 1) * window_lines);
        order.extend((window * window_lines..end).map(fit::<u32, _>));
        shuffle(&mut order[first..], &mut rng);
    }
    order
}

/// Fisher and Yates; the bound is small against 2^32.
fn shuffle<T>(values: &mut [T], rng: &mut Xoshiro256PlusPlus) {
    for last in (1..values.len()).rev() {
        let other = (u64::from(rng.next_u32()) * (last as u64 + 1)) >> 32;
        values.swap(last, other as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_line_of_each_pair_takes_part_and_half_of_the_pages_use_the_odd_ones() {
        let bytes: Vec<usize> = [0, 1, 31, 32, 33, 64, 96].map(line_byte).to_vec();
        assert_eq!(bytes, [0, 128, 31 * 128, 4096 + 64, 4096 + 192, 8192 + 64, 3 * 4096]);
    }

    #[test]
    fn pages_side_by_side_fill_the_sets_of_any_cache_evenly() {
        for sets in [64, 1024, 2048, 32_768] {
            let mut filled = vec![0; sets];
            (0..8 * sets).for_each(|line| filled[line_byte(line) / LINE_BYTES % sets] += 1);
            assert!(filled.iter().all(|&lines| lines == 8), "{sets} sets");
        }
    }

    proptest! {
        #[test]
        fn every_line_is_visited_once_and_no_two_of_a_pair(lines in 1_usize..5_000, seed: u64) {
            let mut order = order(lines, seed);
            order.sort_unstable();
            prop_assert_eq!(&order, &(0..fit(lines)).collect::<Vec<_>>());
            let pair = |line: &u32| line_byte(*line as usize) / LINE_BYTES / PAIR_LINES;
            let pairs: std::collections::BTreeSet<_> = order.iter().map(pair).collect();
            prop_assert_eq!(pairs.len(), lines);
        }

        #[test]
        fn a_window_of_pages_is_finished_before_the_next(lines in 1_usize..20_000, seed: u64) {
            let window = WINDOW_PAGES * PAGE_LINES;
            let mut visited: Vec<u32> =
                order(lines, seed).iter().map(|line| line / fit::<u32, _>(window)).collect();
            visited.dedup();
            prop_assert_eq!(visited.len(), lines.div_ceil(window));
        }
    }
}
