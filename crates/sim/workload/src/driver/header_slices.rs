//! CacheDirector: shifts the packet data in each buffer, so that one line of its header lies in a slice
//! near the core that polls the queue.
//!
//! Models: dynamic headroom: one shift per buffer and core, computed when the pool is built and stored
//! in the mbuf, whose line the driver reads anyway when it posts the buffer.
//! Source: EuroSys'19 (CacheDirector); `native/dpdk` does it under unmodified drivers.
//! Simplifies: adding the shift costs no cycles.

use units::{LineAddr, SliceId};

/// Placement of a packet's line.
#[derive(Clone, Debug)]
pub struct HeaderPlacement {
    /// The line of a packet to place: 0 holds IPv4 and TCP headers; IPv6 and TCP headers end in 1.
    pub line: u64,
    /// Slices of each core of the pool, the best ones first.
    pub nearest: Vec<Vec<SliceId>>,
    /// Number of slices in a list, from the first on, that are equally good.
    pub wanted: usize,
    /// Largest shift of the data, in lines.
    pub most_lines: u8,
}

/// Shifts by buffer and core.
#[derive(Clone, Debug)]
pub(super) struct HeaderShifts {
    cores: usize,
    /// Shift of buffer x cores + core, in lines.
    lines: Box<[u8]>,
}

impl HeaderShifts {
    /// Shifts for buffers whose unshifted data begins at `data`. The shortest shift to a wanted slice
    /// is taken; if none is reached, the shift to the best slice within reach.
    pub(super) fn new(
        placement: &HeaderPlacement,
        data: impl Iterator<Item = LineAddr>,
        slice_of: impl Fn(LineAddr) -> SliceId,
    ) -> Self {
        let ranks: Vec<Vec<usize>> =
            placement.nearest.iter().map(|nearest| ranks(nearest, placement.wanted)).collect();
        let mut lines = Vec::new();
        let mut slices: Vec<usize> = Vec::new();
        for first in data {
            let header = first.step(placement.line);
            let reached = (0..=u64::from(placement.most_lines)).map(|shift| header.step(shift));
            slices.clear();
            slices.extend(reached.map(|line| usize::from(slice_of(line).0)));
            lines.extend(ranks.iter().map(|ranks| {
                let best =
                    (0..=placement.most_lines).min_by_key(|&at| ranks[slices[usize::from(at)]]);
                best.unwrap_or(0)
            }));
        }
        Self { cores: placement.nearest.len(), lines: lines.into() }
    }

    /// Shift of buffer `id` for core number `core` of the pool.
    pub(super) fn shift(&self, id: u32, core: usize) -> u64 {
        u64::from(self.lines[id as usize * self.cores + core])
    }
}

/// Rank of each slice: 0 for the wanted ones, then by order.
fn ranks(nearest: &[SliceId], wanted: usize) -> Vec<usize> {
    let mut ranks = vec![0; nearest.len()];
    for (place, slice) in nearest.iter().enumerate() {
        ranks[usize::from(slice.0)] = (place + 1).saturating_sub(wanted);
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four slices line by line, the second core's order the reverse of the first's.
    fn placement(line: u64, wanted: usize, most_lines: u8) -> HeaderPlacement {
        let order: Vec<SliceId> = (0..4).map(SliceId).collect();
        let nearest = vec![order.clone(), order.into_iter().rev().collect()];
        HeaderPlacement { line, nearest, wanted, most_lines }
    }

    fn shifts(placement: &HeaderPlacement, first: u64) -> [u64; 2] {
        let slice_of = |line: LineAddr| SliceId((line.0 % 4) as u16);
        let shifts = HeaderShifts::new(placement, std::iter::once(LineAddr(first)), slice_of);
        [shifts.shift(0, 0), shifts.shift(0, 1)]
    }

    #[test]
    fn each_core_has_its_own_distance_to_its_own_slice() {
        assert_eq!(shifts(&placement(0, 1, 3), 101), [3, 2]);
        assert_eq!(shifts(&placement(0, 1, 3), 100), [0, 3]);
    }

    #[test]
    fn the_line_that_matters_is_placed_not_the_first_one() {
        assert_eq!(shifts(&placement(1, 1, 3), 100), [3, 2]);
    }

    #[test]
    fn of_several_wanted_slices_the_one_that_costs_least_room_is_taken() {
        assert_eq!(shifts(&placement(0, 2, 3), 101), [0, 1]);
    }

    #[test]
    fn with_too_little_room_the_best_slice_within_it_is_taken() {
        assert_eq!(shifts(&placement(0, 1, 1), 101), [0, 1]);
    }
}
