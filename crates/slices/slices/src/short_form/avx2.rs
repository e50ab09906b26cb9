//! Positions of many addresses at once. A position is the exclusive or of a number for each four bits of
//! an address, and one instruction of AVX2 looks thirty-two such numbers up, if each vector holds the same
//! byte of thirty-two addresses.

use super::ShortForm;
use std::arch::x86_64::*;
use units::SliceId;
use units::narrow::usize_from;

/// Number of addresses whose positions one call finds.
pub const AT_ONCE: usize = 32;
/// Bytes of an address that have bits of a line below 4 TiB.
const BYTES: usize = 6;
const _: () = assert!(BYTES as u64 * 8 >= address_map::ADDRESS_BITS as u64);

/// Numbers that four bits of an address add to a position: the low bytes for each value of the bits, then
/// the high bytes.
type Added = [[u8; 16]; 2];

/// The numbers that each half of each byte of an address adds to a position.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Halves([[Added; 2]; BYTES]);

impl Halves {
    /// Builds the tables from the function `position` of addresses below 2^48.
    pub fn new(position: impl Fn(u64) -> u16) -> Self {
        Self(std::array::from_fn(|byte| {
            std::array::from_fn(|half| {
                let first_bit = 8 * byte + 4 * half;
                std::array::from_fn(|part: usize| {
                    std::array::from_fn(|value: usize| {
                        position((value as u64) << first_bit).to_le_bytes()[part]
                    })
                })
            })
        }))
    }

    /// Positions of addresses, four in each word.
    #[target_feature(enable = "avx2")]
    fn positions(&self, addresses: &[u64; AT_ONCE]) -> [u64; AT_ONCE / 4] {
        let bytes = transpose_bytes(addresses);
        let low_half = _mm256_set1_epi8(0xf);
        let mut position = [_mm256_setzero_si256(); 2];
        for (byte, added) in bytes.into_iter().zip(&self.0) {
            let halves = [byte, _mm256_srli_epi16::<4>(byte)];
            for (half, added) in halves.into_iter().zip(added) {
                let half = _mm256_and_si256(half, low_half);
                for (position, added) in position.iter_mut().zip(added) {
                    // SAFETY: sixteen bytes.
                    let added = unsafe { _mm_loadu_si128(added.as_ptr().cast()) };
                    let added = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(added), half);
                    *position = _mm256_xor_si256(*position, added);
                }
            }
        }
        // Pairs of addresses alternate between the lanes of a vector.
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let [low, high] = position;
        let both = [_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high)];
        let mut positions = [0; AT_ONCE / 4];
        for (positions, both) in positions.chunks_exact_mut(AT_ONCE / 8).zip(both) {
            let both = _mm256_permutevar8x32_epi32(both, order);
            // SAFETY: sixteen positions have 32 bytes.
            unsafe { _mm256_storeu_si256(positions.as_mut_ptr().cast(), both) };
        }
        positions
    }
}

/// Bytes 0 to 5 of addresses, each in a vector: the addresses' pairs in turn in its two lanes.
#[target_feature(enable = "avx2")]
fn transpose_bytes(addresses: &[u64; AT_ONCE]) -> [__m256i; BYTES] {
    let pairs = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15,
    ));
    let four = |index: usize| {
        // SAFETY: four of the 32.
        let four = unsafe { _mm256_loadu_si256(addresses[4 * index..][..4].as_ptr().cast()) };
        _mm256_shuffle_epi8(four, pairs)
    };
    // Each step brings the same bytes of twice as many addresses together.
    let of_eight = |index: usize| {
        let (first, second) = (four(2 * index), four(2 * index + 1));
        [_mm256_unpacklo_epi16(first, second), _mm256_unpackhi_epi16(first, second)]
    };
    let of_sixteen = |index: usize| {
        let ([a, c], [b, d]) = (of_eight(2 * index), of_eight(2 * index + 1));
        [_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b), _mm256_unpacklo_epi32(c, d)]
    };
    let ([a, c, e], [b, d, f]) = (of_sixteen(0), of_sixteen(1));
    [
        _mm256_unpacklo_epi64(a, b),
        _mm256_unpackhi_epi64(a, b),
        _mm256_unpacklo_epi64(c, d),
        _mm256_unpackhi_epi64(c, d),
        _mm256_unpacklo_epi64(e, f),
        _mm256_unpackhi_epi64(e, f),
    ]
}

impl ShortForm {
    /// [`ShortForm::for_each_slice`] with AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) fn for_each_slice_avx2(
        &self,
        addresses: &[u64],
        mut put: impl FnMut(usize, SliceId),
    ) {
        let (vectors, rest) = addresses.as_chunks::<AT_ONCE>();
        for (vector, addresses) in vectors.iter().enumerate() {
            let positions = self.halves.positions(addresses);
            // Four are in a register: loads of single ones were all made at once, and spilled.
            for (index, four) in positions.into_iter().enumerate() {
                for of_four in 0..4 {
                    let position = four >> (16 * of_four) & 0xffff;
                    let slice = SliceId(self.base[usize_from(position)].into());
                    put(vector * AT_ONCE + index * 4 + of_four, slice);
                }
            }
        }
        for (index, &address) in rest.iter().enumerate() {
            put(vectors.len() * AT_ONCE + index, SliceId(self.slice(address).into()));
        }
    }
}
