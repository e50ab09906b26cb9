//! Finds the slice of a line without counters, by the latencies of loads from several processors.
//!
//! A load that hits the LLC takes longer the farther its slice is from the core. Seen from several
//! cores, each slice has its own latencies; a line's latencies identify its slice, up to the names of the
//! slices. Slices that are equally far from all of these cores cannot be told apart: then there are
//! fewer classes than slices, which is an error.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::latency::median;
use super::latency_classes::{centre, classes, distance, nearest, radius};
use crate::cpu::CpuId;
use crate::probe_memory::{ProbeMemory, ProbeMemoryError};
use units::narrow::fit;

/// Plan of an oracle by timing: processors, number of slices and of loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimingPlan {
    /// The processors that time loads, one for each core.
    pub cpus: Vec<CpuId>,
    /// Number of slices, and so of classes that must be found.
    pub slices: u32,
    /// Number of loads from each processor for one answer.
    pub samples: usize,
}

impl TimingPlan {
    /// A plan with up to sixteen of the given processors, evenly spread, and 15 loads from each.
    #[must_use]
    pub fn new(cpus: &[CpuId], slices: u32) -> Self {
        const MOST_CPUS: usize = 16;
        let count = cpus.len().min(MOST_CPUS);
        let chosen = (0..count).map(|index| cpus[index * cpus.len() / count]).collect();
        Self { cpus: chosen, slices, samples: 15 }
    }
}

/// Error of lines that do not form as many distinct classes as there are slices.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClassesError {
    /// too few or too many classes
    #[error(
        "latencies from {cpus} processors put {lines} lines into {found} classes; needed: {wanted}, one for \
         each slice (a load's noise is {noise_cycles:.1} cycles after {samples} loads)"
    )]
    Count {
        /// Number of processors.
        cpus: usize,
        /// Number of lines.
        lines: usize,
        /// Number of classes found.
        found: usize,
        /// Number of slices.
        wanted: u32,
        /// Largest noise of a processor, in cycles.
        noise_cycles: f64,
        /// Number of loads for one answer.
        samples: usize,
    },
    /// a class has far too many or few lines
    #[error(
        "a class has {members} of {lines} lines, a slice has {expected:.0}: two slices look alike, or one \
         is split"
    )]
    Uneven {
        /// Number of lines of the class.
        members: usize,
        /// Number of all lines.
        lines: usize,
        /// Number of lines of a slice, expected.
        expected: f64,
    },
    /// classes are within the noise of each other
    #[error("two classes are {distance:.1} times the noise apart; needed: {needed:.0}")]
    TooClose {
        /// Distance of the classes in units of the noise.
        distance: f64,
        /// Least distance that separates classes reliably.
        needed: f64,
    },
    /// the memory cannot be used
    #[error(transparent)]
    Memory(#[from] ProbeMemoryError),
}

/// Lines of each slice with which classes are found, on average.
const LINES_OF_SLICE: usize = 40;
/// Least distance of two classes in units of the noise: nearer ones are confused too often.
const LEAST_DISTANCE: f64 = 5.0;
/// Bounds of the lines of a class, relative to the mean of a slice. Slices of real parts have 0.69 to
/// 1.2 of an even share; two that look alike have twice as many.
const SHARE: [f64; 2] = [0.4, 1.6];
/// Lower bound of the noise: the time stamp counter moves in steps.
const LEAST_NOISE_CYCLES: f64 = 0.5;

/// Oracle that times loads of a line from several processors.
pub struct TimingOracle {
    memory: Box<dyn ProbeMemory>,
    plan: TimingPlan,
    /// Noise of a latency from each processor, in cycles.
    noise: Vec<f64>,
    /// Latencies of each class in units of the noise, nearest to the first processor first.
    classes: Vec<Vec<f64>>,
}

impl TimingOracle {
    /// Learns the classes from random lines of the memory.
    ///
    /// # Errors
    /// If the lines do not form as many distinct classes as there are slices, or the thread cannot move.
    pub fn learn(memory: Box<dyn ProbeMemory>, plan: TimingPlan) -> Result<Self, ClassesError> {
        let mut oracle = Self { memory, plan, noise: Vec::new(), classes: Vec::new() };
        let count = oracle.plan.slices as usize * LINES_OF_SLICE;
        let lines = random_lines(oracle.memory.as_ref(), count);
        let first = oracle.latencies_of_lines(&lines)?;
        let second = oracle.latencies_of_lines(&lines)?;
        oracle.noise = noise(&first, &second);
        let scaled = first.iter().zip(&second).map(|(one, other)| {
            let means = one.iter().zip(other).map(|(one, other)| f64::midpoint(*one, *other));
            means.zip(&oracle.noise).map(|(mean, noise)| mean / noise).collect()
        });
        let scaled: Vec<Vec<f64>> = scaled.collect();
        oracle.classes = oracle.separate_classes(&scaled)?;
        Ok(oracle)
    }

