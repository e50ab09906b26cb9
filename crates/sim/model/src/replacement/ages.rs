//! A small age for each way of each set, for RRIP and QLRU.
//!
//! Models: the ages of RRIP and QLRU as storage.
//!
//! An age is kept as bit planes: word b of a set holds bit b of every way, so that all ways of a mask
//! are compared or aged at once.

use tag_array::Table;
use units::{SetIndex, WayMask};

/// Ages of 0 to 2^BITS - 1.
#[derive(Clone, Debug)]
pub(super) struct Ages<const BITS: usize> {
    planes: Table<[u32; BITS]>,
}

impl<const BITS: usize> Ages<BITS> {
    /// All ways of all sets with `age`.
    pub(super) fn new(sets: u32, age: u32) -> Self {
        let planes = std::array::from_fn(|bit| if age >> bit & 1 == 1 { u32::MAX } else { 0 });
        Self { planes: Table::new(planes, sets as usize) }
    }

    #[inline]
    pub(super) fn get(&self, set: SetIndex, way: u32) -> u32 {
        let planes = self.planes[set.0 as usize].iter().enumerate();
        planes.fold(0, |age, (bit, plane)| age | (plane >> way & 1) << bit)
    }

    #[inline]
    pub(super) fn put(&mut self, set: SetIndex, way: u32, age: u32) {
        for (bit, plane) in self.planes[set.0 as usize].iter_mut().enumerate() {
            *plane = *plane & !(1 << way) | (age >> bit & 1) << way;
        }
    }

    /// The greatest age in `within` and all ways there that have it.
    #[inline]
    pub(super) fn oldest(&self, set: SetIndex, within: WayMask) -> (u32, WayMask) {
        self.planes[set.0 as usize].iter().rev().fold((0, within), |(age, ways), plane| {
            let with_bit = ways.0 & plane;
            if with_bit == 0 { (age << 1, ways) } else { (age << 1 | 1, WayMask(with_bit)) }
        })
    }

    /// Adds `years` to the ages in `within`, none of which may exceed the greatest age.
    #[inline]
    pub(super) fn add(&mut self, set: SetIndex, within: WayMask, years: u32) {
        let mut carry = 0;
        for (bit, plane) in self.planes[set.0 as usize].iter_mut().enumerate() {
            let addend = if years >> bit & 1 == 1 { within.0 } else { 0 };
            let sum = *plane ^ addend ^ carry;
            carry = *plane & addend | *plane & carry | addend & carry;
            *plane = sum;
        }
        debug_assert_eq!(carry, 0);
    }
}
