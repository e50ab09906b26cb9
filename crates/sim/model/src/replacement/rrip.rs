//! Re-reference interval prediction: SRRIP and BRRIP.
//!
//! Models: M-bit re-reference prediction values (RRPV) with hit priority: a hit sets the value to 0; a
//! miss takes the lowest way with the greatest value, after ageing all until there is one.
//! Source: Jaleel et al., High Performance Cache Replacement Using Re-Reference Interval Prediction
//! (ISCA 2010): values on insertion, and 1 in 32 as the low probability of BRRIP.
//! Simplifies: with a way mask the search reads and ages only the ways of the mask.

use super::ages::Ages;
use super::{below, lowest};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{SetIndex, WayMask};

/// BRRIP inserts one line in this number with a long instead of a distant interval.
const BRRIP_LONG_ONE_IN: u32 = 32;

/// Width M of the re-reference prediction values, 1 to 4 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RrpvBits(u8);

impl RrpvBits {
    /// The width that the publication recommends.
    pub const TWO: Self = Self(2);
    /// Greatest width, in bits.
    pub const MOST: u8 = 4;

    /// `bits` if that is a width of 1 to 4 bits.
    #[must_use]
    pub fn new(bits: u8) -> Option<Self> {
        (1..=Self::MOST).contains(&bits).then_some(Self(bits))
    }

    /// The width in bits.
    #[must_use]
    pub fn get(self) -> u8 {
        self.0
    }

    /// The value of a line that is expected to be reused only in the distant future.
    fn distant(self) -> u32 {
        (1 << self.0) - 1
    }
}

/// The values of all sets.
#[derive(Clone, Debug)]
pub(super) struct Rrip {
    values: Ages<{ RrpvBits::MOST as usize }>,
    bits: RrpvBits,
    bimodal: bool,
}

impl Rrip {
    /// State of SRRIP for `sets` sets.
    pub(super) fn fixed(sets: u32, bits: RrpvBits) -> Self {
        Self { values: Ages::new(sets, bits.distant()), bits, bimodal: false }
    }

    /// State of BRRIP for `sets` sets.
    pub(super) fn bimodal(sets: u32, bits: RrpvBits) -> Self {
        Self { bimodal: true, ..Self::fixed(sets, bits) }
    }

    // Not inlined: there are many call sites, which stay small for the most common policies.
    #[inline(never)]
    pub(super) fn hit(&mut self, set: SetIndex, way: u32) {
        self.values.put(set, way, 0);
    }

    #[inline(never)]
    pub(super) fn fill(&mut self, set: SetIndex, way: u32, rng: &mut Xoshiro256PlusPlus) {
        let distant = self.bimodal && below(rng, BRRIP_LONG_ONE_IN) != 0;
        let long = self.bits.distant() - 1;
        self.values.put(set, way, if distant { self.bits.distant() } else { long });
    }

    #[inline(never)]
    pub(super) fn victim(&mut self, set: SetIndex, within: WayMask) -> u32 {
        let (value, ways) = self.values.oldest(set, within);
        self.values.add(set, within, self.bits.distant() - value);
        lowest(ways)
    }
}
