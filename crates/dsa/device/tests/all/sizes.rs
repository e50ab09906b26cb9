//! Is an operation of any size class done right, or refused with the status that the contract names?

use crate::arena::{Arena, PAGE};
use crate::reference::{self, Rights};
use crate::settings::settings_of;
use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::engine::SoftwareEngine;
use dsa::hardware::capabilities::Capabilities;
use dsa::hardware::{Opcode, status};
use std::collections::BTreeSet;

const PAGES: usize = 64;
/// Below, at and above what vectors, lines, pages, blocks and the queue's maximum end at.
const SIZES: [u32; 30] = [
    0, 1, 2, 7, 8, 9, 10, 16, 31, 64, 100, 512, 520, 528, 1024, 1040, 1056, 8208, 8224, 4095, 4096,
    4104, 4112, 8192, 12_312, 16_384, 20_000, 20_800, 65_536, 65_537,
];

/// A descriptor whose operands lie apart from each other.
fn of_size(opcode: Opcode, base: u64, size: u32, dif_flags: u8) -> Descriptor {
    let part = (PAGES / 4 * PAGE) as u64;
    let (first, second, third) = (base, base + part, base + 2 * part);
    let record = base + 4 * part - 64;
    let made = Descriptor::of(opcode).with_size(size).recording(record);
    let both = made.with_first(first).with_second(second);
    match opcode {
        Opcode::NoOp => made.with_size(0),
        Opcode::Drain => made.with_size(0),
        Opcode::Batch => made.with_first(third),
        Opcode::CreateDelta => both.with_delta_record(third).with_most_delta_bytes(20_000),
        Opcode::ApplyDelta => both.with_delta_bytes(10),
        Opcode::Dualcast => both.with_second_destination(third),
        Opcode::TranslationFetch | Opcode::Crc => made.with_first(first),
        Opcode::CacheFlush => made.with_second(second),
        Opcode::DifInsert | Opcode::DixGenerate => both.with_dif_flags(dif_flags),
        // Bytes of any kind are right where nothing is checked.
        Opcode::DifCheck => made.with_first(first).with_dif_flags(dif_flags).unchecked(),
        Opcode::DifStrip | Opcode::DifUpdate => both.with_dif_flags(dif_flags).unchecked(),
        _ => both,
    }
}

trait Unchecked {
    /// Without a check of guard, reference tag and application tag.
    fn unchecked(self) -> Self;
}

impl Unchecked for Descriptor {
    fn unchecked(self) -> Self {
        self.with_dif_source_flags(0x60).with_source_mask(0xffff)
    }
}

/// Asserts that the arena's pages are those of the reference.
fn assert_same(arena: &mut Arena, memory: &reference::Memory, what: impl std::fmt::Display) {
    for page in 0..arena.rights.len() {
        let expected = memory.page(arena.base + (page * PAGE) as u64);
        assert!(arena.page(page) == *expected, "{what}, page {page}");
    }
}

/// A long copy is done by an instruction of its own, which looks at no page before it.
#[test]
fn a_long_copy_ends_at_the_page_that_is_not_there() {
    const LENGTH: u32 = 200_000;
    let capabilities = Capabilities::VERSION_1;
    // SAFETY: as below.
    let engine = unsafe { SoftwareEngine::new(capabilities) };
    let limits = QueueLimits::of(&capabilities);
    let settings = settings_of(&capabilities, &limits);
    let half = 64;
    for (page, rights) in [
        (half - 1, Rights::ReadWrite),
        (20, Rights::None),
        (half + 20, Rights::None),
        (half + 20, Rights::ReadOnly),
        (0, Rights::None),
        (half, Rights::ReadOnly),
    ] {
        let mut arena = Arena::new(2 * half);
        let bytes: Vec<u8> = (0..arena.length()).map(|at| (at / 3 % 251) as u8).collect();
        arena.write(0, &bytes);
        arena.set(page, rights);
        let (from, to) = (arena.base + 100, arena.base + (half * PAGE) as u64 + 7);
        let record = arena.base + (arena.length() - 64) as u64;
        let descriptor = Descriptor::of(Opcode::Move).with_first(from).with_second(to);
        let descriptor = descriptor.with_size(LENGTH).recording(record);
        let mut memory = arena.memory();
        reference::execute(&mut memory, &descriptor.0, &settings);
        let outcome = engine.execute(&descriptor, &limits);
        assert_same(&mut arena, &memory, format!("{rights:?} at {page}: {outcome:02x?}"));
    }
}

#[test]
fn every_operation_at_every_size_is_done_or_refused() {
    let mut succeeded = BTreeSet::new();
    for capabilities in [Capabilities::VERSION_1, Capabilities::VERSION_2] {
        // SAFETY: addresses are those of the arena, and of what is apart around it.
        let engine = unsafe { SoftwareEngine::new(capabilities) };
        let limits = QueueLimits { most_transfer_bytes: 1 << 16, ..QueueLimits::of(&capabilities) };
        let settings = settings_of(&capabilities, &limits);
        for (opcode, size, dif_flags) in Opcode::ALL.into_iter().flat_map(|opcode| {
            SIZES.into_iter().flat_map(move |size| (0..4).map(move |flags| (opcode, size, flags)))
        }) {
            if dif_flags > 0 && !(Opcode::DifCheck..=Opcode::DixGenerate).contains(&opcode) {
                continue;
            }
            let mut arena = Arena::new(PAGES);
            let bytes: Vec<u8> = (0..arena.length()).map(|at| (at / 3 % 251) as u8).collect();
            arena.write(0, &bytes);
            let descriptor = of_size(opcode, arena.base, size, dif_flags);
            let mut memory = arena.memory();
            reference::execute(&mut memory, &descriptor.0, &settings);
            let outcome = engine.execute(&descriptor, &limits);
            if outcome.record().status() == status::SUCCESS {
                succeeded.insert((opcode as u8, dif_flags));
            }
            let name = opcode.name();
            let what = format!("{name} of {size} bytes, blocks {dif_flags}: {outcome:02x?}");
            assert_same(&mut arena, &memory, what);
        }
    }
    for opcode in Opcode::ALL.into_iter().filter(|opcode| *opcode != Opcode::Batch) {
        let blocks = (Opcode::DifCheck..=Opcode::DixGenerate).contains(&opcode);
        for dif_flags in 0..if blocks { 4 } else { 1 } {
            let done = succeeded.contains(&(opcode as u8, dif_flags));
            assert!(done, "{}, blocks {dif_flags}, never succeeded", opcode.name());
        }
    }
}
