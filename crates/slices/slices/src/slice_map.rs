//! Look-ups of slices in a table, for the addresses that it covers.

use crate::short_form::ShortForm;
use crate::table_file::TableFile;
use address_map::{ADDRESS_BITS, BaseSequence, SliceTableError};
use std::sync::Arc;
use units::narrow::{fit, usize_from};
use units::{LINE_BYTES, LineAddr, SliceId};

/// Looks up the slice of physical addresses, and refuses addresses for which the function is not
/// established. Clones share the tables.
///
/// Everything that depends on an address is linear over its bits: the position in the sequence, and
/// the parities that covered addresses have. So one look-up for each eight bits finds both; the lowest
/// bits need no look-up, since they choose the position alone. The entries are the values of
/// [`BaseSequence`] and of the coverage. Most functions are established for addresses that one
/// comparison recognises; these also have a [`ShortForm`].
#[derive(Clone, Debug)]
pub struct SliceMap {
    short: Arc<ShortForm>,
    /// The lowest address above all covered ones; at most 2^[`ADDRESS_BITS`].
    limit: u64,
    /// Lowest bit of a line address that the tables look at.
    first_bit: u32,
    /// Number that each value of eight bits adds to the word of position and parities.
    tables: Arc<[Table; TABLES]>,
    /// Tables as [`Self::tables`] for further bits: few functions depend on as many.
    more_tables: Arc<[Table]>,
    /// Coverage parities of covered addresses.
    wanted: u64,
    /// The sequence: slice of each position, a power of two of them.
    base: Arc<[u8]>,
    slices: u32,
}

/// Error of a physical address for which the table is not established.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the slice table does not cover physical address {physical_address:#x}: recover it again with \
     pages that include it"
)]
pub struct NotCovered {
    /// Physical address that the table does not cover.
    pub physical_address: u64,
}

/// Bits that one table looks at.
const GROUP_BITS: u32 = 8;

type Table = [u64; 1 << GROUP_BITS];

/// Tables that are looked at without a loop: enough for a sequence of 2048 lines or more.
const TABLES: usize = 3;

/// Bits of a line address that a table file can describe.
const LINE_BITS: u32 = ADDRESS_BITS - LINE_BYTES.trailing_zeros();

/// Low bits of a word: the number with which the position in the sequence is XORed. The other bits are the
/// parities of the coverage, [`LINE_BITS`] at most.
const POSITION_BITS: u32 = 16;

impl SliceMap {
    /// Builds the tables of a slice function and its coverage.
    ///
    /// # Errors
    /// If the table is not a slice function.
    pub fn new(file: &TableFile) -> Result<Self, SliceTableError> {
        let function = BaseSequence::new(&file.table)?;
        let coverage = file.coverage.lookup();
        let length = function.length();
        let position = |line| u64::from(function.position(line)) ^ line.0 & (length - 1);
        let word = |line| position(line) | coverage.parities(line) << POSITION_BITS;
        let bits = changing_bits(&word);
        let groups = bits.len().div_ceil(GROUP_BITS as usize);
        let table = |group: usize| -> Table {
            let first = bits.start + fit::<u32, _>(group) * GROUP_BITS;
            std::array::from_fn(|value| word(LineAddr((value as u64) << first)))
        };
        Ok(Self {
            short: ShortForm::new(&function, file.coverage.fixed_bits()),
            limit: coverage.limit(),
            first_bit: bits.start,
            tables: Arc::new(std::array::from_fn(table)),
            more_tables: (TABLES..groups).map(table).collect(),
            wanted: coverage.wanted(),
            base: (0..length).map(|line| fit(function.slice(LineAddr(line)))).collect(),
            slices: function.slices(),
        })
    }

    /// The form for addresses that one comparison recognises. It does not move while the map lives.
    #[must_use]
    pub fn short_form(&self) -> &ShortForm {
        &self.short
    }

    /// Number of slices; they are numbered from 0.
    #[must_use]
    pub fn slices(&self) -> u32 {
        self.slices
    }

    /// The slice of the line at a physical address.
    ///
    /// # Errors
    /// If the table is not established for the address.
    #[inline]
    pub fn slice_of(&self, physical_address: u64) -> Result<SliceId, NotCovered> {
        if self.short.covers(physical_address) {
            return Ok(SliceId(self.short.slice(physical_address).into()));
        }
        self.slice_by_parities(physical_address)
    }

    /// Looks up an address that the short form does not recognise.
    fn slice_by_parities(&self, physical_address: u64) -> Result<SliceId, NotCovered> {
        let (slice, covered) = self.look_up(physical_address);
        if covered { Ok(slice) } else { Err(NotCovered { physical_address }) }
    }

