//! Does the recovery say so when the answers do not suffice?

use crate::emulated::{Counters, Noise, pages, table};
use address_map::{SliceFunction, XOR_MASKS};
use proptest::prelude::*;
use slices::SliceMap;
use slices::recovery::{
    HugePage, HugePageSize, NotEnoughEvidence, OracleAnswer, PagesError, RecoveryError, Settings,
    SliceOracle, recover,
};
use std::fmt::{self, Display};
use units::SliceId;

fn settings() -> Settings {
    Settings::new("a test part", "emulated counters")
}

fn reason<O: SliceOracle>(oracle: &mut O, pages: &[HugePage]) -> NotEnoughEvidence {
    match recover(oracle, pages, &settings()) {
        Err(RecoveryError::NotEnoughEvidence(reason)) => reason,
        Err(error) => panic!("{error}"),
        Ok(recovered) => panic!("accepted {:?}", recovered.file.evidence),
    }
}

/// XOR functions with any masks, and sequences of any number of slices and length.
fn functions() -> impl Strategy<Value = (u32, SliceFunction)> {
    let masks = proptest::collection::vec((1..1u64 << 28).prop_map(|mask| mask << 6), 1..=5);
    let sequence = (2..=60u32, 0..4u32, any::<u64>()).prop_map(|(slices, longer, seed)| {
        let bits = (slices - 1).ilog2() + 3 + longer;
        let table = table(slices, bits, 34, seed);
        (slices, SliceFunction::base_sequence(&table).expect("is valid"))
    });
    prop_oneof![masks.prop_map(|masks| (1 << masks.len(), SliceFunction::xor(&masks))), sequence,]
}

fn noises() -> impl Strategy<Value = Noise> {
    (0..6u32, 0.0..0.6).prop_map(|(kind, share)| match kind {
        0 | 1 => Noise::Spread(share),
        2 => Noise::Next(share),
        3 => Noise::Busy(share),
        4 => Noise::Sticky(share),
        _ => Noise::Bursts(share),
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: soak::amount(128, 2_000), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn no_noise_and_no_budget_leads_to_a_wrong_table(
        (slices, function) in functions(),
        noise in noises(),
        size in prop_oneof![Just(HugePageSize::TwoMiB), Just(HugePageSize::OneGiB)],
        count in 1..8usize,
        seed in any::<u64>(),
        most_questions in prop_oneof![0..200_000u64, Just(2_000_000)],
    ) {
        let pages = pages(count, size, 34, seed);
        let mut counters = Counters::new(&function, slices, &pages, noise);
        let settings = Settings { most_questions, seed, ..settings() };
        match recover(&mut counters, &pages, &settings) {
            Ok(recovered) => {
                let map = SliceMap::new(&recovered.file).expect("is valid");
                for page in &pages {
                    for line in 0..1u64 << 15 {
                        // All lines of a small page, some of a large one.
                        let address = page.start + (line << (size.bits() - 15));
                        prop_assert_eq!(map.slice_of(address), Ok(counters.slice(address)));
                    }
                }
                let mut state = seed;
                for _ in 0..20_000 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let address = state >> 30;
                    if let Ok(slice) = map.slice_of(address) {
                        prop_assert_eq!(slice, counters.slice(address));
                    }
                }
            }
            Err(error) => prop_assert!(
                matches!(error, RecoveryError::NotEnoughEvidence(_)), "{:?}", error
            ),
        }
    }
}

#[test]
fn answers_that_are_wrong_more_often_than_one_in_three_are_too_noisy() {
    let pages = pages(4, HugePageSize::TwoMiB, 34, 1);
    for (bits, share) in [(1, 0.4), (1, 0.5), (1, 0.6), (3, 0.4), (3, 0.6), (3, 0.9)] {
        let function = SliceFunction::xor(&XOR_MASKS[..bits]);
        let mut counters = Counters::new(&function, 1 << bits, &pages, Noise::Spread(share));
        let reason = reason(&mut counters, &pages);
        assert!(matches!(reason, NotEnoughEvidence::TooNoisy { .. }), "{share}: {reason}");
    }
}

#[test]
fn functions_of_no_known_kind_fit_nothing() {
    let pages = pages(4, HugePageSize::TwoMiB, 34, 2);
    // Rotation over 2^n slices would be a sequence of 2^14 lines that is never rearranged.
    for (slices, function) in [
        (8, SliceFunction::Mixing),
        (18, SliceFunction::Mixing),
        (18, SliceFunction::Rotating),
        (18, SliceFunction::balanced()),
    ] {
        let mut counters = Counters::new(&function, slices, &pages, Noise::Spread(0.05));
        let reason = reason(&mut counters, &pages);
        assert_eq!(reason, NotEnoughEvidence::NothingFits { longest: 16_384 });
    }
}

#[test]
fn lines_that_always_answer_wrongly_are_not_taken_for_the_function() {
    let pages = pages(4, HugePageSize::TwoMiB, 34, 3);
    let function = SliceFunction::base_sequence(&table(18, 9, 34, 3)).expect("is valid");
    let mut counters = Counters::new(&function, 18, &pages, Noise::Sticky(0.01));
    let reason = reason(&mut counters, &pages);
    assert_eq!(reason, NotEnoughEvidence::NothingFits { longest: 16_384 });
}

#[test]
fn a_budget_that_runs_out_is_named_with_what_was_being_done() {
    let pages = pages(4, HugePageSize::TwoMiB, 34, 4);
    let function = SliceFunction::base_sequence(&table(18, 12, 34, 4)).expect("is valid");
    for (most_questions, stage) in [
        (1000, "while the noise was measured"),
        (20_000, "while the lines of a block were put to the vote"),
    ] {
        let mut counters = Counters::new(&function, 18, &pages, Noise::Spread(0.05));
        let settings = Settings { most_questions, ..settings() };
        let error = recover(&mut counters, &pages, &settings).expect_err("is too little");
        let text = error.to_string();
        let wanted = format!(
            "not enough evidence: all {most_questions} questions of the budget were asked {stage}"
        );
        assert!(text.starts_with(&wanted), "{text}");
    }
}

/// Counters of a part that has fewer slices than boxes, or that stop working.
struct Faulty {
    counters: Counters,
    boxes: u32,
    works_for: u32,
}

#[derive(Debug)]
struct Gone;

impl Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the counters are gone")
    }
}

