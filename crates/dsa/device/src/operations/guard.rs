//! The guard of protection information: CRC-16/T10-DIF of a block.
//!
//! A library for CRCs of any kind takes 50 ns before it begins, four times the time of a block of 512 bytes
//! here. With AVX-512 a block is folded 256 bytes at a time, or four blocks side by side; otherwise the
//! library computes it.
//!
//! Source: Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ" (Intel, 2009).
//! Polynomials over two elements have their highest power in the highest bit. With P the polynomial of
//! degree 16 and Q = P x^16, the CRC of a message M is (M x^32 mod Q) / x^16, and all folds are modulo Q.

use crc_fast::{CrcAlgorithm, Digest};
use std::arch::x86_64::*;

/// The polynomial without its highest power.
const POLYNOMIAL: u64 = 0x8bb7;
/// Q, all 33 bits of it.
const MODULUS: u64 = (1 << 16 | POLYNOMIAL) << 16;

/// x^`power` modulo Q.
const fn power_of_x(power: u32) -> u64 {
    let mut rest = 1;
    let mut number = 0;
    while number < power {
        rest <<= 1;
        if rest >> 32 == 1 {
            rest ^= MODULUS;
        }
        number += 1;
    }
    rest
}

/// x^64 / Q, rounded down: for the quotient of the last reduction.
const RECIPROCAL: u64 = {
    let (mut rest, mut quotient) = (1_u64, 0_u64);
    let mut number = 0;
    while number < 64 {
        rest <<= 1;
        quotient <<= 1;
        if rest >> 32 == 1 {
            rest ^= MODULUS;
            quotient |= 1;
        }
        number += 1;
    }
    quotient
};

/// Bytes that one step folds.
const STEP: usize = 256;

/// Method for guards on this processor: folding (`None`), or the library from this state on.
#[derive(Clone, Copy)]
pub(super) struct Guard(Option<Digest>);

impl Guard {
    /// The method for CRCs that begin with `seed`. The library chooses its code by the processor's
    /// features here, outside of any guard of memory.
    pub fn new(seed: u16) -> Self {
        let folds = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("vpclmulqdq")
            && is_x86_feature_detected!("pclmulqdq");
        if folds {
            return Self(None);
        }
        let digest = Digest::new_with_init_state(CrcAlgorithm::Crc16T10Dif, seed.into());
        { digest }.update(&[0; 512]);
        Self(Some(digest))
    }

    /// The CRCs of blocks of one length, as [`Self::compute`] returns them.
    #[inline]
    pub fn compute_each(&self, blocks: [&[u8]; ABREAST], seed: u16) -> [u16; ABREAST] {
        match self.0 {
            #[allow(unsafe_code)]
            // SAFETY: as below.
            None => unsafe { folded_abreast(blocks, seed) },
            Some(_) => blocks.map(|block| self.compute(block, seed)),
        }
    }

    /// The CRC of a block of at least 512 bytes, a multiple of 8.
    #[inline]
    pub fn compute(&self, block: &[u8], seed: u16) -> u16 {
        match self.0 {
            #[allow(unsafe_code)]
            // SAFETY: `new` has tested that the processor has these instructions.
            None => unsafe { folded(block, seed) },
            Some(mut digest) => {
                digest.update(block);
                units::narrow::low_u16(digest.get_state())
            }
        }
    }
}

/// Number of blocks whose guards are computed side by side.
pub(super) const ABREAST: usize = 4;

/// The multipliers that move a register of 128-bit lanes by `bits`: for its upper and its lower halves.
macro_rules! fold_by {
    ($bits:expr) => {
        const { (power_of_x($bits + 64).cast_signed(), power_of_x($bits).cast_signed()) }
    };
}

/// See [`Guard::compute`].
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq,pclmulqdq,sse4.1")]
#[allow(unsafe_code)]
fn folded(block: &[u8], seed: u16) -> u16 {
    // Whole steps from the end; what is before them, 0 to 255 bytes, goes first.
    let (before, mut rest) = block.split_at(block.len() % STEP);
    let seed = u64::from(seed) << 48;
    let mut lanes = match rest.split_first_chunk::<STEP>() {
        Some((step, behind)) if before.is_empty() => {
            rest = behind;
            let mut lanes = load(step);
            let seed = _mm512_set_epi64(0, 0, 0, 0, 0, 0, seed.cast_signed(), 0);
            lanes[0] = _mm512_xor_si512(lanes[0], seed);
            lanes
        }
        _ => {
            // Zeros before a message change nothing.
            let mut first = [0; STEP];
            let begun = &mut first[STEP - before.len()..];
            begun.copy_from_slice(before);
            begun[0] ^= seed.to_be_bytes()[0];
            begun[1] ^= seed.to_be_bytes()[1];
            load(&first)
        }
    };
    let (upper, lower) = fold_by!(2048);
    let by_step = _mm512_set_epi64(upper, lower, upper, lower, upper, lower, upper, lower);
    while let Some((step, behind)) = rest.split_first_chunk::<STEP>() {
        let next = load(step);
        for (lane, next) in lanes.iter_mut().zip(next) {
            *lane = fold(*lane, by_step, next);
        }
        rest = behind;
    }
    let (upper, lower) = fold_by!(512);
    let by_lane = _mm512_set_epi64(upper, lower, upper, lower, upper, lower, upper, lower);
    let [a, b, c, d] = lanes;
    let whole = fold(fold(fold(a, by_lane, b), by_lane, c), by_lane, d);
    reduce(whole)
}

