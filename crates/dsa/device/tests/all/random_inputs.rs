//! Are bytes that chance makes done as the slow reference does them? What the fuzzer does with coverage to lead
//! it, without: the inputs are those of [`fuzzed`], so that one that fails may be kept there.

use crate::arena::PAGE;
use crate::fuzzed::{self, ADDRESSES, PAGES};
use dsa::hardware::Opcode;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

/// Descriptors of an input that are executed, and those behind them, which batches have as members.
const EXECUTED: usize = fuzzed::EXECUTED;
const MEMBERS: usize = 24;

/// Inputs made by chance: changed ones of those that the fuzzer has kept, and descriptors whose fields are
/// drawn one by one.
struct RandomInputs {
    words: Xoshiro256PlusPlus,
    kept: Vec<(String, Vec<u8>)>,
    base: u64,
}

impl RandomInputs {
    fn below(&mut self, end: u64) -> u64 {
        self.words.next_u64() % end
    }

    fn next(&mut self) -> Vec<u8> {
        if self.below(2) == 0 { self.changed() } else { self.drawn() }
    }

    /// A kept input of which bits, bytes or its end are others.
    fn changed(&mut self) -> Vec<u8> {
        let count = self.kept.len() as u64;
        let [first, second] = [(); 2].map(|()| self.below(count) as usize);
        let mut bytes = self.kept[first].1.clone();
        for _ in 0..=self.below(6) {
            let length = bytes.len() as u64;
            let at = self.below(length.max(1)) as usize;
            match self.below(4) {
                0 => bytes.extend_from_slice(&self.kept[second].1),
                1 => bytes.truncate(at.max(14)),
                _ if length == 0 => {}
                2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5) as usize],
                _ => bytes[at] ^= 1 << self.below(8),
            }
        }
        bytes
    }

    fn drawn(&mut self) -> Vec<u8> {
        let mut bytes = vec![self.words.next_u64() as u8];
        let all_there = self.below(2) == 0;
        bytes.extend([(); PAGES].map(|()| if all_there { 2 } else { self.below(6) as u8 }));
        bytes.extend(u32::MAX.to_le_bytes());
        for number in 0..EXECUTED + MEMBERS {
            // One before each element says that it is not the end.
            bytes.push(1);
            bytes.extend(self.descriptor(number >= EXECUTED));
        }
        bytes
    }

    /// The word that stands for an address of the arena: in a member of a batch the address itself, else one that
    /// is moved there.
    fn address(&self, offset: u64, is_member: bool) -> u64 {
        let whole = fuzzed::MOVED_WITHIN;
        if is_member { self.base + offset } else { (u64::MAX / whole - 1) * whole + offset }
    }

    fn descriptor(&mut self, is_member: bool) -> [u8; 64] {
        let mut bytes = [0; 64];
        let length = (PAGES * PAGE) as u64;
        let code = Opcode::ALL[self.below(Opcode::ALL.len() as u64) as usize];
        for at in ADDRESSES {
            let offset = match self.below(4) {
                0 if at != 8 => self.below(length),
                _ => self.below(length / 64) * 64,
            };
            let word = match self.below(16) {
                0 => 0,
                1 => self.words.next_u64() | 1 << 63,
                _ if at >= 40 && self.below(2) == 0 => 0,
                _ if at == 16 && code == Opcode::Batch => {
                    let member = EXECUTED as u64 + self.below(MEMBERS as u64 / 2);
                    self.address(64 * member, is_member)
                }
                _ => self.address(offset, is_member),
            };
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        let flags = 0xc | if self.below(3) == 0 { 1 << self.below(24) } else { 0 };
        bytes[4..8].copy_from_slice(&((code as u32) << 24 | flags).to_le_bytes());
        let size = match self.below(5) {
            _ if code == Opcode::Batch => self.below(12),
            0 => self.below(8),
            1 => self.below(200) * 8,
            2 => self.below(5) * [512, 520, 528, 4096, 4104, 4112][self.below(6) as usize],
            3 => self.below(1 << 15),
            _ => self.below(1 << 20),
        };
        bytes[32..36].copy_from_slice(&(size as u32).to_le_bytes());
        self.set_fields(&mut bytes, code);
        for _ in 0..self.below(4) * self.below(2) {
            // Any bit, but none that moves an address, or the end of a transfer, far away from the arena.
            let at = self.below(64) as usize;
            let is_in_word = [3..8, 36..40, 56..64].iter().any(|word| word.contains(&at));
            if is_in_word || at % 8 < 3 && ![33, 34].contains(&at) {
                bytes[at] ^= 1 << self.below(8);
            }
        }
        bytes
    }

    /// Clears, mostly, the fields that an operation does not have, and makes the others fit it.
    fn set_fields(&mut self, bytes: &mut [u8; 64], code: Opcode) {
        if self.below(8) == 0 {
            return;
        }
        match code {
            Opcode::NoOp => bytes[16..36].fill(0),
            Opcode::Drain => bytes[16..36].fill(0),
            Opcode::Batch | Opcode::TranslationFetch | Opcode::Crc | Opcode::DifCheck => {
                bytes[24..32].fill(0);
            }
            Opcode::CacheFlush => bytes[16..24].fill(0),
            _ => {}
        }
        let small = (self.below(600) as u32).to_le_bytes();
        match code {
            Opcode::CreateDelta => {
                bytes[48..56].fill(0);
                bytes[48..52].copy_from_slice(&small);
            }
            Opcode::ApplyDelta => {
                bytes[40..56].fill(0);
                bytes[40..44].copy_from_slice(&small);
            }
            Opcode::Dualcast => bytes[48..56].fill(0),
            Opcode::Crc | Opcode::CopyCrc => bytes[44..56].fill(0),
            code if code >= Opcode::DifCheck && code <= Opcode::DixGenerate => {
                // Often nothing is checked, so that blocks of any content are right.
                let checks = self.below(2) as u8 * self.words.next_u64() as u8;
                let has_source =
                    [Opcode::DifCheck, Opcode::DifStrip, Opcode::DifUpdate].contains(&code);
                bytes[40..56].fill(0);
                bytes[40] = if has_source { 0x60 ^ checks } else { 0 };
                bytes[42] = self.below(16) as u8;
                bytes[52..54].fill(if has_source { 0xff } else { 0 });
            }
            _ => bytes[40..56].fill(0),
        }
    }
}

#[test]
fn inputs_made_by_chance_are_done_as_the_reference_does_them() {
    let mut inputs = RandomInputs {
        words: Xoshiro256PlusPlus::seed_from_u64(soak::seed(1)),
        kept: fuzz_corpus::inputs("descriptors", 900),
        base: fuzzed::arena_base(),
    };
    let mut ends = BTreeMap::new();
    for _ in 0..soak::amount(1_000, 100_000) {
        for (_, status) in fuzzed::check(&inputs.next()) {
            *ends.entry(status).or_insert(0_u64) += 1;
        }
    }
    println!("{} descriptors by status: {ends:x?}", ends.values().sum::<u64>());
    // A status that never came has not been compared.
    for status in (1..=6).chain([9]).chain(0x10..=0x16).chain(0x18..=0x1d) {
        assert!(ends.contains_key(&status), "no descriptor ended with {status:#x}: {ends:x?}");
    }
}
