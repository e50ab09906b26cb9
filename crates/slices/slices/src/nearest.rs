//! The nearest slices of cores, by measured or modelled latencies.

use units::narrow::fit;
use units::{Cycles, SliceId};

/// Most slices of a socket; a slice table cannot have more.
const MOST_SLICES: usize = 256;

/// Read latencies from each core to a line in each slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies {
    slices: usize,
    /// Latencies of core 0 to all slices, then of core 1, and so on.
    cycles: Vec<Cycles>,
}

/// Error of numbers that are not latencies.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum LatenciesError {
    /// The list has no cores or no slices.
    #[error("no latencies; needed: one for each core and slice")]
    None,
    /// More slices than a socket can have.
    #[error("{0} slices; allowed: up to {MOST_SLICES}")]
    TooManySlices(usize),
    /// Cores have different numbers of slices.
    #[error("core {core} has latencies to {given} slices, core 0 to {needed}; needed: all alike")]
    Uneven {
        /// The core.
        core: usize,
        /// Number of latencies of that core.
        given: usize,
        /// Number of latencies of core 0.
        needed: usize,
    },
    /// A latency is not a positive number.
    #[error("core {core} to slice {slice}: {cycles} cycles; allowed: above 0")]
    Cycles {
        /// The core.
        core: usize,
        /// The slice.
        slice: usize,
        /// The latency given.
        cycles: f64,
    },
}

/// The latency to minimise in the choice of a slice for data that several cores share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedGoal {
    /// The mean latency of the cores.
    Mean,
    /// The latency of the farthest core.
    Farthest,
}

impl Latencies {
    /// Makes the table of a row for each core with a latency for each slice.
    ///
    /// # Errors
    /// If rows are missing, too long or differ in length, or a latency is not above zero.
    pub fn new(rows: &[Vec<Cycles>]) -> Result<Self, LatenciesError> {
        let needed = rows.first().map_or(0, Vec::len);
        if needed == 0 {
            return Err(LatenciesError::None);
        }
        if needed > MOST_SLICES {
            return Err(LatenciesError::TooManySlices(needed));
        }
        for (core, row) in rows.iter().enumerate() {
            if row.len() != needed {
                return Err(LatenciesError::Uneven { core, given: row.len(), needed });
            }
            let good = |latency: &Cycles| latency.0.is_finite() && latency.0 > 0.0;
            if let Some(slice) = row.iter().position(|latency| !good(latency)) {
                return Err(LatenciesError::Cycles { core, slice, cycles: row[slice].0 });
            }
        }
        Ok(Self { slices: needed, cycles: rows.concat() })
    }

    /// Number of cores; they are numbered from 0.
    #[must_use]
    pub fn cores(&self) -> usize {
        self.cycles.len() / self.slices
    }

    /// Number of slices; they are numbered from 0.
    #[must_use]
    pub fn slices(&self) -> usize {
        self.slices
    }

    /// The latency from a core to a slice.
    ///
    /// # Panics
    /// If there is no such core or slice.
    #[must_use]
    pub fn latency(&self, core: usize, slice: SliceId) -> Cycles {
        self.row(core)[usize::from(slice.0)]
    }

    /// All slices by their latency from `core`, nearest first; lower numbers first among equals.
    ///
    /// # Panics
    /// If there is no such core.
    #[must_use]
    pub fn by_distance(&self, core: usize) -> Vec<SliceId> {
        let row = self.row(core);
        let mut slices: Vec<SliceId> = (0..fit(self.slices)).map(SliceId).collect();
        slices.sort_by(|one, other| {
            row[usize::from(one.0)].0.total_cmp(&row[usize::from(other.0)].0)
        });
        slices
    }

    /// The slices whose latency from `core` is at most `margin` above that of the nearest slice, nearest
    /// first. Measured latencies have a resolution, and more slices hold more lines.
    ///
    /// # Panics
    /// If there is no such core.
    #[must_use]
    pub fn nearest_within(&self, core: usize, margin: Cycles) -> Vec<SliceId> {
        let mut slices = self.by_distance(core);
        let most = self.latency(core, slices[0]).0 + margin.0;
        slices.retain(|&slice| self.latency(core, slice).0 <= most);
        slices
    }

    /// The slice with the smallest latency for `cores` by the goal, and that latency; the lowest slice
    /// number among equals. `None` without cores.
    ///
    /// # Panics
    /// If there is no such core.
    #[must_use]
    pub fn best_shared(&self, cores: &[usize], goal: SharedGoal) -> Option<(SliceId, Cycles)> {
        let reached = |slice: SliceId| {
            let latencies = cores.iter().map(|&core| self.latency(core, slice).0);
            match goal {
                SharedGoal::Mean => latencies.sum::<f64>() / cores.len() as f64,
                SharedGoal::Farthest => latencies.fold(0.0, f64::max),
            }
        };
        let all = (0..fit(self.slices)).map(SliceId).map(|slice| (slice, Cycles(reached(slice))));
        all.filter(|_| !cores.is_empty()).min_by(|one, other| one.1.0.total_cmp(&other.1.0))
    }