/// 256 bytes, the first of them in the highest bits of each 128.
#[target_feature(enable = "avx512f,avx512bw")]
#[allow(unsafe_code)]
fn load(bytes: &[u8; STEP]) -> [__m512i; 4] {
    [0, 64, 128, 192].map(|at| {
        // SAFETY: 64 bytes from each of these places are in the array.
        reversed(unsafe { _mm512_loadu_si512(bytes.as_ptr().add(at).cast()) })
    })
}

/// Moves each 128 bits of `lane` and adds `next`.
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn fold(lane: __m512i, by: __m512i, next: __m512i) -> __m512i {
    const XOR_OF_THREE: i32 = 0x96;
    let upper = _mm512_clmulepi64_epi128(lane, by, 0x11);
    let lower = _mm512_clmulepi64_epi128(lane, by, 0x00);
    _mm512_ternarylogic_epi64::<XOR_OF_THREE>(upper, lower, next)
}

/// The CRC of the 512 bits that a message was folded to.
#[target_feature(enable = "avx512f,pclmulqdq,sse4.1")]
fn reduce(whole: __m512i) -> u16 {
    let parts = [
        _mm512_extracti32x4_epi32::<0>(whole),
        _mm512_extracti32x4_epi32::<1>(whole),
        _mm512_extracti32x4_epi32::<2>(whole),
        _mm512_extracti32x4_epi32::<3>(whole),
    ];
    let multiply = |a, b| _mm_clmulepi64_si128::<0>(a, b);
    // Each part at its distance from the last: independent of each other.
    let moved = |part, (upper, lower): (i64, i64)| {
        let by = _mm_set_epi64x(upper, lower);
        let upper = _mm_clmulepi64_si128::<0x11>(part, by);
        _mm_xor_si128(upper, _mm_clmulepi64_si128::<0x00>(part, by))
    };
    let first = _mm_xor_si128(moved(parts[0], fold_by!(384)), moved(parts[1], fold_by!(256)));
    let sum = _mm_xor_si128(_mm_xor_si128(first, moved(parts[2], fold_by!(128))), parts[3]);
    // The message times x^32: 96 bits, then 64, then those of the remainder.
    let constant = |value: u64| _mm_cvtsi64_si128(value.cast_signed());
    let upper = multiply(_mm_srli_si128::<8>(sum), constant(const { power_of_x(96) }));
    let lower = _mm_slli_si128::<4>(_mm_move_epi64(sum));
    let short = _mm_xor_si128(upper, lower);
    let top = multiply(_mm_srli_si128::<8>(short), constant(const { power_of_x(64) }));
    let value = _mm_cvtsi128_si64(_mm_xor_si128(top, short)).cast_unsigned();
    let quotient = multiply(constant(value >> 32), constant(RECIPROCAL));
    let quotient = _mm_cvtsi128_si64(quotient).cast_unsigned() >> 32;
    let product = multiply(constant(quotient), constant(MODULUS));
    let rest = value ^ _mm_cvtsi128_si64(product).cast_unsigned();
    units::narrow::low_u16(rest >> 16)
}

/// The CRCs of four blocks of one length, a multiple of 8.
///
/// One chain of folds for each block: those of the others fill the time that a multiplication takes. What
/// is left of all four is reduced together.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq,pclmulqdq,sse4.1")]
fn folded_abreast(blocks: [&[u8]; ABREAST], seed: u16) -> [u16; ABREAST] {
    let length = blocks.iter().map(|block| block.len()).min().unwrap_or_default();
    // The bytes beyond whole registers go first, behind zeros, which change nothing.
    let begun = match length % LANE {
        0 => LANE,
        rest => rest,
    };
    let word = 1 << ((LANE - begun) / 8);
    let start = _mm512_maskz_set1_epi64(word, seed.swap_bytes().into());
    let first = |block: &[u8]| reversed(_mm512_xor_si512(load_last(&block[..begun]), start));
    let mut lanes = blocks.map(first);
    let (upper, lower) = fold_by!(512);
    let by_lane = _mm512_set_epi64(upper, lower, upper, lower, upper, lower, upper, lower);
    for at in (begun..length).step_by(LANE) {
        for (lane, block) in lanes.iter_mut().zip(blocks) {
            let next = reversed(load_last(&block[at..at + LANE]));
            *lane = fold(*lane, by_lane, next);
        }
    }
    reduce_all(lanes)
}

