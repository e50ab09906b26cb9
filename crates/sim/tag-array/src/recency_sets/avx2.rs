//! A set in vectors of eight tags; the mask is a vector too.

use super::serve::SetOf;
use std::arch::asm;
use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_blend_epi32, _mm256_blendv_epi8, _mm256_castsi256_ps,
    _mm256_cmpeq_epi32, _mm256_load_si256, _mm256_movemask_ps, _mm256_permutevar8x32_epi32,
    _mm256_set1_epi32, _mm256_setr_epi32, _mm256_store_si256,
};

/// Tags of a vector.
const VECTOR: usize = 8;

/// A set of `LANES` tags.
#[derive(Clone, Copy)]
pub(super) struct Avx2<const LANES: usize>;

/// Hides the origin of a vector from the compiler, which would otherwise store only the changed lanes;
/// see [`super::avx512`].
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unsafe_code)]
fn whole(tags: __m256i) -> __m256i {
    let mut same = tags;
    // SAFETY: nothing is executed.
    unsafe {
        asm!("/* {0} */", inout(ymm_reg) same, options(pure, nomem, nostack, preserves_flags));
    };
    same
}

/// Eight bits of `up_to` from `first` on, each widened to a lane.
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn lanes_of(up_to: u32, first: usize) -> __m256i {
    // SAFETY: the caller's host has the instructions.
    unsafe {
        let bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        let all = _mm256_set1_epi32((up_to >> first).cast_signed());
        _mm256_cmpeq_epi32(_mm256_and_si256(all, bit), bit)
    }
}

impl<const LANES: usize> SetOf for Avx2<LANES> {
    const LANES: usize = LANES;

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn matches(set: *const u32, tag: u32) -> u32 {
        let mut found = 0;
        for first in (0..LANES).step_by(VECTOR) {
            // SAFETY: the caller's set is aligned and has `LANES` tags; the host has AVX2.
            let equal = unsafe {
                let tags = _mm256_load_si256(set.add(first).cast());
                let equal = _mm256_cmpeq_epi32(tags, _mm256_set1_epi32(tag.cast_signed()));
                _mm256_movemask_ps(_mm256_castsi256_ps(equal))
            };
            found |= equal.cast_unsigned() << first;
        }
        found
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn renew(set: *mut u32, tag: u32, up_to: u32) {
        // SAFETY: as above.
        unsafe {
            let one_up = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
            let mut enters = _mm256_set1_epi32(tag.cast_signed());
            for first in (0..LANES).step_by(VECTOR) {
                let at = set.add(first).cast::<__m256i>();
                let tags = whole(_mm256_load_si256(at));
                let turned = _mm256_permutevar8x32_epi32(tags, one_up);
                let moved = _mm256_blend_epi32::<1>(turned, enters);
                let renewed = _mm256_blendv_epi8(tags, moved, lanes_of(up_to, first));
                _mm256_store_si256(at, renewed);
                enters = turned;
            }
        }
    }
}
