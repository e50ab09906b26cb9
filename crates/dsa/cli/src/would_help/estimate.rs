//! Times of all offloads of a run by size, from replays of samples.

use super::offloads::{OffloadSum, Offloads, in_f64};
use super::replay::{OperandState, SEEDS, SampleReplay, SizeTimes};

/// The 97.5 % point of Student's distribution for [`SEEDS`] replays.
const T_95: f64 = 4.303;
const _: () = assert!(SEEDS == 3);

/// A lower and an upper bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    pub low: f64,
    pub high: f64,
}

/// The times of all offloads of one size.
#[derive(Clone, Debug)]
pub struct SizeEstimate {
    /// The least size of the class, which goes up to twice that.
    pub least_bytes: u64,
    pub sum: OffloadSum,
    /// One value for each replay, in the order of the states of the data.
    pub replays: Vec<ReplayEstimate>,
}

/// The times of all offloads of one size by one replay.
#[derive(Clone, Copy, Debug)]
pub struct ReplayEstimate {
    pub state: OperandState,
    pub engines_ns: f64,
    pub core_ns: f64,
    /// Cycles of a core that come free if the program has other work meanwhile.
    pub freed_cycles: f64,
    /// Bytes between memory and the LLC: by engines, and by cores.
    pub memory_bytes: [f64; 2],
}

impl ReplayEstimate {
    /// Time that a program gains which waits for each call.
    pub fn gain_ns(&self) -> f64 {
        self.core_ns - self.engines_ns
    }
}

impl Band {
    /// The middle.
    pub fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// The band of a time or a count, which is never below 0.
    pub fn not_negative(self) -> Self {
        Self { low: self.low.max(0.0), high: self.high.max(0.0) }
    }

    /// The same in another unit: each bound times a positive factor.
    pub fn times(self, factor: f64) -> Self {
        Self { low: self.low * factor, high: self.high * factor }
    }
}

/// Estimates the times of all offloads. A sample's times count for the bytes that the log has of their size;
/// if a sample has none of a size, the others' times do.
pub fn by_size(offloads: &Offloads, replays: &[SampleReplay]) -> Vec<SizeEstimate> {
    let of_size = |(&least_bytes, &sum): (&u64, &OffloadSum)| SizeEstimate {
        least_bytes,
        sum,
        replays: replays
            .iter()
            .filter_map(|replay| {
                let times = times_of(replay, replays, least_bytes)?;
                Some(estimate(replay, times, in_f64(sum.bytes)))
            })
            .collect(),
    };
    let all = offloads.by_size.iter().map(of_size);
    all.filter(|size| size.replays.len() == replays.len()).collect()
}

/// Times of a size by one replay, or by another one of the same state of the data.
fn times_of(
    replay: &SampleReplay,
    replays: &[SampleReplay],
    least_bytes: u64,
) -> Option<SizeTimes> {
    let own = std::iter::once(replay);
    let others = replays.iter().filter(|other| other.state == replay.state);
    own.chain(others).find_map(|it| it.sizes.get(&least_bytes).copied())
}

fn estimate(replay: &SampleReplay, times: SizeTimes, all_bytes: f64) -> ReplayEstimate {
    let factor = all_bytes / times.bytes;
    ReplayEstimate {
        state: replay.state,
        engines_ns: factor * times.engines_ns,
        core_ns: factor * times.core_ns,
        freed_cycles: factor * (times.core_ns - times.offloading_ns) * replay.core_ghz,
        memory_bytes: replay.memory_bytes_per_byte.map(|bytes| bytes * all_bytes),
    }
}

/// The band of a sum over sizes. For each state of the data it is the 95 % interval of the replays; the band
/// goes from the lowest bound to the highest one.
pub fn band(sizes: &[SizeEstimate], of: impl Fn(&ReplayEstimate) -> f64) -> Band {
    let mut band = Band { low: f64::INFINITY, high: f64::NEG_INFINITY };
    for state in OperandState::ALL {
        let mut sums = [0.0; SEEDS];
        for size in sizes {
            let own = size.replays.iter().filter(|replay| replay.state == state);
            sums.iter_mut().zip(own).for_each(|(sum, replay)| *sum += of(replay));
        }
        let count = in_f64(SEEDS as u64);
        let mean = sums.iter().sum::<f64>() / count;
        let squares: f64 = sums.iter().map(|sum| (sum - mean).powi(2)).sum();
        let half = T_95 * (squares / (count - 1.0) / count).sqrt();
        band.low = band.low.min(mean - half);
        band.high = band.high.max(mean + half);
    }
    if sizes.is_empty() { Band { low: 0.0, high: 0.0 } } else { band }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A size whose calls take a core and engines so long, in either state of the data.
    pub fn size(least_bytes: u64, cached: (f64, f64), in_memory: (f64, f64)) -> SizeEstimate {
        let of_state = |state, (core_ns, engines_ns): (f64, f64)| {
            [ReplayEstimate {
                state,
                engines_ns,
                core_ns,
                freed_cycles: core_ns - 1.0,
                memory_bytes: [2.0, 1.0],
            }; SEEDS]
        };
        SizeEstimate {
            least_bytes,
            sum: OffloadSum { offloads: 1, bytes: least_bytes },
            replays: [
                of_state(OperandState::Cached, cached),
                of_state(OperandState::InMemory, in_memory),
            ]
            .concat(),
        }
    }

    #[test]
    fn a_band_goes_from_one_state_of_the_data_to_the_other() {
        let sizes = [size(4096, (10.0, 4.0), (30.0, 5.0)), size(8192, (1.0, 0.0), (1.0, 0.0))];
        assert_eq!(band(&sizes, ReplayEstimate::gain_ns), Band { low: 7.0, high: 26.0 });
    }

    #[test]
    fn replays_that_differ_widen_the_band() {
        let mut sizes = [size(4096, (10.0, 0.0), (10.0, 0.0))];
        sizes[0].replays[0].core_ns = 13.0;
        let band = band(&sizes, ReplayEstimate::gain_ns);
        // Mean 11, standard error 1.
        assert!((band.low - (11.0 - T_95)).abs() < 1e-9, "{band:?}");
        assert!((band.high - (11.0 + T_95)).abs() < 1e-9, "{band:?}");
    }

    #[test]
    fn a_sample_counts_for_all_bytes_of_its_size() {
        let mut offloads = Offloads::default();
        offloads.by_size.insert(4096, OffloadSum { offloads: 10, bytes: 40_960 });
        let times =
            SizeTimes { bytes: 4096.0, engines_ns: 500.0, offloading_ns: 100.0, core_ns: 300.0 };
        let replay = |state| SampleReplay {
            state,
            sizes: [(4096, times)].into(),
            core_ghz: 2.0,
            memory_bytes_per_byte: [2.0, 1.0],
        };
        let replays: Vec<_> =
            OperandState::ALL.into_iter().flat_map(|state| vec![replay(state); SEEDS]).collect();
        let estimates = by_size(&offloads, &replays);
        let [size] = &estimates[..] else { panic!("one size") };
        let own = size.replays[0];
        assert_eq!((own.engines_ns, own.core_ns, own.freed_cycles), (5000.0, 3000.0, 4000.0));
        assert_eq!(own.memory_bytes, [81_920.0, 40_960.0]);
    }
}
