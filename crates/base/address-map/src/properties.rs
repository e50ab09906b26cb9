//! Properties of every slice function, whatever its tables.

use crate::{AddressMap, SetFunction, SliceFunction, SliceTable, SliceTableError, XOR_MASKS};
use proptest::prelude::*;
use units::{LINE_BYTES, LineAddr, SetIndex};

/// Slices and log2 of the sequence's length, as published for real processors.
const SHAPES: [(u32, u32); 4] = [(18, 12), (26, 14), (40, 9), (56, 14)];

/// Highest line number at which a block of up to 2^16 lines still has supported addresses.
const BLOCKS: std::ops::Range<u64> = 0..1 << 16;

fn table(slices: u32, base: Vec<u16>, perm_masks: Vec<u64>) -> SliceTable {
    let valid_bits = (6, 37);
    let (part, source) = ("a test part".into(), "made up".into());
    SliceTable { part, source, slices, base, perm_masks, valid_bits }
}

/// A sequence over `slices` slices of which the last third gets about `light` of a fair share.
fn sequence(slices: u32, length: usize, light: f64, order: &[u16]) -> Vec<u16> {
    let fair = length as f64 / f64::from(slices);
    let mut base = Vec::new();
    for slice in slices - slices / 3..slices {
        base.extend(std::iter::repeat_n(slice as u16, (fair * light).round() as usize));
    }
    let heavy = slices - slices / 3;
    base.extend((base.len()..length).map(|place| (place as u32 % heavy) as u16));
    for (place, &draw) in order.iter().take(length).enumerate() {
        base.swap(place, usize::from(draw) % length);
    }
    base
}

/// Tables with the shape of a real processor and random content.
fn tables() -> impl Strategy<Value = SliceTable> {
    (0..SHAPES.len(), 0.69..0.98f64)
        .prop_flat_map(|(shape, light)| {
            let (slices, bits) = SHAPES[shape];
            let masks = proptest::collection::vec(0..1u64 << (38 - 6 - bits), bits as usize);
            let order = proptest::collection::vec(any::<u16>(), 1 << bits);
            (Just((slices, bits, light)), masks, order)
        })
        .prop_map(|((slices, bits, light), masks, order)| {
            let masks = masks.into_iter().map(|mask| mask << (6 + bits)).collect();
            table(slices, sequence(slices, 1 << bits, light, &order), masks)
        })
}

fn count(function: &SliceFunction, slices: u32, lines: std::ops::Range<u64>) -> Vec<u32> {
    let mut counts = vec![0; slices as usize];
    lines.for_each(|line| counts[function.slice(LineAddr(line), slices) as usize] += 1);
    counts
}

