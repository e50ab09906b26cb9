//! Is each descriptor, valid or not, done or refused as the contract says? A slow reference that was
//! written from the contract alone is the judge.

use crate::arena::{Arena, PAGE};
use crate::reference::{self, Rights, Settings};
use crate::settings::settings_of;
use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::engine::{Outcome, SoftwareEngine};
use dsa::hardware::capabilities::Capabilities;
use dsa::hardware::{self, Opcode, flags, status};
use dsa::inject::{InjectionPlan, Injector};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

/// Pages of the arena: enough for several blocks of 4104 bytes, few enough to be compared quickly.
const PAGES: usize = 12;
/// Descriptors between two changes of rights and content.
const ROUND: u64 = 40;

/// Random choices.
struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    /// True `percent` times of a hundred.
    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// A device of a kind and a queue of it, for both.
#[derive(Clone)]
struct Part {
    capabilities: Capabilities,
    limits: QueueLimits,
    settings: Settings,
}

impl Part {
    fn random(dice: &mut Dice) -> Self {
        let mut capabilities = dice.of(&[Capabilities::VERSION_1, Capabilities::VERSION_2]);
        if dice.chance(20) {
            // A part that lacks, or has, something else.
            capabilities.gen_cap ^= 1 << dice.of(&[0, 1, 2, 3, 7, 8, 9, 10, 11, 12, 15, 52]);
        }
        if dice.chance(10) {
            capabilities.op_cap &= !(1 << dice.below(33));
        }
        let mut limits = QueueLimits::of(&capabilities);
        limits.most_transfer_bytes = 1 << (10 + dice.below(22));
        limits.most_batch = 1 << (1 + dice.below(8));
        limits.block_on_fault = dice.chance(70) && limits.block_on_fault;
        limits.user_interrupts = dice.chance(20);
        limits.interrupt_handles = dice.below(3) as u16;
        limits.privileged = dice.chance(20);
        let settings = settings_of(&capabilities, &limits);
        Self { capabilities, limits, settings }
    }
}

/// Makes descriptors over an arena.
struct Maker<'a> {
    dice: &'a mut Dice,
    base: u64,
    length: u64,
}

