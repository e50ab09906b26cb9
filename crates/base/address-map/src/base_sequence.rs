//! Slice functions of processors whose number of slices is not a power of two.
//!
//! A short sequence of slice numbers repeats through memory, and each repetition is rearranged by
//! XORing the position with parities of the higher address bits. Every aligned block of the
//! sequence's length therefore holds each slice equally often, however it is rearranged.

use crate::BLOCK_LINES;
use crate::parities::{ADDRESS_BITS, BlockParities, MOST_MASKS, Parities};
use std::fmt;
use units::narrow::fit;
use units::{LINE_BYTES, LineAddr};

/// A slice function as a recovery tool or a user states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceTable {
    /// The processor that it belongs to.
    pub part: String,
    /// How, on which machine and by whom it was recovered.
    pub source: String,
    /// Number of slices.
    pub slices: u32,
    /// Slice of each of the first N lines of memory; N is a power of two.
    pub base: Vec<u16>,
    /// Mask i selects the physical address bits whose parity is bit i of what a position in the
    /// sequence is XORed with. There are log2 N of them; a zero mask leaves its bit alone.
    pub perm_masks: Vec<u64>,
    /// Lowest and highest physical address bit whose effect on the slice was established separately
    /// from the sequence.
    pub valid_bits: (u32, u32),
}

/// Why a [`SliceTable`] is not a slice function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SliceTableError {
    /// The sequence's length is not a power of two from 2 to 65536.
    Length(usize),
    /// The number of slices is not from 1 to 256.
    Slices(u32),
    /// A slice number of the sequence is not below the number of slices.
    SliceNumber {
        /// Position in the sequence.
        position: usize,
        /// The slice number at this position.
        slice: u16,
        /// Number of slices.
        slices: u32,
    },
    /// A slice never occurs in the sequence.
    UnusedSlice(u32),
    /// The number of masks is not the number of bits of a position.
    MaskCount {
        /// Masks given.
        given: usize,
        /// Bits of a position.
        needed: usize,
    },
    /// A mask covers bits that choose the position in the sequence already: blocks would overlap.
    MaskInsideBase {
        /// Which mask.
        mask: usize,
        /// Lowest bit that masks may cover.
        lowest_bit: u32,
    },
    /// A mask covers bits above the validity range.
    MaskBeyondValidity {
        /// Which mask.
        mask: usize,
        /// Highest bit that masks may cover.
        highest_bit: u32,
    },
    /// The validity range is reversed, leaves a gap above the sequence, or exceeds what is supported.
    ValidBits {
        /// The range given.
        given: (u32, u32),
        /// First physical address bit above the sequence: the range must include or follow it.
        first_above_base: u32,
    },
}

impl fmt::Display for SliceTableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length(length) => {
                write!(f, "{length} entries; allowed: a power of two from 2 to {LONGEST_BASE}")
            }
            Self::Slices(slices) => write!(f, "{slices} slices; allowed: 1 to {MOST_SLICES}"),
            Self::SliceNumber { position, slice, slices } => {
                write!(f, "entry {position} is slice {slice}; allowed: 0 to {}", slices - 1)
            }
            Self::UnusedSlice(slice) => write!(f, "slice {slice} does not occur"),
            Self::MaskCount { given, needed } => {
                write!(f, "{given} masks; needed: {needed}, one for each bit of a position")
            }
            Self::MaskInsideBase { mask, lowest_bit } => {
                write!(
                    f,
                    "mask {mask} covers bits that choose the position; allowed: {lowest_bit} up"
                )
            }
            Self::MaskBeyondValidity { mask, highest_bit } => {
                write!(
                    f,
                    "mask {mask} covers bits above the valid ones; allowed: up to {highest_bit}"
                )
            }
            Self::ValidBits { given: (low, high), first_above_base } => write!(
                f,
                "[{low}, {high}]; allowed: from bit {first_above_base} or lower to a bit between \
                 that and {}",
                ADDRESS_BITS - 1
            ),
        }
    }
}

impl std::error::Error for SliceTableError {}

/// Longest sequence: its position has one bit for each of the [`MOST_MASKS`] masks that are looked up
/// together.
const LONGEST_BASE: usize = 1 << MOST_MASKS;

/// Largest number of slices.
const MOST_SLICES: u32 = 256;

/// A checked [`SliceTable`], prepared for look-ups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseSequence {
    base: Box<[u8]>,
    permutation: Parities,
    slices: u32,
    valid_address_bits: u32,
    description: String,
}

impl BaseSequence {
    /// Checks `table` and prepares its look-ups.
    ///
    /// # Errors
    /// If the table is not a slice function; see [`SliceTableError`].
    pub fn new(table: &SliceTable) -> Result<Self, SliceTableError> {
        check_base(table)?;
        check_masks(table)?;
        Ok(Self {
            base: table.base.iter().map(|&slice| fit(slice)).collect(),
            permutation: Parities::new(&table.perm_masks),
            slices: table.slices,
            valid_address_bits: table.valid_bits.1 + 1,
            description: describe(table),
        })
    }

