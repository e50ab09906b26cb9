//! Emulated machines: slice functions, huge pages somewhere in memory, and counters that err.

use address_map::{AddressMap, SetFunction, SliceFunction, SliceTable};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slices::recovery::{HugePage, HugePageSize, OracleAnswer, SliceOracle};
use std::convert::Infallible;
use units::{LineAddr, SliceId};

/// How answers err.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "each file of tests uses some")]
pub enum Noise {
    /// With this probability another slice, any of them.
    Spread(f64),
    /// With this probability the next slice: wrong answers are all alike.
    Next(f64),
    /// With this probability slice 0: another program keeps it busy.
    Busy(f64),
    /// With this probability no slice stands out.
    Unclear(f64),
    /// This share of lines has a wrong answer each time.
    Sticky(f64),
    /// Bursts of 1000 questions, in which half of the answers are wrong, at this share of all.
    Bursts(f64),
}

/// A machine's counters.
pub struct Counters {
    map: AddressMap,
    pages: Vec<HugePage>,
    noise: Noise,
    random: Xoshiro256PlusPlus,
    asked: u64,
}

impl Counters {
    pub fn new(function: &SliceFunction, slices: u32, pages: &[HugePage], noise: Noise) -> Self {
        let map = AddressMap::new(slices, 2048, function.clone(), SetFunction::Plain);
        let random = Xoshiro256PlusPlus::seed_from_u64(99);
        Self { map, pages: pages.to_vec(), noise, random, asked: 0 }
    }

    /// The slice that the address really is in.
    pub fn slice(&self, address: u64) -> SliceId {
        self.map.slice_of(LineAddr::of_byte(address))
    }

    fn another(&mut self, slice: SliceId) -> SliceId {
        let step = 1 + self.random.next_u32() % (self.map.slices() - 1);
        SliceId(((u32::from(slice.0) + step) % self.map.slices()) as u16)
    }

    fn happens(&mut self, probability: f64) -> bool {
        draw(&mut self.random) < probability
    }
}

impl SliceOracle for Counters {
    type Error = Infallible;

    fn slices(&self) -> u32 {
        self.map.slices()
    }

    fn ask(&mut self, address: u64) -> Result<OracleAnswer, Infallible> {
        let within =
            |page: &HugePage| address >> page.size.bits() == page.start >> page.size.bits();
        assert!(self.pages.iter().any(within), "{address:#x} is in no page");
        self.asked += 1;
        let right = self.slice(address);
        let noise = self.noise;
        let given = match noise {
            Noise::Spread(share) if self.happens(share) => self.another(right),
            Noise::Next(share) if self.happens(share) => {
                SliceId((right.0 + 1) % self.map.slices() as u16)
            }
            Noise::Busy(share) if self.happens(share) => SliceId(0),
            Noise::Unclear(share) if self.happens(share) => return Ok(OracleAnswer::Unclear),
            Noise::Sticky(share) => {
                let mut of_line = Xoshiro256PlusPlus::seed_from_u64(address);
                let other = (right.0 + 1) % self.map.slices() as u16;
                if draw(&mut of_line) < share { SliceId(other) } else { right }
            }
            Noise::Bursts(share) => {
                let mut of_burst = Xoshiro256PlusPlus::seed_from_u64(self.asked / 1000);
                let noisy = draw(&mut of_burst) < share && self.happens(0.5);
                if noisy { self.another(right) } else { right }
            }
            _ => right,
        };
        Ok(OracleAnswer::Slice(given))
    }
}

/// A uniform number from 0 to 1.
pub fn draw(random: &mut impl RngCore) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Huge pages at random addresses below 2^`memory_bits`.
pub fn pages(count: usize, size: HugePageSize, memory_bits: u32, seed: u64) -> Vec<HugePage> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut starts = Vec::new();
    while starts.len() < count {
        let start = (random.next_u64() % (1 << (memory_bits - size.bits()))) << size.bits();
        if !starts.contains(&start) {
            starts.push(start);
        }
    }
    starts.into_iter().map(|start| HugePage { start, size }).collect()
}

/// A made-up table with the shape of a real part's: the last third of the slices gets 0.69 to 0.98
/// of a fair share, one mask is zero.
pub fn table(slices: u32, length_bits: u32, memory_bits: u32, seed: u64) -> SliceTable {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let length = 1usize << length_bits;
    let heavy = slices - slices / 3;
    let mut base = Vec::new();
    for slice in heavy..slices {
        let lines = length as f64 / f64::from(slices) * (0.69 + 0.29 * draw(&mut random));
        base.extend(std::iter::repeat_n(slice as u16, (lines.round() as usize).max(1)));
    }
    base.extend((base.len()..length).map(|index| (index as u32 % heavy) as u16));
    for index in (1..length).rev() {
        base.swap(index, random.next_u64() as usize % (index + 1));
    }
    let low = 6 + length_bits;
    let mut mask = || (random.next_u64() % (1 << (memory_bits - low))) << low;
    let mut perm_masks: Vec<u64> = (0..length_bits).map(|_| mask()).collect();
    perm_masks[length_bits as usize - 2] = 0;
    let (part, source) = ("a test part".into(), "made up".into());
    let valid_bits = (6, memory_bits - 1);
    SliceTable { part, source, slices, base, perm_masks, valid_bits }
}
