//! Addresses, sets, slices and way masks.

use crate::narrow::low_u32;
use std::fmt;

/// Bytes of a cache line on every machine modelled here.
pub const LINE_BYTES: u64 = 64;

/// A physical address divided by the line size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineAddr(pub u64);

impl LineAddr {
    /// The line that holds the byte at `physical_address`.
    #[must_use]
    pub fn of_byte(physical_address: u64) -> Self {
        Self(physical_address / LINE_BYTES)
    }

    /// The low 32 bits of its number: they choose a set, and cover a simulated machine's memory (256
    /// GiB).
    #[inline(always)]
    #[must_use]
    pub const fn low_bits(self) -> u32 {
        low_u32(self.0)
    }

    /// The line `lines` after this one.
    #[must_use]
    pub fn step(self, lines: u64) -> Self {
        Self(self.0 + lines)
    }

    /// The other line of the same aligned 128-byte pair.
    #[must_use]
    pub fn neighbour(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// A set of a cache, counted over all slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SetIndex(pub u32);

/// A slice of the last-level cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SliceId(pub u16);

/// A set of ways, bit i for way i, as in CAT masks and the IIO LLC WAYS register.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct WayMask(pub u32);

impl WayMask {
    /// The `count` highest of `ways` ways: where DDIO allocates.
    #[must_use]
    pub fn top(count: u32, ways: u32) -> Self {
        Self((Self::bottom(count).0).checked_shl(ways - count).unwrap_or(0))
    }

    /// A mask of the `count` lowest ways.
    #[must_use]
    pub fn bottom(count: u32) -> Self {
        Self(low_u32((1u64 << count) - 1))
    }

    /// Number of ways in the mask.
    #[must_use]
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether it holds `way`, which is below 32.
    #[inline]
    #[must_use]
    pub fn contains(self, way: u32) -> bool {
        self.0 >> way & 1 == 1
    }
}

impl fmt::Debug for WayMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_top_ways_of_eleven_are_the_ddio_default() {
        assert_eq!(WayMask::top(2, 11), WayMask(0x600));
    }

    #[test]
    fn all_of_thirty_two_ways_are_a_full_mask() {
        assert_eq!(WayMask::bottom(32), WayMask(u32::MAX));
        assert_eq!(WayMask::top(32, 32), WayMask(u32::MAX));
    }

    #[test]
    fn no_ways_is_the_empty_mask() {
        assert_eq!(WayMask::top(0, 32), WayMask(0));
        assert_eq!(WayMask::top(0, 11), WayMask(0));
    }

    #[test]
    fn neighbours_pair_up() {
        assert_eq!(LineAddr(6).neighbour(), LineAddr(7));
        assert_eq!(LineAddr(7).neighbour(), LineAddr(6));
    }
}
