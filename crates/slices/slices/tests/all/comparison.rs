//! Does a comparison find a wrong table, whatever is wrong with it, and no fault in a right one?

use crate::emulated::{Counters, Noise, pages};
use address_map::SliceFunction;
use slices::comparison::{Comparison, ComparisonError, ComparisonPlan, compare};
use slices::published::named;
use slices::recovery::HugePageSize;
use slices::{SliceMap, TableFile};

const PLAN: ComparisonPlan = ComparisonPlan { addresses: 2048, seed: 7 };

/// A machine that follows `truth`, compared with `table`.
fn compared(truth: &TableFile, table: &TableFile, noise: Noise) -> Comparison {
    let pages = pages(64, HugePageSize::TwoMiB, 37, 5);
    let function = SliceFunction::base_sequence(&truth.table).expect("is valid");
    let mut oracle = Counters::new(&function, truth.table.slices, &pages, noise);
    let map = SliceMap::new(table).expect("is valid");
    compare(&mut oracle, &pages, &map, PLAN).expect("can be compared")
}

fn file(name: &str) -> TableFile {
    named(name).expect("is published").file()
}

#[test]
fn a_right_table_agrees_everywhere_at_the_noise_that_a_recovery_bears() {
    for name in ["skx-18", "icx-40", "spr-60"] {
        for noise in [
            Noise::Spread(0.0),
            Noise::Spread(0.3),
            Noise::Next(0.3),
            Noise::Busy(0.25),
            Noise::Unclear(0.3),
            Noise::Bursts(0.3),
        ] {
            let found = compared(&file(name), &file(name), noise);
            assert_eq!((found.agreeing, found.differing), (2048, 0), "{name}, {noise:?}");
            assert_eq!(found.names, None, "{name}, {noise:?}");
        }
    }
    let quiet = compared(&file("skx-18"), &file("skx-18"), Noise::Spread(0.05));
    assert!(quiet.questions < 6000, "{}", quiet.questions);
}

#[test]
fn a_bit_that_a_mask_lacks_is_named() {
    let mut wrong = file("skx-18");
    wrong.table.perm_masks[3] ^= 1 << 34;
    let found = compared(&file("skx-18"), &wrong, Noise::Spread(0.1));
    assert!((700..1400).contains(&found.differing), "{found:?}");
    assert_eq!(found.patterns[0].bits, [34], "{found:?}");
    assert!(found.patterns[0].share_odd > 0.99 && found.patterns[0].share_even == 0.0);
    wrong.table.perm_masks[3] ^= 1 << 22;
    let found = compared(&file("skx-18"), &wrong, Noise::Spread(0.1));
    assert_eq!(found.patterns[0].bits, [22, 34], "{found:?}");
}

#[test]
fn one_wrong_line_of_a_short_sequence_is_found() {
    let mut wrong = file("skx-20");
    wrong.table.base.swap(10, 11);
    let found = compared(&file("skx-20"), &wrong, Noise::Spread(0.05));
    // Two lines of 256.
    assert!((6..30).contains(&found.differing), "{found:?}");
}

#[test]
fn another_part_of_as_many_slices_differs_without_a_pattern() {
    let found = compared(&file("skx-28"), &file("icx-28"), Noise::Spread(0.05));
    assert!(found.differing > 1400 && found.patterns.is_empty(), "{found:?}");
}

#[test]
fn the_same_function_under_other_names_is_told_apart() {
    let mut other = file("skx-18");
    other.table.base.iter_mut().for_each(|slice| *slice = (*slice + 5) % 18);
    let found = compared(&file("skx-18"), &other, Noise::Spread(0.2));
    assert_eq!(found.agreeing, 2048);
    let expected: Vec<u16> = (0..18).map(|slice| (slice + 13) % 18).collect();
    assert_eq!(found.names, Some(expected));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let pages = pages(2, HugePageSize::TwoMiB, 37, 5);
    let truth = file("skx-18");
    let function = SliceFunction::base_sequence(&truth.table).expect("is valid");
    let mut oracle = Counters::new(&function, 18, &pages, Noise::Spread(0.0));
    let map = SliceMap::new(&file("skx-20")).expect("is valid");
    let error = compare(&mut oracle, &pages, &map, PLAN).expect_err("is refused");
    assert_eq!(error, ComparisonError::Slices { table: 20, oracle: 18 });
    let mut low = truth;
    low.coverage = slices::Coverage::Below(1 << 21);
    let map = SliceMap::new(&low).expect("is valid");
    let error = compare(&mut oracle, &pages, &map, PLAN).expect_err("is refused");
    assert!(matches!(error, ComparisonError::NotCovered { .. }), "{error}");
}
