//! A stand-in for the slice function of 18 slices, which uses the published masks.
//!
//! The permutation masks of the 18-slice Skylake-SP are published; the base sequence that they permute
//! is not. Three of the four XOR masks of processors with up to 16 slices are linear in the permuted
//! position: for each there is a form over the low 12 bits of the line address whose parity, taken of
//! the position, is the parity under the whole mask. In the stand-in the low bits of the four masks
//! therefore choose one of 16 equal shares of the sequence (the first mask gives the highest bit).
//! Position bits 4 to 11 choose the position within the share (bit 4 is the highest); slices follow one
//! another along the shares. The masks are facts; the order was chosen by fit, among 32 of its kind.

use crate::base_sequence::{BaseSequence, SliceTable};
use crate::slice_function::XOR_MASKS;
use units::LINE_BYTES;
use units::narrow::fit;

/// Permutation masks of the 18-slice Skylake-SP (github jdmccalpin/Intel_Address_Hash@88912ea,
/// `PermSelectMasks_SKX_18`).
pub(crate) const SKX_18_MASKS: [u64; 12] = [
    0x4_C8FC_0000,
    0x1D_0538_0000,
    0x26_2B8C_0000,
    0x4_1F50_0000,
    0x2C_6D78_0000,
    0x2C_D514_0000,
    0x21_D80C_0000,
    0x3B_3F48_0000,
    0x3A_0350_0000,
    0x30_3328_0000,
    0,
    0x14_69B4_0000,
];

/// Slices of the processor that the masks belong to.
pub const PERMUTED_SLICES: u32 = 18;

/// log2 of the sequence's length.
const POSITION_BITS: usize = SKX_18_MASKS.len();
/// The masks choose the share; the lowest position bits, as many, do not affect the position within it.
const SHARE_BITS: usize = XOR_MASKS.len();

/// The bits of published mask `mask` that lie over the bits of a position.
pub(crate) fn form(mask: usize) -> u64 {
    XOR_MASKS[mask] / LINE_BYTES % (1 << POSITION_BITS)
}

/// The slice at `position` of the sequence.
fn slice_at(position: u64) -> u16 {
    let parity = |mask| u64::from((position & form(mask)).count_ones() % 2);
    let share = (0..XOR_MASKS.len()).fold(0, |share, mask| (share << 1) | parity(mask));
    let place =
        (SHARE_BITS..POSITION_BITS).fold(0, |place, bit| (place << 1) | ((position >> bit) & 1));
    let whole = (share << (POSITION_BITS - SHARE_BITS)) | place;
    fit((whole * u64::from(PERMUTED_SLICES)) >> POSITION_BITS)
}

/// The stand-in as a base sequence.
pub(crate) fn sequence() -> BaseSequence {
    let table = SliceTable {
        part: "18 slices of Skylake-SP".into(),
        source: "published permutation masks; the sequence is a stand-in".into(),
        slices: PERMUTED_SLICES,
        base: (0..1 << POSITION_BITS).map(slice_at).collect(),
        perm_masks: SKX_18_MASKS.to_vec(),
        valid_bits: (6, 37),
    };
    BaseSequence::new(&table).expect("the stand-in's table is valid")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parities::Parities;
    use units::LineAddr;

    /// Parity under `form` of what address bit `bit` adds to the position.
    fn parity_through_position(form: u64, bit: u32) -> u64 {
        let moved = SKX_18_MASKS.iter().enumerate().filter(|(_, mask)| (*mask >> bit) & 1 == 1);
        moved.fold(0, |parity, (place, _)| parity ^ ((form >> place) & 1))
    }

    #[test]
    fn three_published_masks_are_linear_in_the_permuted_position_and_the_first_is_not() {
        for (mask, published) in XOR_MASKS.into_iter().enumerate() {
            let agreeing = (18..38)
                .filter(|&bit| parity_through_position(form(mask), bit) == (published >> bit) & 1)
                .count();
            assert_eq!(agreeing, if mask == 0 { 11 } else { 20 }, "mask {mask}");
        }
    }

    #[test]
    fn the_share_follows_the_published_masks_for_every_address() {
        let (masks, permutation) = (Parities::new(&XOR_MASKS), Parities::new(&SKX_18_MASKS));
        for line in (0..1u64 << 32).step_by(999_983).map(LineAddr) {
            let position = (line.0 ^ u64::from(permutation.of(line))) % (1 << POSITION_BITS);
            for mask in 1..4 {
                let parity = (position & form(mask)).count_ones() % 2;
                assert_eq!(parity, (masks.of(line) >> mask) & 1);
            }
        }
    }

    #[test]
    fn every_slice_has_a_fair_share_of_the_sequence() {
        let shares = sequence().shares();
        // 4096 lines are 227.6 for each of 18 slices: 227 or 228.
        assert!(shares.iter().all(|share| (share - 1.0).abs() < 0.003), "{shares:?}");
    }

    #[test]
    fn lines_of_a_huge_page_with_equal_set_index_meet_at_least_nine_slices() {
        let sequence = sequence();
        for set in 0..2048 {
            let mut slices: Vec<u32> =
                (0..16).map(|block| sequence.slice(LineAddr((block << 11) | set))).collect();
            slices.sort_unstable();
            slices.dedup();
            assert!(slices.len() >= 9, "set {set}: {slices:?}");
        }
    }
}