fn functions() -> impl Strategy<Value = (SliceFunction, u32)> {
    prop_oneof![
        (1..=4u32).prop_map(|bits| (SliceFunction::xor(&XOR_MASKS[..bits as usize]), 1 << bits)),
        (2..=60u32).prop_map(|slices| (SliceFunction::balanced(), slices)),
        (2..=60u32).prop_map(|slices| (SliceFunction::Mixing, slices)),
        tables().prop_map(|table| {
            (SliceFunction::base_sequence(&table).expect("is valid"), table.slices)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_run_of_lines_has_the_sets_of_its_lines(
        table in tables(),
        first in 0u64..1 << 34,
        length in 1usize..200,
        sets_per_slice in prop_oneof![Just(64u32), Just(2048), Just(4096)],
        hashed in any::<bool>(),
    ) {
        let set_function = if hashed { SetFunction::Hashed } else { SetFunction::Plain };
        let sequence = SliceFunction::base_sequence(&table).expect("the table is valid");
        let functions = [
            (16, SliceFunction::xor(&XOR_MASKS), set_function),
            (table.slices, sequence.clone(), set_function),
            (table.slices, sequence, SetFunction::Ranked),
            (18, SliceFunction::balanced(), set_function),
            (18, SliceFunction::Rotating, set_function),
            (18, SliceFunction::Mixing, set_function),
        ];
        for (slices, function, set_function) in functions {
            let map = AddressMap::new(slices, sets_per_slice, function, set_function);
            let mut sets = vec![SetIndex(0); length];
            map.sets_of_run(LineAddr(first), &mut sets);
            let expected = (first..).map(|line| map.set_of(LineAddr(line)));
            prop_assert!(sets.iter().copied().eq(expected.take(length)));
            if map.run_is_spread(LineAddr(first), length as u64) {
                sets.sort_unstable_by_key(|set| set.0);
                prop_assert!(sets.windows(2).all(|two| two[0] != two[1]));
            }
        }
    }

    #[test]
    fn a_base_sequence_holds_its_shares_in_every_block(table in tables(), block in BLOCKS) {
        let function = SliceFunction::base_sequence(&table).expect("is valid");
        let length = table.base.len() as u64;
        let mut shares = vec![0; table.slices as usize];
        table.base.iter().for_each(|&slice| shares[usize::from(slice)] += 1);
        let found = count(&function, table.slices, block * length..(block + 1) * length);
        prop_assert_eq!(found, shares);
    }

    /// The purpose of ranked sets: however a page's lines lie over the slices, no set of a slice gets
    /// two lines of a page before each has one.
    #[test]
    fn ranked_sets_of_a_slice_differ_by_one_line_of_a_page_at_most(
        table in tables(),
        page in 0..1u64 << 12,
        sets_per_slice in prop_oneof![Just(64u32), Just(2048), Just(4096)],
    ) {
        let function = SliceFunction::base_sequence(&table).expect("is valid");
        let map = AddressMap::new(table.slices, sets_per_slice, function, SetFunction::Ranked);
        let mut lines = vec![0u32; map.total_sets() as usize];
        (page << 15..(page + 1) << 15)
            .for_each(|line| lines[map.set_of(LineAddr(line)).0 as usize] += 1);
        for slice in lines.chunks(sets_per_slice as usize) {
            let (least, most) = (slice.iter().min(), slice.iter().max());
            prop_assert!(most.expect("has sets") - least.expect("has sets") <= 1);
        }
    }

    #[test]
    fn lightly_loaded_slices_get_the_share_they_were_given(table in tables()) {
        let SliceFunction::BaseSequence(sequence) =
            SliceFunction::base_sequence(&table).expect("is valid") else { unreachable!() };
        let shares = sequence.shares();
        let fair = table.base.len() as f64 / f64::from(table.slices);
        prop_assert!((shares.iter().sum::<f64>() / shares.len() as f64 - 1.0).abs() < 1e-9);
        // Rounding to whole lines moves a share by half a line.
        let rounding = 0.5 / fair;
        let last = shares[shares.len() - 1];
        prop_assert!(last >= 0.69 - rounding && last <= 0.98 + rounding, "{}", last);
    }

    #[test]
    fn xor_functions_place_each_line_of_an_aligned_block_in_a_set_of_its_own(
        bits in 1..=3usize,
        block in BLOCKS,
    ) {
        let map = AddressMap::new(
            1 << bits, 2048, SliceFunction::xor(&XOR_MASKS[..bits]), SetFunction::Plain,
        );
        // Eight slices and 2048 sets take 14 bits of the line address; with fewer slices the masks
        // mix bits from above the smaller block, so the larger one is filled evenly instead.
        let lines = 1u64 << 14;
        let mut uses = vec![0; map.total_sets() as usize];
        (block * lines..(block + 1) * lines)
            .for_each(|line| uses[map.set_of(LineAddr(line)).0 as usize] += 1);
        prop_assert!(uses.iter().all(|&uses| uses == 8 >> bits));
    }

    #[test]
    fn a_set_and_the_bits_above_its_index_tell_lines_apart(
        (function, slices) in functions(),
        choice in 0..3usize,
        block in BLOCKS,
    ) {
        let sets = 64;
        let is_sequence = matches!(function, SliceFunction::BaseSequence(_));
        let set_function = match choice {
            0 => SetFunction::Plain,
            1 if is_sequence => SetFunction::Ranked,
            _ => SetFunction::Hashed,
        };
        let map = AddressMap::new(slices, sets, function, set_function);
        let mut places: Vec<(u32, u64)> = (block * 4096..(block + 1) * 4096)
            .map(|line| (map.set_of(LineAddr(line)).0, line / u64::from(sets)))
            .collect();
        places.sort_unstable();
        places.dedup();
        prop_assert_eq!(places.len(), 4096);
    }

    #[test]
    fn a_line_has_one_slice_whoever_asks_and_it_is_that_of_its_set(
        (function, slices) in functions(),
        lines in proptest::collection::vec(0..1u64 << 32, 64),
    ) {
        let map = AddressMap::new(slices, 2048, function, SetFunction::Hashed);
        let first: Vec<_> = lines.iter().map(|&line| map.slice_of(LineAddr(line))).collect();
        let copy = map.clone();
        for (&line, &slice) in lines.iter().zip(&first).rev() {
            prop_assert!(u32::from(slice.0) < slices);
            prop_assert_eq!(copy.slice_of(LineAddr(line)), slice);
            prop_assert_eq!(map.slice_of_set(map.set_of(LineAddr(line))), slice);
        }
    }

    /// Random draws: a slice of 2^17 lines over 60 slices deviates by 2 % (one sd).
    #[test]
    fn the_stand_ins_fill_their_slices_evenly(
        balanced in any::<bool>(),
        slices in 2..=60u32,
        block in 0..1u64 << 10,
    ) {
        let function = if balanced { SliceFunction::balanced() } else { SliceFunction::Mixing };
        let lines = 1u64 << 17;
        let fair = lines as f64 / f64::from(slices);
        let counts = count(&function, slices, block * lines..(block + 1) * lines);
        prop_assert!(
            counts.iter().all(|&lines| (f64::from(lines) / fair - 1.0).abs() < 0.12),
            "{:?}", counts
        );
    }

    #[test]
    fn an_xor_function_written_as_a_base_sequence_is_the_same_function(line in 0..1u64 << 32) {
        let masks = &XOR_MASKS[..3];
        let xor = SliceFunction::xor(masks);
        let base = (0..4096).map(|line| xor.slice(LineAddr(line), 8) as u16).collect();
        // Positions 1, 2 and 4 are slices 1, 2 and 4: XORing them in flips one slice bit each.
        let mut perm_masks = vec![0; 12];
        for (perm, mask) in perm_masks.iter_mut().zip(masks) {
            *perm = mask >> 18 << 18;
        }
        let same = SliceFunction::base_sequence(&table(8, base, perm_masks)).expect("is valid");
        prop_assert_eq!(same.slice(LineAddr(line), 8), xor.slice(LineAddr(line), 8));
    }

    #[test]
    fn a_base_sequence_follows_its_rule_as_published(
        table in tables(),
        line in 0..1u64 << 32,
    ) {
        let function = SliceFunction::base_sequence(&table).expect("is valid");
        let address = line * LINE_BYTES;
        let mut position = (address >> 6) % table.base.len() as u64;
        for (bit, mask) in table.perm_masks.iter().enumerate() {
            position ^= u64::from((address & mask).count_ones() % 2) << bit;
        }
        let slice = function.slice(LineAddr(line), table.slices);
        prop_assert_eq!(slice, u32::from(table.base[position as usize]));
    }
}

fn plain() -> SliceTable {
    table(3, vec![0, 1, 2, 0], vec![0x100, 0x200])
}

fn fault(change: impl FnOnce(&mut SliceTable)) -> SliceTableError {
    let mut table = plain();
    change(&mut table);
    SliceFunction::base_sequence(&table).expect_err("must be refused")
}

#[test]
fn addresses_beyond_the_validity_range_follow_the_same_rule_and_the_description_says_so() {
    let function = SliceFunction::base_sequence(&plain()).expect("is valid");
    assert_eq!(function.valid_address_bits(), Some(38));
    let text = function.describe();
    assert!(text.contains("below 2^38; the same rule is used beyond"), "{text}");
    for low in 0..64 {
        let beyond = LineAddr(low | 1 << (38 - 6));
        assert_eq!(function.slice(beyond, 3), function.slice(LineAddr(low), 3));
    }
    assert_eq!(SliceFunction::Mixing.valid_address_bits(), None);
}

#[test]
fn a_table_that_is_no_slice_function_is_refused_with_the_reason() {
    assert_eq!(fault(|t| t.base.truncate(3)), SliceTableError::Length(3));
    assert_eq!(fault(|t| t.base.truncate(1)), SliceTableError::Length(1));
    assert_eq!(fault(|t| t.base = vec![0; 1 << 17]), SliceTableError::Length(1 << 17));
    assert_eq!(fault(|t| t.slices = 0), SliceTableError::Slices(0));
    assert_eq!(fault(|t| t.slices = 257), SliceTableError::Slices(257));
    let number = SliceTableError::SliceNumber { position: 2, slice: 3, slices: 3 };
    assert_eq!(fault(|t| t.base[2] = 3), number);
    assert_eq!(fault(|t| t.base[2] = 1), SliceTableError::UnusedSlice(2));
    let count = SliceTableError::MaskCount { given: 1, needed: 2 };
    assert_eq!(fault(|t| t.perm_masks.truncate(1)), count);
    let inside = SliceTableError::MaskInsideBase { mask: 1, lowest_bit: 8 };
    assert_eq!(fault(|t| t.perm_masks[1] = 0x180), inside);
    let beyond = SliceTableError::MaskBeyondValidity { mask: 0, highest_bit: 37 };
    assert_eq!(fault(|t| t.perm_masks[0] = 1 << 38), beyond);
}

#[test]
fn a_validity_range_must_join_the_sequence_and_be_supported() {
    for range in [(9, 37), (6, 7), (6, 41)] {
        let reason = SliceTableError::ValidBits { given: range, first_above_base: 8 };
        assert_eq!(fault(|t| t.valid_bits = range), reason);
    }
    for range in [(8, 37), (6, 40), (0, 9)] {
        let mut table = plain();
        table.valid_bits = range;
        assert!(SliceFunction::base_sequence(&table).is_ok(), "{range:?}");
    }
}

#[test]
fn reasons_say_what_is_allowed() {
    let reason = fault(|t| t.base[2] = 3).to_string();
    assert_eq!(reason, "entry 2 is slice 3; allowed: 0 to 2");
    let reason = fault(|t| t.valid_bits = (9, 37)).to_string();
    assert_eq!(reason, "[9, 37]; allowed: from bit 8 or lower to a bit between that and 40");
}

#[test]
#[should_panic(expected = "another part's")]
fn a_map_refuses_the_base_sequence_of_another_part() {
    let function = SliceFunction::base_sequence(&plain()).expect("is valid");
    let _ = AddressMap::new(4, 2048, function, SetFunction::Plain);
}
