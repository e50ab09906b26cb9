//! A set in one or two vector registers, permuted under a mask.
//!
//! The speed of [`SetOf::read`] is bounded by the instructions that a host issues per cycle. Compilers
//! emit half as many again as necessary, so the instructions are written here for up to 16 ways.
//!
//! Compilers see that only some lanes change and store only those. Hosts do not forward such a store to
//! the next look-up of the set, which then waits for the L1; [`whole`] hides this from the compiler.

use super::serve::{Loads, SetOf};
use std::arch::asm;
use std::arch::x86_64::{
    __m256i, __m512i, _mm256_cmpeq_epi32_mask, _mm256_load_si256, _mm256_mask_alignr_epi32,
    _mm256_set1_epi32, _mm256_store_si256, _mm512_cmpeq_epi32_mask, _mm512_load_si512,
    _mm512_mask_alignr_epi32, _mm512_set1_epi32, _mm512_store_si512,
};
use units::narrow::{low_u8, low_u16};

/// Up to 8 ways.
#[derive(Clone, Copy)]
pub(super) struct Half;
/// Up to 16 ways.
#[derive(Clone, Copy)]
pub(super) struct One;
/// Up to 32 ways.
#[derive(Clone, Copy)]
pub(super) struct Two;

/// Hides the origin of a vector from the compiler.
#[inline]
#[target_feature(enable = "avx512f")]
#[allow(unsafe_code)]
fn whole(tags: __m512i) -> __m512i {
    let mut same = tags;
    // SAFETY: nothing is executed.
    unsafe {
        asm!("/* {0} */", inout(zmm_reg) same, options(pure, nomem, nostack, preserves_flags));
    };
    same
}

/// As [`whole`].
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
#[allow(unsafe_code)]
fn whole_half(tags: __m256i) -> __m256i {
    let mut same = tags;
    // SAFETY: nothing is executed.
    unsafe {
        asm!("/* {0} */", inout(ymm_reg) same, options(pure, nomem, nostack, preserves_flags));
    };
    same
}

/// [`SetOf::read`] of sets in one register of a class; `shift` inserts one tag.
macro_rules! read {
    ($class:ident, $shift:literal) => {
        #[inline]
        #[target_feature(enable = "avx512f,avx512vl,bmi1")]
        #[allow(unsafe_code)]
        unsafe fn read(loads: &Loads<'_>, offset: usize, i: usize, mut count: usize) -> usize {
            // SAFETY: the caller's set is aligned and whole; the line and its entry in the list exist.
            unsafe {
                asm!(
                    "vmovdqa32 {tags}, [{sets} + 4 * {offset}]",
                    "vpbroadcastd {new}, dword ptr [{lines} + 4 * {i}]",
                    "vpcmpeqd {mask}, {tags}, {new}",
                    "vmovd dword ptr [{missed} + 4 * {count}], {new:x}",
                    "kmovw {up_to:e}, {mask}",
                    // The bits up to the lowest set bit; if no bit is set, all of them and a carry.
                    "blsmsk {up_to:e}, {up_to:e}",
                    "adc {count}, 0",
                    "and {up_to:e}, {places:e}",
                    "kmovw {mask}, {up_to:e}",
                    "valignd {tags} {{{mask}}}, {tags}, {new}, {shift}",
                    "vmovdqa32 [{sets} + 4 * {offset}], {tags}",
                    tags = out($class) _,
                    new = out($class) _,
                    mask = out(kreg) _,
                    up_to = out(reg) _,
                    count = inout(reg) count,
                    sets = in(reg) loads.sets,
                    offset = in(reg) offset,
                    lines = in(reg) loads.lines.as_ptr(),
                    i = in(reg) i,
                    missed = in(reg) loads.missed,
                    places = in(reg) loads.places,
                    shift = const $shift,
                    options(nostack)
                );
            }
            count
        }
    };
}

impl SetOf for Half {
    const LANES: usize = 8;

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn matches(set: *const u32, tag: u32) -> u32 {
        // SAFETY: the caller's set is aligned and has 8 tags; the host has the instructions.
        unsafe {
            let tags = _mm256_load_si256(set.cast());
            u32::from(_mm256_cmpeq_epi32_mask(tags, _mm256_set1_epi32(tag.cast_signed())))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn renew(set: *mut u32, tag: u32, up_to: u32) {
        // SAFETY: as above.
        unsafe {
            let tags = whole_half(_mm256_load_si256(set.cast()));
            let new = _mm256_set1_epi32(tag.cast_signed());
            let permuted = _mm256_mask_alignr_epi32::<7>(tags, low_u8(up_to.into()), tags, new);
            _mm256_store_si256(set.cast(), permuted);
        }
    }

    read!(ymm_reg, 7);
}

impl SetOf for One {
    const LANES: usize = 16;

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn matches(set: *const u32, tag: u32) -> u32 {
        // SAFETY: the caller's set is aligned and has 16 tags; the host has the instructions.
        unsafe {
            let tags = _mm512_load_si512(set.cast());
            u32::from(_mm512_cmpeq_epi32_mask(tags, _mm512_set1_epi32(tag.cast_signed())))
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn renew(set: *mut u32, tag: u32, up_to: u32) {
        // SAFETY: as above.
        unsafe {
            let tags = whole(_mm512_load_si512(set.cast()));
            let new = _mm512_set1_epi32(tag.cast_signed());
            let permuted = _mm512_mask_alignr_epi32::<15>(tags, low_u16(up_to.into()), tags, new);
            _mm512_store_si512(set.cast(), permuted);
        }
    }

    read!(zmm_reg, 15);
}

impl SetOf for Two {
    const LANES: usize = 32;

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn matches(set: *const u32, tag: u32) -> u32 {
        // SAFETY: the set is two of 16 tags.
        unsafe { One::matches(set, tag) | One::matches(set.add(One::LANES), tag) << One::LANES }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn renew(set: *mut u32, tag: u32, up_to: u32) {
        // SAFETY: the caller's set is aligned and has 32 tags; the host has the instructions.
        unsafe {
            let low = _mm512_load_si512(set.cast());
            let upper = set.add(One::LANES);
            let high = whole(_mm512_load_si512(upper.cast()));
            let up_to_in_high = low_u16((up_to >> One::LANES).into());
            let moved = _mm512_mask_alignr_epi32::<15>(high, up_to_in_high, high, low);
            _mm512_store_si512(upper.cast(), moved);
            One::renew(set, tag, up_to);
        }
    }
}