/// Bytes of a register.
const LANE: usize = 64;

/// Up to 64 bytes, with zeros before them.
#[target_feature(enable = "avx512f,avx512bw")]
#[allow(unsafe_code)]
fn load_last(bytes: &[u8]) -> __m512i {
    let before = LANE - bytes.len();
    // SAFETY: what is masked out, the bytes before the slice, is not accessed.
    unsafe { _mm512_maskz_loadu_epi8(!0 << before, bytes.as_ptr().wrapping_sub(before).cast()) }
}

/// The bytes of each 128 bits in the other order.
#[target_feature(enable = "avx512f,avx512bw")]
fn reversed(bytes: __m512i) -> __m512i {
    let reverse =
        _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    _mm512_shuffle_epi8(bytes, reverse)
}

/// The CRCs of messages that were folded to 512 bits each.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq,sse4.1")]
fn reduce_all(whole: [__m512i; ABREAST]) -> [u16; ABREAST] {
    // Each 128 bits of a message at their distance from its last.
    let ((u0, l0), (u1, l1)) = (fold_by!(384), fold_by!(256));
    let ((u2, l2), (u3, l3)) = (fold_by!(128), fold_by!(0));
    let by_part = _mm512_set_epi64(u3, l3, u2, l2, u1, l1, u0, l0);
    let [a, b, c, d] = whole.map(|parts| fold(parts, by_part, _mm512_setzero_si512()));
    // The sum of the four parts of message n in part n.
    let sum = |x, y| {
        let first = _mm512_shuffle_i64x2::<0x44>(x, y);
        _mm512_xor_si512(first, _mm512_shuffle_i64x2::<0xee>(x, y))
    };
    let (ab, cd) = (sum(a, b), sum(c, d));
    let even = _mm512_shuffle_i64x2::<0x88>(ab, cd);
    let sums = _mm512_xor_si512(even, _mm512_shuffle_i64x2::<0xdd>(ab, cd));
    // As in `reduce`.
    let constant = |value: u64| _mm512_set1_epi64(value.cast_signed());
    let upper = _mm512_clmulepi64_epi128::<0x01>(sums, constant(const { power_of_x(96) }));
    let lower = _mm512_bslli_epi128::<4>(_mm512_maskz_mov_epi64(0x55, sums));
    let short = _mm512_xor_si512(upper, lower);
    let top = _mm512_clmulepi64_epi128::<0x01>(short, constant(const { power_of_x(64) }));
    let value = _mm512_xor_si512(top, short);
    let high = _mm512_srli_epi64::<32>(value);
    let quotient = _mm512_clmulepi64_epi128::<0x00>(high, constant(RECIPROCAL));
    let quotient = _mm512_srli_epi64::<32>(quotient);
    let product = _mm512_clmulepi64_epi128::<0x00>(quotient, constant(MODULUS));
    let rest = _mm512_srli_epi64::<16>(_mm512_xor_si512(value, product));
    let words = _mm512_cvtepi64_epi16(rest);
    let both = [_mm_extract_epi64::<0>(words), _mm_extract_epi64::<1>(words)];
    let word = |pair: i64, at: u32| units::narrow::low_u16(pair.cast_unsigned() >> at);
    [word(both[0], 0), word(both[0], 32), word(both[1], 0), word(both[1], 32)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes without a pattern that a CRC could miss.
    fn bytes(length: u32) -> Vec<u8> {
        (0..length).map(|at| at.wrapping_mul(0x9e37_79b9).to_le_bytes()[3]).collect()
    }

    #[test]
    fn blocks_side_by_side_have_the_guards_of_each() {
        let bytes = bytes(4 * 4104);
        for length in [512, 520, 568, 1024, 4096, 4104] {
            for seed in [0, 0xffff, 0x1234] {
                let blocks = [0, 1, 2, 3].map(|number| &bytes[number * (length - 1)..][..length]);
                let guard = Guard::new(seed);
                let each = blocks.map(|block| guard.compute(block, seed));
                assert_eq!(
                    guard.compute_each(blocks, seed),
                    each,
                    "{length} bytes, seed {seed:#x}"
                );
            }
        }
    }

    #[test]
    fn a_fold_gives_what_the_library_gives() {
        let bytes = bytes(4104);
        for length in [512, 520, 576, 760, 1024, 4096, 4104] {
            for seed in [0, 0xffff, 0x1234] {
                for start in 0..3.min(4105 - length) {
                    let block = &bytes[start..start + length];
                    let mut digest =
                        Digest::new_with_init_state(CrcAlgorithm::Crc16T10Dif, u64::from(seed));
                    digest.update(block);
                    let expected = digest.get_state() & 0xffff;
                    let own = Guard::new(seed).compute(block, seed);
                    assert_eq!(u64::from(own), expected, "{length} bytes, seed {seed:#x}");
                }
            }
        }
    }
}