impl Maker<'_> {
    fn address(&mut self) -> u64 {
        let align = self.dice.of(&[1, 1, 2, 4, 8, 8, 8, 16, 32, 64, 64, 4096]);
        let anywhere = self.base + self.dice.below(self.length) / align * align;
        match self.dice.below(100) {
            0 if self.dice.chance(50) => 0_u64.wrapping_sub(1 + self.dice.below(2 * PAGE as u64)),
            0 => self.dice.0.next_u64(),
            1 => self.base - 1 - self.dice.below(64),
            2 => self.base + self.length - self.dice.below(64),
            3..=8 => {
                let page = self.base + self.dice.below(PAGES as u64) * PAGE as u64;
                page.saturating_sub(self.dice.below(20) * 8)
            }
            _ => anywhere,
        }
    }

    fn size(&mut self, opcode: Option<Opcode>, dif_flags: u8) -> u32 {
        let block = [512, 520, 4096, 4104][usize::from(dif_flags & 3)];
        let whole = match opcode {
            Some(Opcode::DifInsert | Opcode::DixGenerate) => block,
            Some(Opcode::DifCheck | Opcode::DifStrip | Opcode::DifUpdate) => block + 8,
            _ => self.dice.of(&[1, 1, 8, 8, 64]),
        };
        let number = match self.dice.below(20) {
            0 => 0,
            1..=9 => self.dice.below(4) + 1,
            10..=15 => self.dice.below(64) + 1,
            16..=18 => self.dice.below(1500) + 1,
            _ => self.dice.below(1 << 20),
        };
        let most = if whole > 64 { 5 } else { u64::MAX };
        let size = (number.min(most) * whole) as u32;
        if self.dice.chance(3) { size ^ self.dice.below(8) as u32 } else { size }
    }

    /// Flags that an operation usually has, with some that it has not.
    fn flags(&mut self, opcode: Option<Opcode>, in_batch: bool) -> u32 {
        let mut flags = flags::RECORD_ADDRESS_VALID | flags::REQUEST_RECORD;
        for flag in [
            flags::BLOCK_ON_FAULT,
            flags::CHECK_RESULT,
            flags::CACHE_CONTROL_1,
            flags::TRAFFIC_CLASS_1,
            flags::TRAFFIC_CLASS_2,
            flags::TRAFFIC_CLASS_RECORD,
            flags::STRICT_ORDERING,
            flags::CACHE_CONTROL_2,
            flags::REQUEST_INTERRUPT,
        ] {
            let may = match (flag, opcode) {
                (_, None) => 20,
                (flags::BLOCK_ON_FAULT, Some(Opcode::NoOp | Opcode::Batch | Opcode::Drain)) => 1,
                (flags::BLOCK_ON_FAULT, _) => 30,
                (flags::CHECK_RESULT, Some(code)) => {
                    let has = [Opcode::Compare, Opcode::ComparePattern, Opcode::CreateDelta];
                    if has.contains(&code) { 50 } else { 1 }
                }
                _ => 3,
            };
            if self.dice.chance(may) {
                flags |= flag;
            }
        }
        let own = match opcode {
            Some(Opcode::Crc | Opcode::CopyCrc) => {
                self.dice.below(16) as u32 & self.dice.of(&[0, 6, 7, 15])
            }
            Some(Opcode::Fill) => 4 * self.dice.below(2) as u32,
            Some(Opcode::Drain) => self.dice.below(16) as u32 & self.dice.of(&[0, 15]),
            Some(Opcode::TranslationFetch | Opcode::Batch) => u32::from(self.dice.chance(20)),
            _ => 0,
        };
        flags |= own << 16;
        if in_batch && self.dice.chance(15) {
            flags |= flags::FENCE;
        }
        if self.dice.chance(5) {
            flags ^= 1 << self.dice.below(24);
        }
        if self.dice.chance(5) {
            flags &= !(flags::REQUEST_RECORD | flags::TRAFFIC_CLASS_RECORD);
        }
        flags
    }

    fn descriptor(&mut self, in_batch: bool) -> Descriptor {
        let code = if self.dice.chance(3) {
            self.dice.below(256) as u8
        } else {
            self.dice.of(&Opcode::ALL) as u8
        };
        let opcode = Opcode::from_code(code);
        let dif_flags = self.dice.below(16) as u8;
        let flags = self.flags(opcode, in_batch);
        let mut made = Descriptor::default()
            .with_code(code)
            .with_flags(flags)
            .with_size(self.size(opcode, dif_flags));
        let page = self.base + self.dice.below(PAGES as u64) * PAGE as u64;
        let record =
            if self.dice.chance(97) { page + 32 * self.dice.below(128) } else { self.address() };
        if flags & flags::RECORD_ADDRESS_VALID != 0 {
            made = made.with_record(record);
        }
        made = self.operands(made, opcode, dif_flags);
        if self.dice.chance(4) {
            made = made.with_pasid_word(hardware::PRIVILEGED | self.dice.below(1 << 20) as u32);
        }
        if made.has(flags::REQUEST_INTERRUPT) {
            made = made.with_interrupt(self.dice.below(3) as u16);
        }
        if self.dice.chance(2) {
            // Any bit, but none that moves an address beyond what is apart from all other memory.
            let byte = self.dice.below(64) as usize;
            let word = &made.0[byte / 8 * 8..][..8];
            if byte % 8 < 3 || word[5..] == [0; 3] {
                made.0[byte] ^= 1 << self.dice.below(8);
            }
        }
        made
    }

    fn operands(&mut self, made: Descriptor, opcode: Option<Opcode>, dif_flags: u8) -> Descriptor {
        let (first, second) = (self.address(), self.address());
        let both = made.with_first(first).with_second(second);
        let small = self.dice.below(400) as u32;
        let word = self.dice.0.next_u64();
        match opcode {
            Some(Opcode::NoOp) => made,
            Some(Opcode::Drain) => {
                let first = if made.has(flags::READBACK_1) { first } else { 0 };
                let second = if made.has(flags::READBACK_2) { second } else { 0 };
                made.with_first(first).with_second(second).with_size(0)
            }
            Some(Opcode::Batch) => {
                let list = if self.dice.chance(95) { first & !63 } else { first };
                made.with_first(list).with_size(small % 8)
            }
            Some(Opcode::Fill) => {
                let wide = if made.has(flags::PATTERN_16) { word } else { 0 };
                both.with_first(self.dice.of(&[word, 0, u64::MAX])).with_pattern_high(wide)
            }
            Some(Opcode::Compare) => {
                let second = if self.dice.chance(50) {
                    first.wrapping_add(8 * self.dice.below(16))
                } else {
                    second
                };
                both.with_second(second).with_expected_result(word as u8 & 1)
            }
            Some(Opcode::ComparePattern) => both
                .with_second(self.dice.of(&[word, 0, u64::MAX]))
                .with_expected_result(word as u8 & 1),
            Some(Opcode::CreateDelta) => self.delta(both, small, word),
            Some(Opcode::ApplyDelta) => {
                both.with_second(second & !7).with_delta_bytes(10 + small % 120)
            }
            Some(Opcode::Dualcast) => {
                let page = self.base + self.dice.below(PAGES as u64) * PAGE as u64;
                both.with_second_destination(page + (second & 0xfff))
            }
            Some(Opcode::TranslationFetch) => {
                let stride = if made.has(flags::USE_STRIDE) { 1 << (11 + word % 4) } else { 0 };
                made.with_first(first).with_stride(stride)
            }
            Some(Opcode::Crc) => self.crc(made.with_first(first), word),
            Some(Opcode::CopyCrc) => self.crc(both, word),
            Some(Opcode::CacheFlush) => made.with_second(second),
            Some(code) if code >= Opcode::DifCheck => self.dif(both, code, dif_flags, word),
            _ => both,
        }
    }

    fn delta(&mut self, both: Descriptor, small: u32, word: u64) -> Descriptor {
        let record = self.address() & !7;
        both.with_first(both.first() & !7)
            .with_second(both.second() & !7)
            .with_delta_record(record)
            .with_most_delta_bytes(80 + small * 10 - small % 7)
            .with_expected_results(word as u8 & 7)
    }

    fn crc(&mut self, made: Descriptor, word: u64) -> Descriptor {
        if made.has(flags::CRC_SEED_IN_MEMORY) {
            made.with_crc_seed_address(self.address())
        } else if made.has(flags::CRC_64) {
            made.with_crc_seed_64(word)
        } else {
            made.with_crc_seed(word as u32)
        }
    }

    fn dif(&mut self, both: Descriptor, code: Opcode, dif_flags: u8, word: u64) -> Descriptor {
        let both = both.with_dif_flags(dif_flags);
        let has_source = matches!(code, Opcode::DifCheck | Opcode::DifStrip | Opcode::DifUpdate);
        let has_destination = !matches!(code, Opcode::DifCheck | Opcode::DifStrip);
        let both = if code == Opcode::DifCheck { both.with_second(0) } else { both };
        let both =
            if code == Opcode::DixGenerate { both.with_second(both.second() & !7) } else { both };
        let [s, d, ..] = word.to_le_bytes();
        let both = if has_source {
            // Often nothing is checked, so that blocks of any content are right.
            let flags = if self.dice.chance(60) { 0x60 | s & 0x9f } else { s };
            let mask = if self.dice.chance(60) { 0xffff } else { (word >> 16) as u16 };
            both.with_dif_source_flags(flags)
                .with_source_reference((word >> 32) as u32)
                .with_source_mask(mask)
                .with_source_application((word >> 24) as u16)
        } else {
            both
        };
        if has_destination {
            both.with_dif_destination_flags(d & 0xf8)
                .with_destination_reference((word >> 8) as u32)
                .with_destination_mask((word >> 40) as u16 & self.dice.of(&[0, 0xffff]))
                .with_destination_application((word >> 48) as u16)
        } else {
            both
        }
    }
}