    /// The slice of `line`. Beyond the validity range the same rule applies: the higher address bits do
    /// not affect the slice ([`Self::valid_address_bits`]).
    #[inline]
    #[must_use]
    pub fn slice(&self, line: LineAddr) -> u32 {
        u32::from(self.base[self.position(line) as usize])
    }

    /// The position in the sequence that gives the slice of `line`; linear over the bits of its
    /// address.
    #[inline]
    #[must_use]
    pub fn position(&self, line: LineAddr) -> u32 {
        (line.low_bits() ^ self.permutation.look_up(line)) & (fit::<u32, _>(self.base.len()) - 1)
    }

    /// As [`Self::position`], for every line of the aligned block that contains `first`.
    #[inline]
    pub(crate) fn within_block(&self, first: LineAddr) -> BlockSequence<'_> {
        // Masks cover only bits above those of a position. If a position has at least as many bits as
        // the offset in a block, all lines of the block are permuted alike.
        if self.base.len() as u64 >= BLOCK_LINES {
            BlockSequence::Alike { base: &self.base, permutation: self.permutation.look_up(first) }
        } else {
            BlockSequence::Each {
                base: &self.base,
                permutation: self.permutation.within_block(first),
            }
        }
    }

    /// Lines of the sequence, a power of two.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.base.len() as u64
    }

    /// Number of slices.
    #[must_use]
    pub fn slices(&self) -> u32 {
        self.slices
    }

    /// The slices of the sequence, position by position.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = u32> {
        self.base.iter().map(|&slice| slice.into())
    }

    /// The processor, source and validity range of this function in words, for reports.
    #[must_use]
    pub fn describe(&self) -> &str {
        &self.description
    }

    /// Addresses below 2 to this power are those for which the function was established.
    #[must_use]
    pub fn valid_address_bits(&self) -> u32 {
        self.valid_address_bits
    }

    /// For each slice, its fraction of all lines divided by a fair share: 1 is fair.
    #[must_use]
    pub fn shares(&self) -> Vec<f64> {
        let mut lines = vec![0u32; self.slices as usize];
        self.base.iter().for_each(|&slice| lines[usize::from(slice)] += 1);
        let fair = self.base.len() as f64 / f64::from(self.slices);
        lines.into_iter().map(|lines| f64::from(lines) / fair).collect()
    }
}

/// A base sequence for the lines of one aligned block.
pub(crate) enum BlockSequence<'a> {
    Alike { base: &'a [u8], permutation: u32 },
    Each { base: &'a [u8], permutation: BlockParities<'a> },
}

/// The slice of a line whose position is permuted by this sequence.
#[inline]
pub(crate) fn slice_in(base: &[u8], permutation: u32, line: LineAddr) -> u32 {
    let position = (line.low_bits() ^ permutation) as usize & (base.len() - 1);
    u32::from(base[position])
}

fn check_base(table: &SliceTable) -> Result<(), SliceTableError> {
    let (length, slices) = (table.base.len(), table.slices);
    if !(1..=MOST_SLICES).contains(&slices) {
        return Err(SliceTableError::Slices(slices));
    }
    if !(2..=LONGEST_BASE).contains(&length) || !length.is_power_of_two() {
        return Err(SliceTableError::Length(length));
    }
    if let Some(position) = table.base.iter().position(|&slice| u32::from(slice) >= slices) {
        let slice = table.base[position];
        return Err(SliceTableError::SliceNumber { position, slice, slices });
    }
    match (0..slices).find(|&slice| !table.base.iter().any(|&entry| u32::from(entry) == slice)) {
        Some(unused) => Err(SliceTableError::UnusedSlice(unused)),
        None => Ok(()),
    }
}

fn check_masks(table: &SliceTable) -> Result<(), SliceTableError> {
    let needed = table.base.len().trailing_zeros() as usize;
    let first_above_base = (table.base.len() as u64 * LINE_BYTES).trailing_zeros();
    let (low, high) = table.valid_bits;
    if low > first_above_base || high < first_above_base || high >= ADDRESS_BITS {
        return Err(SliceTableError::ValidBits { given: (low, high), first_above_base });
    }
    let given = table.perm_masks.len();
    if given != needed {
        return Err(SliceTableError::MaskCount { given, needed });
    }
    for (mask, &bits) in table.perm_masks.iter().enumerate() {
        if bits & ((1 << first_above_base) - 1) != 0 {
            return Err(SliceTableError::MaskInsideBase { mask, lowest_bit: first_above_base });
        }
        if bits >> (high + 1) != 0 {
            return Err(SliceTableError::MaskBeyondValidity { mask, highest_bit: high });
        }
    }
    Ok(())
}

fn describe(table: &SliceTable) -> String {
    format!(
        "base sequence of {} lines over {} slices for {} ({}), established for physical addresses \
         below 2^{}; the same rule is used beyond",
        table.base.len(),
        table.slices,
        table.part,
        table.source,
        table.valid_bits.1 + 1,
    )
}
