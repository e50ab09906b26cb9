//! The function from a line to its set inside a slice.

use crate::base_sequence::{BaseSequence, BlockSequence};
use crate::mix;
use units::narrow::{fit, low_u32};
use units::{LineAddr, SetIndex};

/// How the set inside a slice is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetFunction {
    /// The low bits of the line address (physical address bits 16:6 for 2048 sets).
    Plain,
    /// The low bits, XORed with a mix of the higher ones.
    Hashed,
    /// The rank of a line among the lines of its slice in the same 2 MiB page, XORed with a mix of the
    /// page's number. Ranks follow the positions in the base sequence, which such a map needs. A
    /// rival of the measured index: each slice's lines of a page fill its sets evenly.
    Ranked,
}

impl SetFunction {
    /// The function in words, for reports; `None` for [`Self::Plain`].
    #[must_use]
    pub fn describe(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Hashed => Some("hashed set index (a hypothesis)"),
            Self::Ranked => Some("ranked set index (a hypothesis)"),
        }
    }
}

/// log2 of the lines of the pages within which ranks are counted.
const PAGE_BITS: u32 = 15;

/// For each position of a base sequence, its slice and its rank among the positions of that slice.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    /// Slice in the upper half, rank in the lower.
    entries: Box<[u32]>,
    /// Positions of each slice.
    positions: Box<[u32]>,
    position_bits: u32,
    index_mask: u32,
    /// Whether all lines of a page lie in different sets.
    pub(crate) pages_are_spread: bool,
}

impl Ranks {
    /// Ranks over `sequence` in slices of `sets_per_slice` sets, a power of two.
    pub(crate) fn new(sequence: &BaseSequence, sets_per_slice: u32) -> Self {
        let mut positions = vec![0; sequence.slices() as usize];
        let entry = |slice: u32| {
            let next: &mut u32 = &mut positions[slice as usize];
            *next += 1;
            slice << 16 | (*next - 1)
        };
        let entries = sequence.in_order().map(entry).collect();
        let position_bits = sequence.length().trailing_zeros();
        let repetitions = (1u32 << PAGE_BITS) >> position_bits.min(PAGE_BITS);
        let most = positions.iter().copied().max().unwrap_or(0);
        Self {
            entries,
            positions: positions.into(),
            position_bits,
            index_mask: sets_per_slice - 1,
            pages_are_spread: most * repetitions <= sets_per_slice,
        }
    }

    /// The set of a line whose place in the sequence is `position`, over all slices.
    #[inline(always)]
    fn set_at(&self, position: u32, line: LineAddr, hash: u32) -> SetIndex {
        let entry = self.entries[position as usize];
        let slice = entry >> 16;
        let repetition = low_u32(line.0 % (1 << PAGE_BITS)) >> self.position_bits;
        let rank = (entry & 0xffff) + repetition * self.positions[slice as usize];
        SetIndex(slice * (self.index_mask + 1) + ((rank ^ hash) & self.index_mask))
    }

    #[inline]
    pub(crate) fn set_of(&self, sequence: &BaseSequence, line: LineAddr) -> SetIndex {
        self.set_at(sequence.position(line), line, page_hash(line))
    }

    /// Writes [`Self::set_of`] of neighbouring lines of one aligned block.
    #[inline]
    pub(crate) fn sets_in_block(
        &self,
        sequence: &BaseSequence,
        first: LineAddr,
        sets: &mut [SetIndex],
    ) {
        let hash = page_hash(first);
        let within = sequence.within_block(first);
        let last_position = fit::<u32, _>(sequence.length()) - 1;
        for (set, line) in sets.iter_mut().zip((first.0..).map(LineAddr)) {
            let permutation = match &within {
                BlockSequence::Alike { permutation, .. } => *permutation,
                BlockSequence::Each { permutation, .. } => permutation.look_up(line),
            };
            *set = self.set_at((line.low_bits() ^ permutation) & last_position, line, hash);
        }
    }
}

/// Whether two lines are in one page of those within which ranks are counted.
pub(crate) fn same_page(one: LineAddr, other: LineAddr) -> bool {
    one.0 >> PAGE_BITS == other.0 >> PAGE_BITS
}

/// The mix of a page's number that its ranks are XORed with, 32 bits.
#[inline]
fn page_hash(line: LineAddr) -> u32 {
    low_u32(mix(line.0 >> PAGE_BITS))
}
