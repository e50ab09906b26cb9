//! Does a batch end the same whether one engine executes its members or several at once?
//!
//! Members have pages of their own, so the order in which they end does not matter.

use crate::arena::{Arena, PAGE};
use crate::queues::{PART, device, queue, start};
use crate::reference::{self, Rights};
use crate::settings::settings_of;
use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::device::{DeviceConfig, EngineGroupConfig, Mode, Watcher};
use dsa::hardware::{Opcode, flags, status};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};

const MEMBERS: usize = 12;
/// The list is in the first page and ends with it, so that one too many is in the second.
const LIST: usize = PAGE - 64 * MEMBERS;
/// Pages of each member: source, destination with its record.
const FIRST_OF_MEMBERS: usize = 2;
const PAGES: usize = FIRST_OF_MEMBERS + 2 * MEMBERS;
const RECORD_OF_BATCH: usize = 0;

/// A member that works, is refused, or meets a page that is not there.
fn member(arena: &mut Arena, number: usize, dice: &mut Xoshiro256PlusPlus) -> Descriptor {
    let page = FIRST_OF_MEMBERS + 2 * number;
    let address = |page: usize, offset: usize| arena.base + (page * PAGE + offset) as u64;
    let record = address(page + 1, PAGE - 32);
    let opcode = [Opcode::Move, Opcode::Fill, Opcode::Crc, Opcode::Compare, Opcode::NoOp];
    let opcode = opcode[(dice.next_u64() % 5) as usize];
    let own = Descriptor::of(opcode).recording(record);
    let own = match opcode {
        Opcode::NoOp => own,
        Opcode::Crc => own.with_first(address(page, 0)).with_size(PAGE as u32),
        Opcode::Fill => own.with_first(7).with_second(address(page + 1, 0)).with_size(3000),
        _ => own
            .with_first(address(page, 0))
            .with_second(address(page + 1, 0))
            .with_size((dice.next_u64() % 4000) as u32),
    };
    let fence = if dice.next_u64().is_multiple_of(6) { flags::FENCE } else { 0 };
    let reserved = if dice.next_u64().is_multiple_of(30) { 1 << 6 } else { 0 };
    if dice.next_u64().is_multiple_of(20) {
        arena.set(page, Rights::None);
    }
    own.with_flags(own.flags() | fence | reserved)
}

/// Runs random batches on `engines`; returns the statuses that they ended with.
fn compare(engines: u8, batches: u64) -> BTreeSet<(u8, u32)> {
    let limits = QueueLimits::of(&PART);
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(soak::seed(u64::from(engines)));
    let mut arena = Arena::new(PAGES);
    let device = device(engines, vec![queue(8, Mode::Dedicated, 1)]);
    let mut found = BTreeSet::new();
    for round in 0..batches {
        for page in 0..PAGES {
            arena.set(page, Rights::ReadWrite);
            let mut bytes = [0; PAGE];
            dice.fill_bytes(&mut bytes[..64]);
            arena.write(page * PAGE, &bytes);
        }
        for number in 0..MEMBERS {
            let own = member(&mut arena, number, &mut dice);
            arena.write(LIST + 64 * number, &own.0);
        }
        arena.set(1, Rights::None);
        let beyond = u32::from(dice.next_u64().is_multiple_of(4));
        let batch = Descriptor::of(Opcode::Batch)
            .with_first(arena.base + LIST as u64)
            .with_size(MEMBERS as u32 + beyond)
            .recording(arena.base + RECORD_OF_BATCH as u64);
        let mut memory = arena.memory();
        reference::execute(&mut memory, &batch.0, &settings_of(&PART, &limits));
        device.post(device.queues()[0], &batch);
        device.drain(device.queues()[0]);
        for page in 0..PAGES {
            let expected = memory.page(arena.base + (page * PAGE) as u64);
            assert_eq!(arena.page(page), *expected, "round {round}, page {page}");
        }
        let record = arena.page(0);
        found.insert((record[0], u32::from_le_bytes([record[4], record[5], record[6], record[7]])));
    }
    found
}

#[test]
fn several_engines_end_a_batch_as_the_contract_says() {
    for engines in [1, 2, 4] {
        let found = compare(engines, soak::amount(400, 6_000));
        let codes: BTreeSet<u8> = found.iter().map(|(code, _)| *code).collect();
        let all = [status::SUCCESS, status::BATCH_MEMBER_FAILED, status::BATCH_LIST_FAULT];
        assert_eq!(codes, BTreeSet::from(all));
        let abandoned = |(code, done): &(u8, u32)| {
            *code == status::BATCH_MEMBER_FAILED && (*done as usize) < MEMBERS
        };
        assert!(found.iter().any(abandoned), "fences were among them");
    }
}

#[test]
fn members_run_at_the_same_time() {
    // Each waits for the other three: one engine alone would wait for ever.
    let barrier = Arc::new(Barrier::new(4));
    let met = Arc::clone(&barrier);
    let watcher: Watcher = Arc::new(move |_, ended| {
        if ended.member.is_some() {
            met.wait();
        }
    });
    let queues = vec![queue(8, Mode::Dedicated, 1)];
    let groups = vec![EngineGroupConfig { engines: 4, queues }];
    let device = start(&DeviceConfig { capabilities: PART, groups }, Some(watcher));
    let mut arena = Arena::new(1);
    for number in 0..8 {
        // The second four begin when the first have ended.
        let fence = if number == 4 { flags::FENCE } else { 0 };
        arena.write(64 * number, &Descriptor::of(Opcode::NoOp).with_flags(fence).0);
    }
    let record = arena.base + 2048;
    let batch = Descriptor::of(Opcode::Batch).with_first(arena.base).with_size(8).recording(record);
    device.post(device.queues()[0], &batch);
    device.drain(device.queues()[0]);
    let ended = arena.page(0);
    assert_eq!((ended[2048], ended[2052]), (status::SUCCESS, 8));
}

#[test]
fn a_watcher_that_panics_ends_no_batch() {
    let watcher: Watcher =
        Arc::new(|_, ended| assert!(ended.member != Some(3), "this panic is expected"));
    for engines in [1, 3] {
        let queues = vec![queue(8, Mode::Dedicated, 1)];
        let groups = vec![EngineGroupConfig { engines, queues }];
        let device = start(&DeviceConfig { capabilities: PART, groups }, Some(watcher.clone()));
        let arena = Arena::new(1);
        let batch = Descriptor::of(Opcode::Batch).with_first(arena.base).with_size(8);
        for _ in 0..50 {
            device.post(device.queues()[0], &batch);
            device.drain(device.queues()[0]);
        }
    }
}