/// Fills the arena with bytes in which equal, zero and all-ones regions are frequent, and draws rights.
fn renew(arena: &mut Arena, dice: &mut Dice) {
    let mut bytes = vec![0; arena.length()];
    for part in bytes.chunks_mut(256) {
        match dice.below(5) {
            0 => {}
            1 => part.fill(0xff),
            2 => part.fill(0x11),
            _ => dice.0.fill_bytes(part),
        }
    }
    arena.write(0, &bytes);
    let all_there = dice.chance(50);
    for page in 0..PAGES {
        let rights = match dice.below(10) {
            _ if all_there => Rights::ReadWrite,
            0 => Rights::None,
            1 => Rights::ReadOnly,
            _ => Rights::ReadWrite,
        };
        arena.set(page, rights);
    }
}

/// Puts the members of a batch where its list is.
fn write_list(arena: &mut Arena, maker: &mut Maker<'_>, batch: &Descriptor) {
    let Some(offset) = batch.first().checked_sub(maker.base) else { return };
    for number in 0..u64::from(batch.size().min(16)) {
        let start = offset + 64 * number;
        if start + 64 <= maker.length {
            let member = maker.descriptor(true);
            arena.write(start as usize, &member.0);
        }
    }
}

fn as_reference(outcome: Outcome) -> reference::Outcome {
    match outcome {
        Outcome::Recorded(_) => reference::Outcome::Record,
        Outcome::Silent(_) => reference::Outcome::Silent,
        Outcome::Held { .. } => panic!("there is no event log: {outcome:?}"),
        Outcome::Logged(record) => {
            reference::Outcome::Logged(record.status() & !status::FAULT_ON_WRITE)
        }
    }
}

/// Whether a page without rights has none, or an injector has it absent.
#[derive(Clone, Copy, PartialEq)]
enum Faults {
    Real,
    Injected,
}

