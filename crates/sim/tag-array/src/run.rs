//! Looks up a run of lines, each in its own set: the look-up of a burst.
//!
//! One call decides which instructions the host has. With AVX-512 a set is one register and one compare
//! instead of four; single look-ups would decide for each line.

#[cfg(target_arch = "x86_64")]
use super::BLOCK;
use super::TagArray;
use units::narrow::fit;
use units::{LineAddr, SetIndex};

/// Most lines of a run: one bit each.
pub const RUN_LINES: usize = 64;

impl TagArray {
    /// Looks up neighbouring lines from `first` on, each in its set of `sets`. Bit i of the result says
    /// whether line i hits, and the i-th of `ways` in which way.
    ///
    /// # Panics
    /// If there are more than [`RUN_LINES`] lines, or a set does not exist.
    #[must_use]
    pub fn find_run(&self, sets: &[SetIndex], first: LineAddr, ways: &mut [u8; RUN_LINES]) -> u64 {
        assert!(sets.len() <= RUN_LINES);
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // Only the greatest is compared: this loop has no branches.
            let greatest = sets.iter().fold(0, |greatest, set| set.0.max(greatest));
            assert!((greatest as usize) < self.words.len() / BLOCK || sets.is_empty());
            // SAFETY: sets are whole blocks, the host has the instructions, and all sets exist.
            #[allow(unsafe_code)]
            return unsafe { find_wide(self, sets, first, ways) };
        }
        self.find_each(sets, first, ways)
    }

    fn find_each(&self, sets: &[SetIndex], first: LineAddr, ways: &mut [u8; RUN_LINES]) -> u64 {
        let mut present = 0;
        for (i, (&set, place)) in sets.iter().zip(ways).enumerate() {
            let found = self.find(set, first.step(i as u64));
            *place = fit(found.unwrap_or_default());
            present |= u64::from(found.is_some()) << i;
        }
        present
    }
}

/// Whether the host has the instructions that [`find_wide`] needs.
pub(super) fn host_is_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("bmi1");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// # Safety
/// A set is one block of words, all of `sets` exist, and there are at most [`RUN_LINES`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,bmi1")]
#[allow(unsafe_code)]
unsafe fn find_wide(
    tags: &TagArray,
    sets: &[SetIndex],
    first: LineAddr,
    ways: &mut [u8; RUN_LINES],
) -> u64 {
    use std::arch::x86_64::{_mm512_cmpeq_epi32_mask, _mm512_loadu_si512, _mm512_set1_epi32};
    let words = tags.words.as_ptr();
    let mut present = 0;
    for (i, (set, place)) in sets.iter().zip(ways).enumerate() {
        // SAFETY: the caller's sets exist.
        let held = unsafe { _mm512_loadu_si512(words.add(set.0 as usize * BLOCK).cast()) };
        let wanted = _mm512_set1_epi32(first.step(i as u64).low_bits().cast_signed());
        let found = u32::from(_mm512_cmpeq_epi32_mask(held, wanted)) & tags.all_ways;
        *place = fit(found.trailing_zeros());
        present |= u64::from(found != 0) << i;
    }
    present
}

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "lines of the tests are small, notes are any bytes"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_run_finds_what_each_line_finds_alone(
            (ways, more) in (1_u32..=32, 0_u32..=4),
            held in prop::collection::vec((0_u32..8, any::<prop::sample::Index>(), 0_u64..90), 0..200),
            asked in prop::collection::vec(0_u32..8, 0..=RUN_LINES),
            first in 0_u64..40,
        ) {
            let mut tags = TagArray::with_more_notes(8, ways, more);
            for (set, way, line) in held {
                let (set, line) = (SetIndex(set), LineAddr(line));
                if tags.find(set, line).is_none() {
                    tags.put(set, way.index(ways as usize) as u32, line, line.0 as u8);
                }
            }
            let sets: Vec<SetIndex> = asked.into_iter().map(SetIndex).collect();
            let (mut places, mut others) = ([0; RUN_LINES], [0; RUN_LINES]);
            let present = tags.find_run(&sets, LineAddr(first), &mut places);
            prop_assert_eq!(present, tags.find_each(&sets, LineAddr(first), &mut others));
            for (i, &set) in sets.iter().enumerate() {
                let found = tags.find(set, LineAddr(first + i as u64));
                prop_assert_eq!(present >> i & 1 == 1, found.is_some());
                if let Some(way) = found {
                    prop_assert_eq!((u32::from(places[i]), u32::from(others[i])), (way, way));
                }
            }
        }
    }
}