    fn row(&self, core: usize) -> &[Cycles] {
        &self.cycles[core * self.slices..][..self.slices]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Medians of the read latency in core cycles, cores 0 to 2 and slices 0 to 17 of a Xeon Gold
    /// 6134. EuroSys'19, public plots (github aliireza/slice-aware), decoded to +-0.5 cycle.
    const GOLD_6134: [[f64; 18]; 3] = [
        [
            41.5, 49.4, 43.5, 49.4, 49.4, 53.3, 49.4, 59.3, 63.2, 57.3, 63.2, 69.1, 65.2, 65.2,
            67.2, 73.1, 73.1, 73.1,
        ],
        [
            47.4, 45.4, 45.4, 45.4, 43.5, 45.4, 55.3, 47.4, 53.3, 57.3, 55.3, 57.3, 69.1, 65.2,
            63.2, 67.2, 67.2, 67.2,
        ],
        [
            61.2, 53.3, 59.3, 57.3, 53.3, 49.4, 51.3, 47.4, 41.5, 59.3, 53.3, 47.4, 63.2, 63.2,
            57.3, 53.3, 65.2, 57.3,
        ],
    ];

    fn latencies(rows: &[Vec<f64>]) -> Result<Latencies, LatenciesError> {
        let rows: Vec<Vec<Cycles>> =
            rows.iter().map(|row| row.iter().copied().map(Cycles).collect()).collect();
        Latencies::new(&rows)
    }

    fn gold_6134() -> Latencies {
        latencies(&GOLD_6134.map(Vec::from)).expect("is valid")
    }

    #[test]
    fn the_cores_of_the_gold_6134_have_their_published_primary_slices() {
        let latencies = gold_6134();
        let nearest: Vec<u16> = (0..3).map(|core| latencies.by_distance(core)[0].0).collect();
        assert_eq!(nearest, [0, 4, 8]);
        assert_eq!(latencies.nearest_within(0, Cycles(2.5)), [SliceId(0), SliceId(2)]);
        assert_eq!(latencies.nearest_within(2, Cycles(0.0)), [SliceId(8)]);
    }

    #[test]
    fn data_of_two_far_cores_belongs_between_them() {
        // Slice 6 is 49.4 and 51.3 cycles away, the own slices of the two 63.2 and 61.2.
        let (slice, latency) =
            gold_6134().best_shared(&[0, 2], SharedGoal::Farthest).expect("cores");
        assert_eq!((slice, latency), (SliceId(6), Cycles(51.3)));
        assert_eq!(gold_6134().best_shared(&[], SharedGoal::Mean), None);
    }

    #[test]
    fn what_is_no_latency_is_refused() {
        assert_eq!(latencies(&[]), Err(LatenciesError::None));
        let uneven = LatenciesError::Uneven { core: 1, given: 1, needed: 2 };
        assert_eq!(latencies(&[vec![1.0, 2.0], vec![1.0]]), Err(uneven));
        let zero = LatenciesError::Cycles { core: 0, slice: 1, cycles: 0.0 };
        assert_eq!(latencies(&[vec![1.0, 0.0]]), Err(zero));
        assert!(latencies(&[vec![f64::NAN]]).is_err());
        // Slice numbers have 16 bits: cut to them, the last count would be one slice.
        let too_many = LatenciesError::TooManySlices(65_537);
        assert_eq!(latencies(&[vec![1.0; 65_537]]), Err(too_many));
    }

    proptest! {
        #[test]
        fn no_slice_serves_shared_data_better_than_the_one_chosen(
            rows in proptest::collection::vec(proptest::collection::vec(1.0..100.0f64, 18), 1..8),
            choice in 1..255u8,
        ) {
            let latencies = latencies(&rows).expect("is valid");
            let cores: Vec<usize> =
                (0..rows.len()).filter(|core| choice >> core & 1 == 1).collect();
            prop_assume!(!cores.is_empty());
            let (_, mean) = latencies.best_shared(&cores, SharedGoal::Mean).expect("cores");
            let (_, worst) = latencies.best_shared(&cores, SharedGoal::Farthest).expect("cores");
            for slice in (0..18).map(SliceId) {
                let to = |core: usize| latencies.latency(core, slice).0;
                let sum: f64 = cores.iter().map(|&core| to(core)).sum();
                prop_assert!(sum / cores.len() as f64 >= mean.0);
                prop_assert!(cores.iter().any(|&core| to(core) >= worst.0));
            }
            for core in 0..rows.len() {
                let order = latencies.by_distance(core);
                let sorted = order.windows(2).all(|pair| {
                    latencies.latency(core, pair[0]).0 <= latencies.latency(core, pair[1]).0
                });
                prop_assert!(sorted && order.len() == 18);
            }
        }
    }
}
