//! The function from a line to its slice.

use crate::base_sequence::{BaseSequence, BlockSequence, SliceTable, SliceTableError, slice_in};
use crate::mix;
use crate::parities::Parities;
use units::narrow::{low_u32, usize_from};
use units::{LineAddr, SetIndex};

/// XOR masks of 2, 4, 8 and 16 slices over physical address bits (EuroSys'19, Haswell and after).
pub const XOR_MASKS: [u64; 4] = [0x1B_5F57_5440, 0x2E_B5FA_A880, 0x3C_CCC9_3100, 0x31_AEEB_1200];

/// How the slice of a line is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SliceFunction {
    /// Bit i of the slice number is the parity of the physical address under mask i.
    Xor(Parities),
    /// A sequence of slice numbers, rearranged in each of its repetitions: the processor's own
    /// function.
    BaseSequence(BaseSequence),
    /// The four published XOR masks choose one of 16 equal shares, and a uniform mix the position
    /// within it. Lines of one huge page with equal set index go to different slices, as under an XOR
    /// function, for any number of slices. A stand-in that is right only in its balance.
    Balanced(Parities),
    /// Lines of equal set index go to the slices in turn, in an order of each set index's own:
    /// contiguous memory is spread as evenly as possible. A stand-in, the even extreme.
    Rotating,
    /// A uniform mixing function over any number of slices: right on average, not for a single address.
    Mixing,
}

impl SliceFunction {
    /// The XOR function of `masks`, one for each bit of the slice number.
    ///
    /// # Panics
    /// If there are too many masks, or one covers unsupported bits; see [`Parities::new`].
    #[must_use]
    pub fn xor(masks: &[u64]) -> Self {
        Self::Xor(Parities::new(masks))
    }

    /// The function that `table` states.
    ///
    /// # Errors
    /// If the table is not a slice function; see [`SliceTableError`].
    pub fn base_sequence(table: &SliceTable) -> Result<Self, SliceTableError> {
        BaseSequence::new(table).map(Self::BaseSequence)
    }

    /// The balanced stand-in.
    #[must_use]
    pub fn balanced() -> Self {
        Self::Balanced(Parities::new(&XOR_MASKS))
    }

    /// The function, with its source and validity range, in words, for reports.
    #[must_use]
    pub fn describe(&self) -> &str {
        match self {
            Self::Xor(_) => "published XOR masks",
            Self::BaseSequence(sequence) => sequence.describe(),
            Self::Balanced(_) => {
                "balanced stand-in on the published XOR masks (the part's own is not public)"
            }
            Self::Rotating => "rotating stand-in (the part's own function is not public)",
            Self::Mixing => "uniform mixing stand-in (the part's own function is not public)",
        }
    }

    /// Addresses below 2 to this power are those for which a base sequence was established; the same
    /// rule applies beyond. `None` for the functions without a validity range.
    #[must_use]
    pub fn valid_address_bits(&self) -> Option<u32> {
        match self {
            Self::BaseSequence(sequence) => Some(sequence.valid_address_bits()),
            Self::Xor(_) | Self::Balanced(_) | Self::Rotating | Self::Mixing => None,
        }
    }

    /// Replaces each of `sets` by `set_of` of a line and its slice, for neighbouring lines from `first`
    /// on, all in one aligned block. Terms that they share are computed once.
    #[inline]
    pub(crate) fn sets_in_block(
        &self,
        first: LineAddr,
        slices: u32,
        sets: &mut [SetIndex],
        set_of: impl Fn(LineAddr, u32) -> SetIndex,
    ) {
        match self {
            Self::Xor(parities) => {
                let parities = parities.within_block(first);
                fill(sets, first, |line| set_of(line, parities.look_up(line)));
            }
            Self::Balanced(parities) => {
                let parities = parities.within_block(first);
                let slice = |line| balance(parities.look_up(line), line, slices);
                fill(sets, first, |line| set_of(line, slice(line)));
            }
            Self::BaseSequence(sequence) => match sequence.within_block(first) {
                BlockSequence::Alike { base, permutation } => {
                    fill(sets, first, |line| set_of(line, slice_in(base, permutation, line)));
                }
                BlockSequence::Each { base, permutation } => {
                    let slice = |line| slice_in(base, permutation.look_up(line), line);
                    fill(sets, first, |line| set_of(line, slice(line)));
                }
            },
            // These are cheap or have no terms in common.
            Self::Rotating => fill(sets, first, |line| set_of(line, rotate(line, slices))),
            Self::Mixing => fill(sets, first, |line| set_of(line, scale(mix(line.0), slices))),
        }
    }

    #[inline]
    pub(crate) fn slice(&self, line: LineAddr, slices: u32) -> u32 {
        match self {
            Self::Xor(parities) => parities.look_up(line),
            Self::BaseSequence(sequence) => sequence.slice(line),
            Self::Balanced(parities) => balance(parities.look_up(line), line, slices),
            Self::Rotating => rotate(line, slices),
            Self::Mixing => scale(mix(line.0), slices),
        }
    }
}

/// The sets of neighbouring lines from `first` on.
#[inline(always)]
fn fill(sets: &mut [SetIndex], first: LineAddr, set_of: impl Fn(LineAddr) -> SetIndex) {
    for (set, line) in sets.iter_mut().zip(first.0..) {
        *set = set_of(LineAddr(line));
    }
}

/// One of 16 equal shares, and the position within it. Bits 20:17 of the address only choose the share:
/// the mixed value is constant over the 16 lines of a 2 MiB page with equal bits 16:6, so they get
/// different slices.
#[inline]
fn balance(share: u32, line: LineAddr, slices: u32) -> u32 {
    let rest = line.0 >> 15 << 11 | line.0 & 0x7FF;
    scale(u64::from(share) << 60 | mix(rest) >> 4, slices)
}

/// Block `k` of 128 KiB goes to slice (start + k x step) mod `slices`. Each set index has its own start
/// and step; the step is prime and so has no common factor with most numbers of slices.
#[inline]
fn rotate(line: LineAddr, slices: u32) -> u32 {
    const STEPS: [u32; 8] = [1, 5, 7, 11, 13, 17, 19, 23];
    let own = mix(line.0 & 0x7FF);
    let step = STEPS[usize_from(own) & 7];
    let block = low_u32(line.0 >> 11);
    (block.wrapping_mul(step) + scale(own, slices)) % slices
}

/// Maps a uniform 64-bit value to 0..n without division.
#[inline]
fn scale(value: u64, n: u32) -> u32 {
    (((value >> 32) * u64::from(n)) >> 32) as u32
}