    /// Number of slices that the oracle distinguishes.
    #[must_use]
    pub fn slices(&self) -> u32 {
        self.plan.slices
    }

    /// Number of the class of a line; `None` if its latencies are near no class.
    ///
    /// # Errors
    /// If the thread cannot move to a processor.
    pub fn slice_of(&mut self, physical_address: u64) -> Result<Option<u16>, ProbeMemoryError> {
        let latencies = self.latencies(physical_address)?;
        let scaled: Vec<f64> =
            latencies.iter().zip(&self.noise).map(|(cycles, noise)| cycles / noise).collect();
        let near = nearest(&self.classes, &scaled);
        let limit = radius(self.plan.cpus.len());
        Ok(near.filter(|(_, distance)| *distance <= limit).map(|(class, _)| fit(class)))
    }

    fn latencies_of_lines(&mut self, lines: &[u64]) -> Result<Vec<Vec<f64>>, ProbeMemoryError> {
        lines.iter().map(|&line| self.latencies(line)).collect()
    }

    /// Median latency of a line from each processor.
    fn latencies(&mut self, physical_address: u64) -> Result<Vec<f64>, ProbeMemoryError> {
        let mut latencies = Vec::with_capacity(self.plan.cpus.len());
        for &cpu in &self.plan.cpus {
            self.memory.move_to(cpu)?;
            let mut cycles: Vec<f64> = (0..self.plan.samples)
                .map(|_| self.memory.llc_load_cycles(physical_address))
                .collect();
            latencies.push(median(&mut cycles));
        }
        Ok(latencies)
    }

    /// Sorts lines into classes, and checks that their number, sizes and distances are those of slices.
    fn separate_classes(&self, lines: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, ClassesError> {
        let expected = lines.len() as f64 / f64::from(self.plan.slices);
        let mut classes = classes(lines, radius(self.plan.cpus.len()));
        // Single lines whose loads were disturbed do not form a class.
        classes.retain(|class| class.len() as f64 > expected / 10.0);
        if classes.len() != self.plan.slices as usize {
            return Err(ClassesError::Count {
                cpus: self.plan.cpus.len(),
                lines: lines.len(),
                found: classes.len(),
                wanted: self.plan.slices,
                noise_cycles: self.noise.iter().copied().fold(0.0, f64::max),
                samples: self.plan.samples,
            });
        }
        let [least, most] = SHARE.map(|share| share * expected);
        let uneven = |class: &&Vec<usize>| !(least..=most).contains(&(class.len() as f64));
        if let Some(class) = classes.iter().find(uneven) {
            let (members, lines) = (class.len(), lines.len());
            return Err(ClassesError::Uneven { members, lines, expected });
        }
        let mut centres: Vec<Vec<f64>> = classes.iter().map(|class| centre(lines, class)).collect();
        centres.sort_by(|one, other| one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal));
        let pairs = centres.iter().enumerate().flat_map(|(index, one)| {
            centres[..index].iter().map(move |other| distance(one, other))
        });
        let distance = pairs.fold(f64::INFINITY, f64::min);
        if distance < LEAST_DISTANCE {
            return Err(ClassesError::TooClose { distance, needed: LEAST_DISTANCE });
        }
        Ok(centres)
    }
}

fn random_lines(memory: &dyn ProbeMemory, count: usize) -> Vec<u64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let pages = memory.pages();
    (0..count)
        .map(|_| {
            let page = pages[random.next_u32() as usize % pages.len()];
            page.start
                + random.next_u64() % page.size.bytes() / units::LINE_BYTES * units::LINE_BYTES
        })
        .collect()
}

