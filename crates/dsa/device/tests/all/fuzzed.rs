//! Any bytes are descriptors: on pages of any rights the engine does what the slow reference does, and
//! nothing crashes. `cargo +nightly fuzz run descriptors` leads the bytes by coverage; what it found worth
//! keeping is in `fuzz/kept/descriptors.tar`.

use crate::arena::{Arena, PAGE};
use crate::reference::{self, Rights, Settings};
use crate::settings::settings_of;
use arbitrary::{Arbitrary, Unstructured};
use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::engine::{Outcome, SoftwareEngine};
use dsa::hardware::capabilities::Capabilities;
use dsa::hardware::status;
use std::cell::RefCell;

/// Pages of the arena.
pub const PAGES: usize = 8;
/// Bytes from the begin of the arena on to which addresses are moved.
pub const MOVED_WITHIN: u64 = (PAGES * PAGE + 64) as u64;
/// Descriptors of an input that are executed.
pub const EXECUTED: usize = 16;
/// Places of a descriptor that may hold addresses.
pub const ADDRESSES: [usize; 5] = [8, 16, 24, 40, 48];

thread_local! {
    static ARENA: RefCell<Arena> = RefCell::new(Arena::new(PAGES));
}

/// Address of the first page of the arena of this thread.
pub fn arena_base() -> u64 {
    ARENA.with_borrow(|arena| arena.base)
}

/// Moves addresses into the arena, or a little beyond it: their highest byte says which are null or at
/// the end of memory instead, and which fields of operations stay as they are.
fn within(descriptor: &mut [u8; 64], base: u64) {
    for at in ADDRESSES {
        let mut word = [0; 8];
        word.copy_from_slice(&descriptor[at..at + 8]);
        let value = u64::from_le_bytes(word);
        let moved = match (at, word[7]) {
            (40 | 48, 0..=0x7f) => value & 0xff_ffff_ffff,
            (_, 0) => 0,
            (_, 1) => u64::MAX - value % (2 * PAGE as u64),
            _ => base + value % MOVED_WITHIN,
        };
        descriptor[at..at + 8].copy_from_slice(&moved.to_le_bytes());
    }
}

/// A part and a queue, for the engine and for the reference.
fn part_of(part: u8) -> (Capabilities, QueueLimits, Settings) {
    let mut capabilities =
        if part & 1 == 0 { Capabilities::VERSION_1 } else { Capabilities::VERSION_2 };
    capabilities.op_cap |= if part & 2 == 0 { 0 } else { 0x1_00bf_07ff };
    let mut limits = QueueLimits::of(&capabilities);
    limits.block_on_fault = part & 4 == 0;
    limits.privileged = part & 8 == 0;
    limits.user_interrupts = part & 16 != 0;
    limits.interrupt_handles = 2;
    limits.most_batch = 64;
    let settings = settings_of(&capabilities, &limits);
    (capabilities, limits, settings)
}

/// A part and a queue, rights of the pages, a mask of sizes, and descriptors.
type Input = (u8, [u8; PAGES], u32, Vec<[u8; 64]>);

/// Executes the descriptors that the bytes stand for; other bytes stand for none. Returns the opcode and the
/// status of each.
pub fn check(bytes: &[u8]) -> Vec<(u8, u8)> {
    let input = Input::arbitrary_take_rest(Unstructured::new(bytes));
    input.map(execute).unwrap_or_default()
}

fn execute((part, rights, size_mask, descriptors): Input) -> Vec<(u8, u8)> {
    let (capabilities, limits, settings) = part_of(part);
    ARENA.with_borrow_mut(|arena| {
        let bytes: Vec<u8> =
            descriptors.iter().flatten().copied().cycle().take(arena.length()).collect();
        if bytes.len() == arena.length() {
            arena.write(0, &bytes);
        }
        for (page, right) in rights.into_iter().enumerate() {
            arena.set(
                page,
                match right {
                    0 => Rights::None,
                    1 => Rights::ReadOnly,
                    _ => Rights::ReadWrite,
                },
            );
        }
        let mut memory = arena.memory();
        // SAFETY: addresses are those of the arena, of what is apart around it, or of no memory.
        let engine = unsafe { SoftwareEngine::new(capabilities) };
        let mut ends = Vec::new();
        for mut bytes in descriptors.into_iter().take(EXECUTED) {
            within(&mut bytes, arena.base);
            // Transfers of up to 1 MiB: no longer than what is apart on both sides of the arena.
            let size = u32::from_le_bytes([bytes[32], bytes[33], bytes[34], bytes[35]]);
            bytes[32..36].copy_from_slice(&(size & size_mask & 0xf_ffff).to_le_bytes());
            let expected = reference::execute(&mut memory, &bytes, &settings);
            let outcome = engine.execute(&Descriptor(bytes), &limits);
            ends.push((bytes[7], outcome.record().status() & !status::FAULT_ON_WRITE));
            let outcome = match outcome {
                Outcome::Recorded(_) => reference::Outcome::Record,
                Outcome::Silent(_) => reference::Outcome::Silent,
                held @ Outcome::Held { .. } => panic!("there is no event log: {held:?}"),
                Outcome::Logged(record) => {
                    reference::Outcome::Logged(record.status() & !status::FAULT_ON_WRITE)
                }
            };
            assert_eq!(outcome, expected, "{bytes:02x?}");
            for page in 0..PAGES {
                let address = arena.base + (page * PAGE) as u64;
                assert!(arena.page(page) == *memory.page(address), "page {page}: {bytes:02x?}");
            }
        }
        ends
    })
}

#[test]
fn what_the_fuzzer_has_kept_is_done_as_the_reference_does_it() {
    fuzz_corpus::replay("descriptors", 900, |bytes| drop(check(bytes)));
}