/// The memory for the reference, and an injector for the pages that the engine has and it has not.
fn inject(arena: &mut Arena, absent: &[usize]) -> (reference::Memory, Injector) {
    absent.iter().for_each(|page| arena.set(*page, Rights::None));
    let memory = arena.memory();
    absent.iter().for_each(|page| arena.set(*page, Rights::ReadWrite));
    let address = |page: usize| arena.base + (page * PAGE) as u64;
    let mut plan = InjectionPlan::default();
    plan.page_faults.ranges = absent.iter().map(|&page| address(page)..address(page + 1)).collect();
    (memory, Injector::new(&plan))
}

/// Runs random descriptors through both; returns how often each status ended one.
fn compare(seed: u64, descriptors: u64, faults: Faults) -> BTreeMap<(u8, u8), u64> {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
    let mut arena = Arena::new(PAGES);
    let mut found = BTreeMap::new();
    for round in 0..descriptors.div_ceil(ROUND) {
        renew(&mut arena, &mut dice);
        let part = Part::random(&mut dice);
        // SAFETY: addresses are those of the arena, and of what is apart around it.
        let engine = unsafe { SoftwareEngine::new(part.capabilities) };
        let absent: Vec<usize> = (0..PAGES)
            .filter(|page| faults == Faults::Injected && arena.rights[*page] == Rights::None)
            .collect();
        let (mut memory, injector) = inject(&mut arena, &absent);
        for number in 0..ROUND {
            let (base, length) = (arena.base, arena.length() as u64);
            let mut maker = Maker { dice: &mut dice, base, length };
            let descriptor = maker.descriptor(false);
            if descriptor.opcode() == Some(Opcode::Batch) {
                write_list(&mut arena, &mut maker, &descriptor);
                (memory, _) = inject(&mut arena, &absent);
            }
            let before = memory.clone();
            let expected = reference::execute(&mut memory, &descriptor.0, &part.settings);
            let asked = (&descriptor, &part.limits);
            let outcome = match faults {
                Faults::Real => engine.execute(&descriptor, &part.limits),
                Faults::Injected => {
                    engine.execute_injected(&injector, (0, number), asked, &mut |_| {})
                }
            };
            let status = outcome.record().status() & !status::FAULT_ON_WRITE;
            *found.entry((descriptor.code(), status)).or_insert(0) += 1;
            let told = format!(
                "seed {seed}, round {round}, descriptor {number}: {:02x?}\n{descriptor:02x?}\n{part:x?}\n\
                 arena at {base:#x}, rights {:?}, outcome {outcome:02x?}",
                descriptor.opcode(),
                arena.rights,
                part = part.limits
            );
            assert_eq!(as_reference(outcome), expected, "{told}");
            for page in 0..PAGES {
                let address = base + (page * PAGE) as u64;
                let (own, other) = (arena.page(page), memory.page(address));
                if own != *other {
                    let differs = |at: &usize| own[*at] != other[*at];
                    let at = (0..PAGE).find(differs).unwrap_or_default();
                    let was = before.page(address)[at];
                    panic!(
                        "byte {:#x} was {was:#x}, is {:#x}, should be {:#x}\n{told}",
                        address + at as u64,
                        own[at],
                        other[at]
                    );
                }
            }
        }
    }
    found
}

#[test]
fn injected_faults_end_as_real_ones_do() {
    let found = compare(soak::seed(3), soak::amount(20_000, 500_000), Faults::Injected);
    for opcode in Opcode::ALL.into_iter().filter(|opcode| *opcode != Opcode::NoOp) {
        let is_fault = |code: &u8| [3, 4, 6, 0x1a, 0x1f].contains(code);
        let faults = found.keys().filter(|(own, code)| *own == opcode as u8 && is_fault(code));
        assert!(faults.count() > 0, "{} never faulted: {found:?}", opcode.name());
    }
}

#[test]
fn random_descriptors_end_as_the_contract_says() {
    let descriptors = soak::amount(20_000, 500_000);
    let seed = soak::seed(1);
    let halves = [seed, seed ^ 0x5eed]
        .map(|seed| std::thread::spawn(move || compare(seed, descriptors, Faults::Real)));
    let mut found: BTreeMap<(u8, u8), u64> = BTreeMap::new();
    for half in halves {
        for (kind, number) in half.join().unwrap_or_else(|told| std::panic::resume_unwind(told)) {
            *found.entry(kind).or_insert(0) += number;
        }
    }
    // The comparison says nothing of what it never met.
    for opcode in Opcode::ALL {
        let success = found.get(&(opcode as u8, status::SUCCESS));
        assert!(success.is_some(), "{} never succeeded: {found:?}", opcode.name());
    }
    let statuses: std::collections::BTreeSet<u8> =
        found.keys().map(|(_, status)| *status).collect();
    for status in (1..=9).chain(0x10..=0x1d).chain([0x1f]) {
        assert!(statuses.contains(&status), "no descriptor ended with {status:#x}: {statuses:x?}");
    }
}