/// Noise of one latency from each processor, estimated from the differences of two: the larger of the
/// estimates by the median and by the upper decile of a normal distribution. If most latencies are equal,
/// to the step of the counter, the median alone would give no noise.
fn noise(first: &[Vec<f64>], second: &[Vec<f64>]) -> Vec<f64> {
    // Of the absolute value, in standard deviations; a difference has the square root of two times the
    // noise of an answer.
    const MEDIAN: f64 = 0.6745 * std::f64::consts::SQRT_2;
    const UPPER_DECILE: f64 = 1.645 * std::f64::consts::SQRT_2;
    let cpus = first.first().map_or(0, Vec::len);
    (0..cpus)
        .map(|cpu| {
            let pairs = first.iter().zip(second);
            let mut apart: Vec<f64> =
                pairs.map(|(one, other)| (one[cpu] - other[cpu]).abs()).collect();
            let median = median(&mut apart);
            let upper_decile = apart.get(apart.len() * 9 / 10).copied().unwrap_or(0.0);
            (median / MEDIAN).max(upper_decile / UPPER_DECILE).max(LEAST_NOISE_CYCLES)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe_memory::{ProbePage, ProbePageSize};

    /// Slices chosen by address bits 6 and 7, at positions along an axis; noise in cycles.
    struct EmulatedMemory {
        positions: [f64; 4],
        noise_cycles: f64,
        cpu: CpuId,
        random: Xoshiro256PlusPlus,
        pages: [ProbePage; 1],
    }

    impl ProbeMemory for EmulatedMemory {
        fn pages(&self) -> &[ProbePage] {
            &self.pages
        }

        fn move_to(&mut self, cpu: CpuId) -> Result<(), ProbeMemoryError> {
            self.cpu = cpu;
            Ok(())
        }

        fn load_and_flush(&mut self, _: u64, _: u32) {}

        fn load(&mut self, _: u64) {}

        fn load_cycles(&mut self, physical_address: u64) -> f64 {
            self.llc_load_cycles(physical_address)
        }

        fn llc_load_cycles(&mut self, physical_address: u64) -> f64 {
            let position = self.positions[(physical_address >> 6 & 3) as usize];
            let uniform = f64::from(self.random.next_u32()) / f64::from(u32::MAX) - 0.5;
            let hops = (position - f64::from(self.cpu.0)).abs();
            (40.0 + 2.0 * hops + 2.0 * self.noise_cycles * uniform).round()
        }
    }

    fn learn(positions: [f64; 4], noise_cycles: f64) -> Result<TimingOracle, ClassesError> {
        let pages = [ProbePage { start: 0, size: ProbePageSize::TwoMiB }];
        let random = Xoshiro256PlusPlus::seed_from_u64(5);
        let memory = EmulatedMemory { positions, noise_cycles, cpu: CpuId(0), random, pages };
        TimingOracle::learn(Box::new(memory), TimingPlan::new(&[0, 1, 2, 3].map(CpuId), 4))
    }

    #[test]
    fn lines_are_told_apart_by_how_far_they_are_from_each_core() {
        let mut oracle = learn([2.0, 0.0, 3.0, 1.0], 1.5).expect("four classes");
        // Named by their distance from the first processor.
        for (line, class) in [(0, 2), (1, 0), (2, 3), (3, 1)] {
            let answers = (0..100).map(|_| oracle.slice_of(line << 6 | 0x1000).expect("moves"));
            let wrong = answers.filter(|answer| *answer != Some(class)).count();
            assert!(wrong <= 5, "line {line}: {wrong} of 100");
        }
    }

    #[test]
    fn slices_that_look_alike_from_everywhere_are_not_enough() {
        let alike = learn([2.0, 0.0, 2.0, 1.0], 1.0).map(drop);
        assert!(matches!(alike, Err(ClassesError::Count { found: 3, wanted: 4, .. })), "{alike:?}");
    }

    #[test]
    fn too_much_noise_is_not_enough() {
        let noisy = learn([2.0, 0.0, 3.0, 1.0], 40.0).map(drop).expect_err("is too noisy");
        assert!(!matches!(noisy, ClassesError::Memory(_)), "{noisy}");
    }

    #[test]
    fn processors_are_spread_over_those_of_the_socket() {
        let cpus: Vec<CpuId> = (0..18).map(CpuId).collect();
        assert_eq!(
            TimingPlan::new(&cpus, 18).cpus,
            [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16].map(CpuId)
        );
        assert_eq!(TimingPlan::new(&[CpuId(5)], 18).cpus, [CpuId(5)]);
    }
}
