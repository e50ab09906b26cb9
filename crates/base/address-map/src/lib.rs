//! The slice and set of a line in a sliced last-level cache.
//!
//! Models: the hash that spreads lines over slices, and the set index inside a slice.
//! Source: EuroSys'19 (XOR masks for 2^n slices), J. McCalpin's Intel_Address_Hash
//! (base sequence with permutation masks for other counts).
//! Simplifies: processors whose function is not published use a stand-in, which
//! [`SliceFunction::describe`] names; the set index was measured on Skylake-SP and Cascade Lake alone
//! (DEVIATIONS.md, 2).

mod base_sequence;
mod parities;
#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of made-up tables are small"
)]
mod properties;
mod set_function;
mod slice_function;

pub use base_sequence::{BaseSequence, SliceTable, SliceTableError};
pub use parities::{ADDRESS_BITS, MOST_MASKS, Parities};
pub use set_function::SetFunction;
pub use slice_function::{SliceFunction, XOR_MASKS};

use set_function::{Ranks, same_page};
use units::narrow::{fit, low_u32, usize_from};
use units::{LineAddr, SetIndex, SliceId};

/// Lines of the aligned blocks (128 KiB) in which the high-bit terms of the functions are constant.
pub(crate) const BLOCK_LINES: u64 = 1 << BLOCK_BITS;
pub(crate) const BLOCK_BITS: u32 = 11;

/// The complete address map of one socket's last-level cache.
#[derive(Clone, Debug)]
pub struct AddressMap {
    slices: u32,
    sets_per_slice: u32,
    slice_function: SliceFunction,
    set_function: SetFunction,
    /// For [`SetFunction::Ranked`].
    ranks: Option<Ranks>,
}

impl AddressMap {
    /// # Panics
    /// If `sets_per_slice` is not a power of two, there are no slices, a base sequence has another
    /// number of slices, or sets are ranked without a base sequence. Platforms are checked before they
    /// get here.
    #[must_use]
    pub fn new(
        slices: u32,
        sets_per_slice: u32,
        slice_function: SliceFunction,
        set_function: SetFunction,
    ) -> Self {
        assert!(slices > 0 && sets_per_slice.is_power_of_two());
        if let SliceFunction::BaseSequence(sequence) = &slice_function {
            assert_eq!(sequence.slices(), slices, "the base sequence is another part's");
        }
        let ranks = (set_function == SetFunction::Ranked)
            .then(|| Ranks::new(sequence_of(&slice_function), sets_per_slice));
        Self { slices, sets_per_slice, slice_function, set_function, ranks }
    }

    /// How the slice of a line is chosen.
    #[must_use]
    pub fn slice_function(&self) -> &SliceFunction {
        &self.slice_function
    }

    /// How the set inside a slice is chosen.
    #[must_use]
    pub fn set_function(&self) -> SetFunction {
        self.set_function
    }

    /// Number of slices of the socket.
    #[must_use]
    pub fn slices(&self) -> u32 {
        self.slices
    }

    /// The slice that holds `line`.
    #[inline]
    #[must_use]
    pub fn slice_of(&self, line: LineAddr) -> SliceId {
        SliceId(fit(self.slice_function.slice(line, self.slices)))
    }

    /// The set of `line`, counted over all slices: slice x sets per slice + set in the slice.
    #[inline(always)]
    #[must_use]
    pub fn set_of(&self, line: LineAddr) -> SetIndex {
        let low = match (self.set_function, &self.ranks) {
            (SetFunction::Hashed, _) => line.0 ^ mix(line.0 / u64::from(self.sets_per_slice)),
            (_, Some(ranks)) => return ranks.set_of(sequence_of(&self.slice_function), line),
            (_, None) => line.0,
        };
        let index = low_u32(low) & (self.sets_per_slice - 1);
        let slice = self.slice_function.slice(line, self.slices);
        SetIndex(slice * self.sets_per_slice + index)
    }

    /// Writes [`Self::set_of`] of neighbouring lines, from `first` on; terms that the lines share are
    /// computed once.
    #[inline]
    pub fn sets_of_run(&self, first: LineAddr, sets: &mut [SetIndex]) {
        let mut from = 0;
        while from < sets.len() {
            let line = first.step(from as u64);
            let to_block_end = BLOCK_LINES - line.0 % BLOCK_LINES;
            let run = (sets.len() - from).min(usize_from(to_block_end));
            self.sets_within_block(line, &mut sets[from..from + run]);
            from += run;
        }
    }