impl std::error::Error for Gone {}

impl SliceOracle for Faulty {
    type Error = Gone;

    fn slices(&self) -> u32 {
        self.boxes
    }

    fn ask(&mut self, address: u64) -> Result<OracleAnswer, Gone> {
        self.works_for = self.works_for.checked_sub(1).ok_or(Gone)?;
        self.counters.ask(address).map_err(|never| match never {})
    }
}

fn faulty(boxes: u32, works_for: u32, pages: &[HugePage]) -> Faulty {
    let function = SliceFunction::base_sequence(&table(18, 9, 34, 5)).expect("is valid");
    let counters = Counters::new(&function, 18, pages, Noise::Spread(0.05));
    Faulty { counters, boxes, works_for }
}

#[test]
fn a_box_without_a_slice_is_named() {
    let pages = pages(4, HugePageSize::TwoMiB, 34, 5);
    let reason = reason(&mut faulty(20, u32::MAX, &pages), &pages);
    assert_eq!(reason, NotEnoughEvidence::SliceNeverSeen(18));
}

#[test]
fn a_failing_oracle_ends_the_recovery_with_its_error() {
    let pages = pages(4, HugePageSize::TwoMiB, 34, 5);
    let error = recover(&mut faulty(18, 5000, &pages), &pages, &settings()).expect_err("fails");
    assert!(matches!(error, RecoveryError::Oracle(Gone)), "{error:?}");
}

