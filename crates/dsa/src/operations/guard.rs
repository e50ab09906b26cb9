//! The guard of protection information: CRC-16/T10-DIF of a block.
//!
//! A library for CRCs of any kind takes 50 ns before it begins, four times what a block of 512 bytes
//! takes here. With AVX-512 a block is folded 256 bytes at a time; else the library does it.
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

/// How guards are computed on this processor: folded here, or by the library from this state on.
#[derive(Clone, Copy)]
pub(super) struct Guard(Option<Digest>);

impl Guard {
    /// For CRCs that begin with `seed`. What the library chooses by the processor's features is chosen
    /// here, outside of any guard of memory.
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

    /// The CRC of a block of at least 512 bytes, a multiple of 8.
    #[inline]
    pub fn of(&self, block: &[u8], seed: u16) -> u16 {
        match self.0 {
            #[allow(unsafe_code)]
            // SAFETY: the processor has been asked for these instructions.
            None => unsafe { folded(block, seed) },
            Some(mut digest) => {
                digest.update(block);
                units::narrow::low_u16(digest.get_state())
            }
        }
    }
}

/// The multipliers that move a register of 128-bit lanes by `bits`: for its upper and its lower halves.
macro_rules! fold_by {
    ($bits:expr) => {
        const { (power_of_x($bits + 64).cast_signed(), power_of_x($bits).cast_signed()) }
    };
}

/// See [`Guard::of`].
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
    let reverse =
        _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    [0, 64, 128, 192].map(|at| {
        // SAFETY: 64 bytes from each of these places are in the array.
        let lane = unsafe { _mm512_loadu_si512(bytes.as_ptr().add(at).cast()) };
        _mm512_shuffle_epi8(lane, reverse)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fold_gives_what_the_library_gives() {
        let bytes: Vec<u8> =
            (0..4104_u32).map(|at| (at * at * 31 + at * 7 + 5).to_le_bytes()[1]).collect();
        for length in [512, 520, 576, 760, 1024, 4096, 4104] {
            for seed in [0, 0xffff, 0x1234] {
                for start in 0..3.min(4105 - length) {
                    let block = &bytes[start..start + length];
                    let mut digest =
                        Digest::new_with_init_state(CrcAlgorithm::Crc16T10Dif, u64::from(seed));
                    digest.update(block);
                    let expected = digest.get_state() & 0xffff;
                    let own = Guard::new(seed).of(block, seed);
                    assert_eq!(u64::from(own), expected, "{length} bytes, seed {seed:#x}");
                }
            }
        }
    }
}
