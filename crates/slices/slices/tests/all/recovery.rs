//! Does the recovery find what the emulated counters follow?

use crate::emulated::{Counters, Noise, pages, table};
use address_map::{SliceFunction, XOR_MASKS};
use proptest::prelude::*;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slices::recovery::{HugePage, HugePageSize, Recovered, Settings, recover};
use slices::{Coverage, SliceMap, TableFile};

/// 128 GiB.
const MEMORY_BITS: u32 = 37;

/// Slices and log2 of the sequence's length. 18, 26, 40 and 56 have published lengths, those of 14
/// and 28 are chosen among them.
const SEQUENCES: [(u32, u32); 6] = [(14, 14), (18, 12), (26, 14), (28, 12), (40, 9), (56, 14)];

fn functions() -> Vec<(u32, SliceFunction)> {
    let xor = (1..=4).map(|bits| (1 << bits, SliceFunction::xor(&XOR_MASKS[..bits])));
    let sequences = SEQUENCES.iter().map(|&(slices, bits)| {
        let table = table(slices, bits, MEMORY_BITS, u64::from(slices));
        (slices, SliceFunction::base_sequence(&table).expect("is valid"))
    });
    xor.chain(sequences).collect()
}

fn settings() -> Settings {
    Settings::new("a test part", "emulated counters")
}

fn found(counters: &mut Counters, pages: &[HugePage]) -> Recovered {
    recover(counters, pages, &settings()).expect("there is enough evidence")
}

/// Mismatches among `count` addresses that `address` makes of random numbers.
fn mismatches(
    recovered: &Recovered,
    counters: &Counters,
    count: usize,
    address: impl Fn(u64) -> u64,
) -> usize {
    let map = SliceMap::new(&recovered.file).expect("is valid");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    (0..count)
        .map(|_| address(random.next_u64()))
        .filter(|&address| map.slice_of(address) != Ok(counters.slice(address)))
        .count()
}

#[test]
fn pages_of_2_mib_and_5_percent_noise_show_the_whole_function_without_a_mismatch() {
    let pages = pages(48, HugePageSize::TwoMiB, MEMORY_BITS, 3);
    for (slices, function) in functions() {
        let mut counters = Counters::new(&function, slices, &pages, Noise::Spread(0.05));
        let recovered = found(&mut counters, &pages);
        assert_eq!(recovered.file.coverage, Coverage::Below(1 << MEMORY_BITS));
        let anywhere = |random| random % (1 << MEMORY_BITS);
        assert_eq!(mismatches(&recovered, &counters, 1_000_000, anywhere), 0);
        let evidence = recovered.file.evidence.expect("was recovered");
        println!("{slices} slices, {} lines: {evidence:?}", recovered.file.table.base.len());
        assert!((evidence.contradicting_share - 0.05).abs() < 0.01);
        assert!(evidence.foretold_pages >= 48 - 17);
    }
}

#[test]
fn three_pages_of_1_gib_show_the_function_where_they_are_and_nowhere_else() {
    let pages = pages(3, HugePageSize::OneGiB, MEMORY_BITS, 4);
    for (slices, function) in functions() {
        let mut counters = Counters::new(&function, slices, &pages, Noise::Spread(0.05));
        let recovered = found(&mut counters, &pages);
        let in_pages =
            |random: u64| pages[random as usize % 3].start | random >> 8 & ((1 << 30) - 1);
        assert_eq!(mismatches(&recovered, &counters, 1_000_000, in_pages), 0);
        // Two differences span four GiB of 128, the fourth being what three pages foretell.
        let map = SliceMap::new(&recovered.file).expect("is valid");
        let covered = (0..128u64).filter(|gib| map.slice_of(gib << 30).is_ok()).count();
        assert_eq!(covered, 4);
        let fourth = pages[0].start ^ pages[1].start ^ pages[2].start;
        let in_fourth = |random: u64| fourth | (random % (1 << 30));
        assert_eq!(mismatches(&recovered, &counters, 1000, in_fourth), 0);
    }
}

