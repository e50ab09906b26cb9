//! Parities of a physical address under several masks, by table look-up.

use crate::{BLOCK_BITS, BLOCK_LINES};
use units::narrow::{fit, low_u32, usize_from};
use units::{LINE_BYTES, LineAddr};

/// Bits of a line address that one table covers.
const TABLE_BITS: usize = 7;

/// Tables, one after the other from the lowest bit of a line address.
const TABLES: usize = 5;

/// Bits of a byte within its line.
const OFFSET_BITS: u32 = LINE_BYTES.trailing_zeros();

/// Physical address bits that masks may cover: masks lie below bit 41 (2 TiB).
pub const ADDRESS_BITS: u32 = OFFSET_BITS + low_u32((TABLES * TABLE_BITS) as u64);

/// Masks that are looked up together.
pub const MOST_MASKS: usize = 16;

/// Parities of a physical address under up to [`MOST_MASKS`] masks. Bits within a line have no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parities {
    /// For each group of address bits, bit i is the parity of the group's bits that mask i selects.
    tables: Box<[[u16; 1 << TABLE_BITS]; TABLES]>,
}

impl Parities {
    /// # Panics
    /// If there are more than [`MOST_MASKS`] masks, or one covers bits from [`ADDRESS_BITS`] on.
    #[must_use]
    pub fn new(masks: &[u64]) -> Self {
        assert!(masks.len() <= MOST_MASKS && masks.iter().all(|mask| mask >> ADDRESS_BITS == 0));
        let mut tables = Box::new([[0; 1 << TABLE_BITS]; TABLES]);
        for (place, table) in tables.iter_mut().enumerate() {
            for (group, entry) in table.iter_mut().enumerate() {
                let address = ((group as u64) << (TABLE_BITS * place)) * LINE_BYTES;
                *entry = masks.iter().enumerate().fold(0, |bits, (bit, mask)| {
                    bits | (((address & mask).count_ones() & 1) as u16) << bit
                });
            }
        }
        Self { tables }
    }

    /// As [`Self::look_up`] for lines of the aligned block that contains `first`.
    #[inline]
    pub(crate) fn within_block(&self, first: LineAddr) -> BlockParities<'_> {
        let base = fit(self.look_up(LineAddr(first.0 & !(BLOCK_LINES - 1))));
        BlockParities { base, low: &self.tables[0], middle: &self.tables[1] }
    }

    /// Bit i is the parity of the address of `line` under mask i.
    #[inline]
    #[must_use]
    pub fn look_up(&self, line: LineAddr) -> u32 {
        let mut bits = 0;
        for (place, table) in self.tables.iter().enumerate() {
            bits ^= table[usize_from(line.0 >> (TABLE_BITS * place)) % table.len()];
        }
        u32::from(bits)
    }
}

/// Parities of the lines of one aligned block: the parities of its start, and the terms of the bits
/// within it.
pub(crate) struct BlockParities<'a> {
    base: u16,
    low: &'a [u16; 1 << TABLE_BITS],
    middle: &'a [u16; 1 << TABLE_BITS],
}

impl BlockParities<'_> {
    #[inline]
    pub(crate) fn look_up(&self, line: LineAddr) -> u32 {
        const MIDDLE: usize = (1 << (BLOCK_BITS as usize - TABLE_BITS)) - 1;
        let low = self.low[usize_from(line.0) % (1 << TABLE_BITS)];
        let middle = self.middle[usize_from(line.0 >> TABLE_BITS) & MIDDLE];
        u32::from(self.base ^ low ^ middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ADDRESSES: std::ops::Range<u64> = 0..1 << ADDRESS_BITS;

    proptest! {
        #[test]
        fn look_ups_agree_with_counting_bits(
            masks in proptest::collection::vec(ADDRESSES, 0..=MOST_MASKS),
            address in ADDRESSES,
        ) {
            let line = LineAddr::of_byte(address);
            let found = Parities::new(&masks).look_up(line);
            for (bit, mask) in masks.iter().enumerate() {
                let counted = ((line.0 * LINE_BYTES) & mask).count_ones() & 1;
                prop_assert_eq!(found >> bit & 1, counted);
            }
            prop_assert_eq!(found >> masks.len(), 0);
        }

        #[test]
        fn the_parities_of_a_sum_without_carry_are_those_of_its_parts_combined(
            masks in proptest::collection::vec(ADDRESSES, MOST_MASKS),
            one in ADDRESSES,
            other in ADDRESSES,
        ) {
            let parities = Parities::new(&masks);
            let of = |address| parities.look_up(LineAddr::of_byte(address));
            prop_assert_eq!(of(one ^ other), of(one) ^ of(other));
        }
    }

    #[test]
    fn address_bits_beyond_the_masks_change_nothing() {
        let parities = Parities::new(&[(1 << ADDRESS_BITS) - 1]);
        let line = LineAddr::of_byte(0x40);
        assert_eq!(parities.look_up(line), 1);
        assert_eq!(parities.look_up(LineAddr(line.0 | 1 << (ADDRESS_BITS - OFFSET_BITS))), 1);
    }
}
