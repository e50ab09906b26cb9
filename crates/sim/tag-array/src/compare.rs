//! Compares all tags of a set with one tag: the innermost step of every look-up.
//!
//! Compilers turn the portable loop into one compare and one shift per tag. SSE2, which every x86-64
//! has, compares eight tags in seven instructions, and so do vectors of WebAssembly.

/// Tags per vector step; sets are padded to a multiple of it.
pub(crate) const CHUNK: usize = 8;

/// Bit i is set where `tags[i]` is `tag`. There are at most 32 tags, in whole chunks.
#[cfg(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline(always)]
pub(crate) fn equal(tags: &[u32], tag: u32) -> u32 {
    // The most common sets, of up to 16 ways, are compared without a loop.
    if let Ok(sixteen) = <&[u32; 2 * CHUNK]>::try_from(tags) {
        let (low, high) = sixteen.split_at(CHUNK);
        return equal_of_eight(low, tag) | equal_of_eight(high, tag) << CHUNK;
    }
    let chunks = tags.chunks_exact(CHUNK).enumerate();
    chunks.fold(0, |found, (chunk, eight)| found | equal_of_eight(eight, tag) << (chunk * CHUNK))
}

/// # Panics
/// Unless there are eight tags.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
fn equal_of_eight(tags: &[u32], tag: u32) -> u32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi32, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32,
        _mm_set1_epi32,
    };
    assert!(tags.len() == CHUNK);
    // SAFETY: every x86-64 has SSE2, and eight tags are two vectors.
    unsafe {
        let wanted = _mm_set1_epi32(tag.cast_signed());
        let vectors = tags.as_ptr().cast();
        let low = _mm_cmpeq_epi32(_mm_loadu_si128(vectors), wanted);
        let high = _mm_cmpeq_epi32(_mm_loadu_si128(vectors.add(1)), wanted);
        let halves = _mm_packs_epi32(low, high);
        let bytes = _mm_packs_epi16(halves, halves);
        _mm_movemask_epi8(bytes).cast_unsigned() & 0xFF
    }
}

/// # Panics
/// Unless there are eight tags.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[inline(always)]
#[allow(unsafe_code)]
fn equal_of_eight(tags: &[u32], tag: u32) -> u32 {
    use std::arch::wasm32::{i32x4_bitmask, i32x4_eq, i32x4_splat, v128_load};
    assert!(tags.len() == CHUNK);
    let wanted = i32x4_splat(tag.cast_signed());
    let vectors = tags.as_ptr().cast();
    // SAFETY: eight tags are two vectors, which may lie anywhere.
    let (low, high) = unsafe { (v128_load(vectors), v128_load(vectors.add(1))) };
    let bits = |half| u32::from(i32x4_bitmask(i32x4_eq(half, wanted)));
    bits(low) | bits(high) << (CHUNK / 2)
}

/// Bit i is set where `tags[i]` is `tag`. There are at most 32 tags, in whole chunks.
#[cfg(not(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128"))))]
#[inline(always)]
pub(crate) fn equal(tags: &[u32], tag: u32) -> u32 {
    portable(tags, tag)
}

/// As the vector code, on every machine.
#[cfg(any(
    test,
    not(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128")))
))]
fn portable(tags: &[u32], tag: u32) -> u32 {
    tags.iter().enumerate().fold(0, |found, (way, &held)| found | u32::from(held == tag) << way)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn vectors_find_what_the_portable_loop_finds(
            chunks in 1usize..=4,
            tags in prop::collection::vec(prop_oneof![0u32..6, Just(u32::MAX)], 32),
            tag in prop_oneof![0u32..6, Just(u32::MAX)],
        ) {
            let set = &tags[..chunks * CHUNK];
            prop_assert_eq!(equal(set, tag), portable(set, tag));
        }
    }
}
