//! Shape and policies of a last-level cache.
//!
//! Models: what a line in the LLC says about copies in cores, which is the inclusion policy.
//! Source: Intel (slices, ways, inclusion by generation); AMD (victim cache of a core complex);
//! "inclusive ways and migration" as published for A4 (ISCA'25).
//! Simplifies: nothing.

use crate::replacement::Replacement;
use address_map::AddressMap;

/// What a line in the LLC means for the private caches above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inclusion {
    /// Every line of a core is here too; a line that leaves takes the cores' copies with it (Intel
    /// up to Broadwell).
    Inclusive,
    /// A victim cache of L2; lines that cores hold too live in the lowest ways (Skylake-SP and after).
    NonInclusive {
        /// How many of the lowest ways.
        inclusive_ways: u32,
    },
    /// A victim cache of L2 that gives up what a core takes (AMD Zen, per core complex).
    ExclusiveVictim,
    /// Levels know nothing of each other: each is filled on its miss, nothing is invalidated
    /// ("non-inclusive, non-exclusive"), as in most cache simulators.
    Nine,
}

impl Inclusion {
    /// The lowest of `ways` ways that know which cores hold their lines.
    #[must_use]
    pub fn tracked_ways(self, ways: u32) -> u32 {
        match self {
            Self::Inclusive => ways,
            Self::NonInclusive { inclusive_ways } => inclusive_ways,
            Self::ExclusiveVictim | Self::Nine => 0,
        }
    }
}

/// Shape and policies of an LLC.
#[derive(Clone, Debug)]
pub struct LlcConfig {
    /// Address to slice and set.
    pub map: AddressMap,
    /// Data ways per set.
    pub ways: u32,
    /// What a line here means for the cores.
    pub inclusion: Inclusion,
    /// Victim choice in the data ways.
    pub replacement: Replacement,
}