#[test]
fn wrong_answers_that_are_all_alike_or_come_in_bursts_mislead_nobody() {
    let pages = pages(24, HugePageSize::TwoMiB, 34, 5);
    let table = table(18, 9, 34, 5);
    let sequence = SliceFunction::base_sequence(&table).expect("is valid");
    for (slices, function) in [(18, sequence), (8, SliceFunction::xor(&XOR_MASKS[..3]))] {
        for noise in [
            Noise::Next(0.2),
            Noise::Busy(0.2),
            Noise::Unclear(0.5),
            Noise::Bursts(0.1),
            Noise::Spread(0.25),
        ] {
            let mut counters = Counters::new(&function, slices, &pages, noise);
            let recovered = found(&mut counters, &pages);
            let in_pages =
                |random: u64| pages[random as usize % 24].start | random >> 8 & ((1 << 21) - 1);
            assert_eq!(mismatches(&recovered, &counters, 10_000, in_pages), 0, "{noise:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: soak::amount(24, 500), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn every_sequence_is_found_at_up_to_15_percent_noise(
        slices in 2..=60u32,
        longer in 0..4u32,
        noise in 0.0..0.15,
        seed in any::<u64>(),
    ) {
        let bits = (slices - 1).ilog2() + 3 + longer;
        let table = table(slices, bits, 34, seed);
        let function = SliceFunction::base_sequence(&table).expect("is valid");
        let pages = pages(40, HugePageSize::TwoMiB, 34, seed);
        let mut counters = Counters::new(&function, slices, &pages, Noise::Spread(noise));
        let recovered = found(&mut counters, &pages);
        prop_assert_eq!(&recovered.file.coverage, &Coverage::Below(1 << 34));
        let anywhere = |random| random % (1 << 34);
        prop_assert_eq!(mismatches(&recovered, &counters, 50_000, anywhere), 0);
    }
}

#[test]
fn published_xor_masks_come_out_as_masks() {
    let pages = pages(48, HugePageSize::TwoMiB, 38, 6);
    for bits in 1..=4 {
        let function = SliceFunction::xor(&XOR_MASKS[..bits]);
        let mut counters = Counters::new(&function, 1 << bits, &pages, Noise::Spread(0.05));
        let recovered = found(&mut counters, &pages);
        assert_eq!(recovered.xor_masks.as_deref(), Some(&XOR_MASKS[..bits]));
    }
}

#[test]
fn xor_functions_whose_slices_are_numbered_otherwise_come_out_as_sequences() {
    let pages = pages(48, HugePageSize::TwoMiB, MEMORY_BITS, 8);
    let xor = SliceFunction::xor(&XOR_MASKS[..3]);
    let counters = Counters::new(&xor, 8, &pages, Noise::Spread(0.0));
    let names = [3, 1, 4, 0, 5, 7, 2, 6];
    let mut renamed = table(8, 4, MEMORY_BITS, 1);
    for (index, slice) in renamed.base.iter_mut().enumerate() {
        *slice = names[usize::from(counters.slice(index as u64 * 64).0)];
    }
    let function = SliceFunction::base_sequence(&renamed).expect("is valid");
    let mut counters = Counters::new(&function, 8, &pages, Noise::Spread(0.05));
    let recovered = found(&mut counters, &pages);
    assert_eq!(recovered.xor_masks, None);
    let anywhere = |random| random % (1 << MEMORY_BITS);
    assert_eq!(mismatches(&recovered, &counters, 100_000, anywhere), 0);
}

#[test]
fn a_single_line_that_differs_makes_a_sequence_long() {
    let short = table(18, 9, 34, 10);
    let pages = pages(32, HugePageSize::TwoMiB, 34, 10);
    for line in [600, 5000, 16_383] {
        let mut long = table(18, 14, 34, 10);
        long.base = short.base.iter().copied().cycle().take(1 << 14).collect();
        long.base[line] = (long.base[line] + 1) % 18;
        let function = SliceFunction::base_sequence(&long).expect("is valid");
        let mut counters = Counters::new(&function, 18, &pages, Noise::Spread(0.1));
        let recovered = found(&mut counters, &pages);
        assert_eq!(recovered.file.table.base.len(), 1 << 14);
        let anywhere = |random| random % (1 << 34);
        assert_eq!(mismatches(&recovered, &counters, 1_000_000, anywhere), 0);
    }
}

#[test]
fn a_recovered_table_survives_its_file_with_coverage_and_evidence() {
    for count in [2, 48] {
        let pages = pages(count, HugePageSize::TwoMiB, MEMORY_BITS, 9);
        let function = SliceFunction::base_sequence(&table(40, 9, MEMORY_BITS, 9)).expect("ok");
        let mut counters = Counters::new(&function, 40, &pages, Noise::Spread(0.05));
        let file = found(&mut counters, &pages).file;
        assert_eq!(matches!(file.coverage, Coverage::Only(_)), count == 2);
        assert!(file.evidence.is_some());
        assert_eq!(TableFile::read(&file.write()).expect("is valid"), file);
    }
}
