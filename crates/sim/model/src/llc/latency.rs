//! Load-to-use latency of an LLC hit, by core and slice.
//!
//! Models: one latency per core and slice, as a table.
//! Source: a topology ([`crate::mesh`]) or a published mean, whichever the table is built from.
//! Simplifies: an idle interconnect.

use units::{Id, Picos, SliceId, SocketCore};

/// Latencies by core (of a socket) and slice.
#[derive(Clone, Debug)]
pub struct LlcLatency {
    /// Entry core x slices + slice; a single entry if all slices are equally far.
    table: Box<[Picos]>,
    /// Slices per core in the table; zero if all are equally far.
    slices: usize,
    mean: Picos,
}

impl LlcLatency {
    /// All slices are equally far from all cores.
    #[must_use]
    pub fn uniform(latency: Picos) -> Self {
        Self { table: Box::new([latency]), slices: 0, mean: latency }
    }

    /// The latency that `of` gives for each core and slice.
    ///
    /// # Panics
    /// If there are no cores or no slices.
    #[must_use]
    pub fn by_slice(cores: u8, slices: u16, of: impl Fn(SocketCore, SliceId) -> Picos) -> Self {
        assert!(cores > 0 && slices > 0);
        let of = &of;
        let table: Box<[Picos]> = (0..cores)
            .flat_map(|core| (0..slices).map(move |slice| of(SocketCore(core), SliceId(slice))))
            .collect();
        let total: u64 = table.iter().map(|latency| latency.0).sum();
        let mean = Picos(total / table.len() as u64);
        Self { table, slices: usize::from(slices), mean }
    }

    /// From `core` (of its socket) to `slice`.
    #[inline]
    #[must_use]
    pub fn get(&self, core: SocketCore, slice: SliceId) -> Picos {
        if self.slices == 0 {
            return self.table[0];
        }
        self.table[core.index() * self.slices + usize::from(slice.0)]
    }

    /// Mean over all cores and slices.
    #[must_use]
    pub fn mean(&self) -> Picos {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_core_has_its_own_distances() {
        let latency = LlcLatency::by_slice(2, 3, |core, slice| {
            Picos(100 * u64::from(core.0) + u64::from(slice.0))
        });
        assert_eq!(latency.get(SocketCore(1), SliceId(2)), Picos(102));
        assert_eq!(latency.get(SocketCore(0), SliceId(1)), Picos(1));
        assert_eq!(latency.mean(), Picos(51));
    }

    #[test]
    fn without_distances_all_slices_are_equally_far() {
        let latency = LlcLatency::uniform(Picos(7));
        assert_eq!(latency.get(SocketCore(40), SliceId(99)), Picos(7));
    }
}