    /// As [`Self::sets_of_run`], for lines of one aligned block.
    #[inline]
    fn sets_within_block(&self, first: LineAddr, sets: &mut [SetIndex]) {
        let per_slice = self.sets_per_slice;
        if let Some(ranks) = &self.ranks {
            return ranks.sets_in_block(sequence_of(&self.slice_function), first, sets);
        }
        let (hash, index_mask) = match self.set_function {
            // Equal for all lines of a block where a slice has at least as many sets.
            SetFunction::Hashed if u64::from(per_slice) >= BLOCK_LINES => {
                (mix(first.0 / u64::from(per_slice)), per_slice - 1)
            }
            SetFunction::Plain | SetFunction::Ranked => (0, per_slice - 1),
            SetFunction::Hashed => {
                for (set, line) in sets.iter_mut().zip(first.0..) {
                    *set = self.set_of(LineAddr(line));
                }
                return;
            }
        };
        let set_of = |line: LineAddr, slice: u32| {
            SetIndex(slice * per_slice + (low_u32(line.0 ^ hash) & index_mask))
        };
        self.slice_function.sets_in_block(first, self.slices, sets, set_of);
    }

    /// Whether `lines` neighbouring lines from `first` on are known to lie in different sets without a
    /// look at each.
    #[inline]
    #[must_use]
    pub fn run_is_spread(&self, first: LineAddr, lines: u64) -> bool {
        let per_slice = u64::from(self.sets_per_slice);
        // As many lines as a slice has sets differ in their low bits, and the hash is the same for all
        // lines of a block of that size.
        let last = LineAddr(first.0 + lines.max(1) - 1);
        match (self.set_function, &self.ranks) {
            (_, Some(ranks)) => ranks.pages_are_spread && same_page(first, last),
            (SetFunction::Hashed, _) => {
                lines <= per_slice && first.0 / per_slice == last.0 / per_slice
            }
            (_, None) => lines <= per_slice,
        }
    }

    /// The slice that contains a set.
    #[inline]
    #[must_use]
    pub fn slice_of_set(&self, set: SetIndex) -> SliceId {
        SliceId(fit(set.0 >> self.sets_per_slice.trailing_zeros()))
    }

    /// Number of sets of all slices together.
    #[must_use]
    pub fn total_sets(&self) -> u32 {
        self.slices * self.sets_per_slice
    }
}

/// The base sequence of a map whose sets are ranked by one.
#[inline(always)]
fn sequence_of(function: &SliceFunction) -> &BaseSequence {
    match function {
        SliceFunction::BaseSequence(sequence) => sequence,
        _ => panic!("ranked sets need a base sequence"),
    }
}

/// The finaliser of splitmix64: every output bit depends on every input bit.
#[inline]
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASWELL_8: [u64; 3] = [0x1B_5F57_5440, 0x2E_B5FA_A880, 0x3C_CCC9_3100];

    #[test]
    fn xor_masks_fill_eight_slices_evenly_over_a_huge_page() {
        let map = AddressMap::new(8, 2048, SliceFunction::xor(&HASWELL_8), SetFunction::Plain);
        let mut lines = [0; 8];
        for line in 0..32_768 {
            lines[map.slice_of(LineAddr(line)).0 as usize] += 1;
        }
        assert_eq!(lines, [4096; 8]);
    }

    #[test]
    fn a_single_bit_of_a_mask_selects_its_slice() {
        let function = SliceFunction::xor(&HASWELL_8);
        assert_eq!(function.slice(LineAddr::of_byte(0x40), 8), 0b001);
        assert_eq!(function.slice(LineAddr::of_byte(0x80), 8), 0b010);
        assert_eq!(function.slice(LineAddr::of_byte(0x100), 8), 0b100);
    }

    #[test]
    fn mixing_spreads_eighteen_slices_within_three_percent() {
        let map = AddressMap::new(18, 2048, SliceFunction::Mixing, SetFunction::Plain);
        let mut lines = [0u32; 18];
        let total = 1 << 20;
        for line in 0..total {
            lines[map.slice_of(LineAddr(line)).0 as usize] += 1;
        }
        let fair = total as f64 / 18.0;
        assert!(lines.iter().all(|&n| (f64::from(n) / fair - 1.0).abs() < 0.03), "{lines:?}");
    }

    #[test]
    fn a_plain_set_index_is_address_bits_16_to_6() {
        let map = AddressMap::new(1, 2048, SliceFunction::Mixing, SetFunction::Plain);
        assert_eq!(map.set_of(LineAddr::of_byte(0x1_FFC0)), SetIndex(2047));
        assert_eq!(map.set_of(LineAddr::of_byte(0x2_0000)), SetIndex(0));
    }

    #[test]
    fn a_hashed_set_index_is_a_permutation_of_each_block() {
        let map = AddressMap::new(1, 64, SliceFunction::Mixing, SetFunction::Hashed);
        let mut seen: Vec<u32> = (640..704).map(|line| map.set_of(LineAddr(line)).0).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..64).collect::<Vec<_>>());
    }
}
