//! Memory whose lines all lie in chosen slices of the LLC.
//!
//! Models: an allocator over huge pages that gives a structure only lines of the wanted slices;
//! neighbours in the structure are not neighbours in memory.
//! Source: EuroSys'19, slice-aware memory management; crate `slices` does it on real machines.
//! Simplifies: the lines in between stay unused.

use crate::host_memory::{HostMemory, Region};
use units::narrow::usize_from;
use units::{LINE_BYTES, LineAddr, SliceId};

/// A region of `bytes`, in whole lines, from new pages of `memory`: each line is in one of the `wanted`
/// of `slices` slices, according to `slice_of`.
///
/// # Panics
/// If no line is in a wanted slice, or the simulated memory is exhausted. Scenarios are checked.
pub fn region_in_slices(
    memory: &mut HostMemory,
    bytes: u64,
    slices: u16,
    wanted: &[SliceId],
    slice_of: impl Fn(LineAddr) -> SliceId,
) -> Region {
    assert!(wanted.iter().any(|slice| slice.0 < slices), "no such slice");
    let mut is_wanted = vec![false; usize::from(slices)];
    for slice in wanted {
        is_wanted[usize::from(slice.0)] = true;
    }
    let needed = usize_from(bytes.div_ceil(LINE_BYTES));
    let mut lines: Vec<LineAddr> = Vec::with_capacity(needed);
    while lines.len() < needed {
        let missing = (needed - lines.len()) as u64 * LINE_BYTES;
        let pages = memory.region(missing * u64::from(slices) / wanted.len() as u64);
        let fitting = pages.lines().filter(|&line| is_wanted[usize::from(slice_of(line).0)]);
        lines.extend(fitting.take(needed - lines.len()));
    }
    Region::of_lines(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use units::Bytes;
    use units::narrow::fit;

    proptest! {
        #[test]
        fn every_line_is_in_a_wanted_slice_and_none_is_given_twice(
            seed in any::<u64>(),
            lines in 1..20_000u64,
            slices in 2..40u16,
            pick in 1..40u16,
        ) {
            // Any function would do; this one is as uneven as those of real processors.
            let slice_of = |line: LineAddr| SliceId(fit((line.0 ^ line.0 >> 7) % u64::from(slices)));
            let wanted: Vec<SliceId> = (0..slices).step_by(usize::from(pick)).map(SliceId).collect();
            let mut memory = HostMemory::new(Bytes(2 << 20), seed);
            let bytes = lines * LINE_BYTES;
            let mut regions =
                (0..2).map(|_| region_in_slices(&mut memory, bytes, slices, &wanted, slice_of));
            let (one, other) = (regions.next().expect("two"), regions.next().expect("two"));
            let given: Vec<LineAddr> = one.lines().chain(other.lines()).collect();
            prop_assert_eq!(given.len() as u64, 2 * lines);
            prop_assert!(given.iter().all(|&line| wanted.contains(&slice_of(line))));
            prop_assert_eq!(given.iter().collect::<BTreeSet<_>>().len() as u64, 2 * lines);
            prop_assert_eq!(one.line(lines - 1), given[usize_from(lines) - 1]);
        }
    }
}