#[test]
fn settings_without_meaning_are_refused() {
    let pages = pages(4, HugePageSize::TwoMiB, 34, 5);
    let refused = |settings| recover(&mut faulty(18, 0, &pages), &pages, &settings).expect_err("");
    let error = refused(Settings { error_probability: 0.0, ..settings() }).to_string();
    assert_eq!(error, "`error_probability` is 0; allowed: 1e-12 to 0.1");
    let error = refused(Settings { hold_out_addresses: 0, ..settings() }).to_string();
    assert_eq!(error, "`hold_out_addresses` is 0; allowed: 1024 to 1048576");
}

#[test]
fn one_slice_is_nothing_to_be_found() {
    let pages = pages(4, HugePageSize::TwoMiB, 34, 5);
    let error = recover(&mut faulty(1, 0, &pages), &pages, &settings()).expect_err("fails");
    assert_eq!(error.to_string(), "1 slices; allowed: 2 to 256");
}

#[test]
fn pages_that_cannot_be_are_refused() {
    let page = |start| HugePage { start, size: HugePageSize::TwoMiB };
    let refused = |pages: &[HugePage]| match recover(&mut faulty(18, 0, &[]), pages, &settings()) {
        Err(RecoveryError::Pages(error)) => error,
        other => panic!("{}", other.is_ok()),
    };
    assert_eq!(refused(&[]), PagesError::None);
    let unaligned = PagesError::Unaligned { page: 1, start: 0x30_0000, bits: 21 };
    assert_eq!(refused(&[page(0), page(0x30_0000)]), unaligned);
    let high = PagesError::TooHigh { page: 0, start: 1 << 41 };
    assert_eq!(refused(&[page(1 << 41)]), high);
    let large = HugePage { start: 0, size: HugePageSize::OneGiB };
    let overlap = PagesError::Overlap { one: 0, other: 0x20_0000 };
    assert_eq!(refused(&[page(0x20_0000), large]), overlap);
}

#[test]
fn an_address_that_the_table_does_not_cover_is_refused() {
    let pages = [HugePage { start: 5 << 30, size: HugePageSize::OneGiB }];
    let function = SliceFunction::xor(&XOR_MASKS[..2]);
    let mut counters = Counters::new(&function, 4, &pages, Noise::Spread(0.05));
    let file = recover(&mut counters, &pages, &settings()).expect("is enough").file;
    let map = SliceMap::new(&file).expect("is valid");
    assert!(map.slice_of(5 << 30).is_ok());
    let error = map.slice_of(4 << 30).expect_err("is not covered");
    assert!(error.to_string().contains("does not cover physical address 0x100000000"), "{error}");
    let mut slices = [SliceId(0); 2];
    assert_eq!(map.slices_of(&[5 << 30, 4 << 30], &mut slices), Err(error));
}

/// Names all slices otherwise after so many questions, and keeps to that.
struct Renaming {
    counters: Counters,
    asked: u64,
    after: u64,
}

impl SliceOracle for Renaming {
    type Error = <Counters as SliceOracle>::Error;

    fn slices(&self) -> u32 {
        self.counters.slices()
    }

    fn ask(&mut self, address: u64) -> Result<OracleAnswer, Self::Error> {
        self.asked += 1;
        Ok(match self.counters.ask(address)? {
            OracleAnswer::Slice(slice) if self.asked > self.after => {
                let renamed = (u32::from(slice.0) + 1) % self.slices();
                OracleAnswer::Slice(SliceId(u16::try_from(renamed).expect("was one before")))
            }
            answer => answer,
        })
    }
}

#[test]
fn slices_that_are_renamed_once_the_noise_is_known_are_refused() {
    let table = table(18, 12, 37, 18);
    let sequence = SliceFunction::base_sequence(&table).expect("is valid");
    let pages = pages(64, HugePageSize::TwoMiB, 37, 5);
    for (slices, function) in [(8, SliceFunction::xor(&XOR_MASKS[..3])), (18, sequence)] {
        let counters = Counters::new(&function, slices, &pages, Noise::Spread(0.05));
        let mut renaming = Renaming { counters, asked: 0, after: 64 * 64 };
        let reason = reason(&mut renaming, &pages);
        assert!(matches!(reason, NotEnoughEvidence::Changed { .. }), "{reason}");
    }
}