    /// Writes the slices of the lines at many physical addresses to `slices`, which is as long as
    /// `addresses`.
    ///
    /// # Errors
    /// If the table is not established for an address; the error has the first one, and the content of
    /// `slices` is then undefined.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn slices_of(&self, addresses: &[u64], slices: &mut [SliceId]) -> Result<(), NotCovered> {
        assert_eq!(addresses.len(), slices.len());
        self.for_each_slice(addresses, |index, slice| slices[index] = slice)
    }

    /// Looks up the slices of many physical addresses and calls `put` with the index of each address and
    /// its slice.
    ///
    /// # Errors
    /// If the table is not established for an address; the error has the first one.
    #[inline]
    pub fn for_each_slice(
        &self,
        addresses: &[u64],
        mut put: impl FnMut(usize, SliceId),
    ) -> Result<(), NotCovered> {
        // Without exits in the loops the look-ups of several addresses overlap.
        if self.short.covers_all(addresses) {
            self.short.for_each_slice(addresses, put);
            return Ok(());
        }
        let mut all_covered = true;
        for (index, &address) in addresses.iter().enumerate() {
            let (slice, covered) = self.look_up(address);
            put(index, slice);
            all_covered &= covered;
        }
        if all_covered {
            return Ok(());
        }
        let first = addresses.iter().copied().find(|&address| !self.look_up(address).1);
        first.map_or(Ok(()), |physical_address| Err(NotCovered { physical_address }))
    }

    /// The slice by the function, and whether the function is established for the address.
    #[inline]
    fn look_up(&self, physical_address: u64) -> (SliceId, bool) {
        let line = LineAddr::of_byte(physical_address).0;
        let mut bits = line >> self.first_bit;
        let mut word = 0;
        for table in self.tables.as_ref() {
            word ^= table[usize_from(bits) % table.len()];
            bits >>= GROUP_BITS;
        }
        for table in self.more_tables.iter() {
            word ^= table[usize_from(bits) % table.len()];
            bits >>= GROUP_BITS;
        }
        let position = usize_from(line ^ word) & (self.base.len() - 1);
        let covered = physical_address < self.limit && word >> POSITION_BITS == self.wanted;
        (SliceId(u16::from(self.base[position])), covered)
    }
}

/// The bits of a line address that change the word at all, and those between them.
fn changing_bits(word: &impl Fn(LineAddr) -> u64) -> std::ops::Range<u32> {
    let changes = |bit: &u32| word(LineAddr(1 << bit)) != 0;
    let first = (0..LINE_BITS).find(changes).unwrap_or(0);
    let last = (0..LINE_BITS).rfind(changes).map_or(0, |bit| bit + 1);
    first..last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::{Coverage, CoveredAddresses};
    use address_map::SliceTable;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Tables of any length and range, established for all of it or for some.
    fn files() -> impl Strategy<Value = TableFile> {
        let ranges = (1..=16u32, 1..=256u32).prop_flat_map(|(bits, slices)| {
            (Just((bits, slices)), bits + 6..ADDRESS_BITS, vec(any::<u64>(), 16), any::<u64>())
        });
        let lines = (0..1u64 << LINE_BITS).prop_map(|line| line * LINE_BYTES);
        let covered = (lines.clone(), vec(lines, 0..30));
        (ranges, proptest::option::of(covered)).prop_map(
            |((bits_slices, high, masks, seed), covered)| {
                let (bits, slices) = (bits_slices.0, bits_slices.1.min(1 << bits_slices.0));
                let limit = 2u64 << high;
                let mask = |mask: &u64| ((mask % limit) >> (bits + 6)) << (bits + 6);
                let table = SliceTable {
                    part: "p".into(),
                    source: "s".into(),
                    slices,
                    base: (0..1u64 << bits)
                        .map(|line| fit((line ^ (seed % u64::from(slices))) % u64::from(slices)))
                        .collect(),
                    perm_masks: masks[..bits as usize].iter().map(mask).collect(),
                    valid_bits: (6, high),
                };
                let coverage = match covered {
                    Some((origin, span)) => Coverage::Only(CoveredAddresses { origin, span }),
                    None => Coverage::Below(limit),
                };
                TableFile { table, coverage, evidence: None }
            },
        )
    }

    proptest! {
        #[test]
        fn one_pass_says_what_function_and_coverage_say(
            file in files(),
            addresses in vec(0..4u64 << ADDRESS_BITS, 64),
            choices in vec(any::<u32>(), 1..100),
        ) {
            let map = SliceMap::new(&file).expect("is valid");
            let function = BaseSequence::new(&file.table).expect("is valid");
            let coverage = file.coverage.lookup();
            let inside = |choice: u32| match &file.coverage {
                Coverage::Below(limit) => (limit - 1).rotate_right(choice % 64) % limit,
                Coverage::Only(covered) => {
                    let chosen = covered.span.iter().enumerate();
                    let chosen = chosen.filter(|(index, _)| choice >> index & 1 == 1);
                    chosen.fold(covered.origin, |sum, (_, vector)| sum ^ vector)
                }
            };
            let covered: Vec<u64> = choices.into_iter().map(inside).collect();
            let mut many = vec![SliceId(0); covered.len()];
            prop_assert_eq!(map.slices_of(&covered, &mut many), Ok(()));
            for (&address, &slice) in covered.iter().zip(&many) {
                prop_assert_eq!(map.slice_of(address), Ok(slice));
            }
            let inside = covered[0];
            for address in addresses.into_iter().chain(covered) {
                let slice = SliceId(fit(function.slice(LineAddr::of_byte(address))));
                let said = match coverage.covers(address) {
                    true => Ok(slice),
                    false => Err(NotCovered { physical_address: address }),
                };
                prop_assert_eq!(map.slice_of(address), said);
                let mut many = [SliceId(0); 2];
                let batch = map.slices_of(&[inside, address], &mut many);
                prop_assert_eq!(batch.map(|()| many[1]), said);
            }
        }
    }
}
