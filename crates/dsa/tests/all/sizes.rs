//! Is an operation of any size class done right, or refused with the status that the contract names?

use crate::arena::{Arena, PAGE};
use crate::reference::{self, Settings};
use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::engine::Engine;
use dsa::hardware::Opcode;
use dsa::hardware::capabilities::Capabilities;

const PAGES: usize = 64;
/// Below, at and above what vectors, lines, pages, blocks and the queue's maximum end at.
const SIZES: [u32; 26] = [
    0, 1, 2, 7, 8, 9, 10, 16, 31, 64, 100, 512, 520, 528, 1024, 4095, 4096, 4104, 4112, 8192,
    12_312, 16_384, 20_000, 20_800, 65_536, 65_537,
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
        Opcode::DifCheck => {
            made.with_first(first).with_dif_flags(dif_flags).with_source_mask(0xffff)
        }
        Opcode::DifInsert | Opcode::DifStrip | Opcode::DifUpdate | Opcode::DixGenerate => {
            both.with_dif_flags(dif_flags)
        }
        _ => both,
    }
}

#[test]
fn every_operation_at_every_size_is_done_or_refused() {
    for capabilities in [Capabilities::VERSION_1, Capabilities::VERSION_2] {
        let engine = Engine::new(capabilities);
        let limits = QueueLimits { most_transfer_bytes: 1 << 16, ..QueueLimits::of(&capabilities) };
        let settings = Settings {
            gen_cap: capabilities.gen_cap,
            op_cap: capabilities.op_cap,
            block_on_fault: true,
            max_transfer_bytes: 1 << 16,
            max_batch: limits.most_batch,
            user_interrupts: false,
            interrupt_handles: 0,
            privileged: false,
        };
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
            for page in 0..PAGES {
                let expected = memory.page(arena.base + (page * PAGE) as u64);
                assert!(
                    arena.page(page) == *expected,
                    "{} of {size} bytes, blocks {dif_flags}, page {page}: {outcome:02x?}",
                    opcode.name()
                );
            }
        }
    }
}
