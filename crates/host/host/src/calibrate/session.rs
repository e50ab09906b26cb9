//! Carries out a measurement: passes over all sizes in a random order, until the time is over.
//!
//! A disturbance of a core lasts for a while. Each pass visits every size, so that a disturbance affects
//! a few passes of all sizes and not all passes of a few.

use super::arena::{KernelArena, PagesObtained};
use super::cycle::{self, Cycle};
use super::kernels::{self, StreamKind};
use super::measurement::{
    Bandwidth, Chase, ChaseKernel, CoreToCore, Measurement, WorkingSetPages, lower_quartile,
    quantile,
};
use super::plan::CalibrationPlan;
use super::processor::Processor;
use super::{LINE_BYTES, PAGE_BYTES, chain};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::ops::ControlFlow;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use units::narrow::usize_from;

/// Number of samples of a size in a pass.
const SAMPLES: usize = 16;
/// Fewest steps of a sample: some ten microseconds, against which reading the clock is nothing.
const LEAST_STEPS: usize = 16_384;
/// Largest working set, in lines, of which each sample visits all lines.
const WHOLE_LINES: usize = 1 << 16;
/// Steps of a sample of a larger working set.
const PART_STEPS: usize = 8_192;
/// Least number of bytes that a stream moves in a sample.
const STREAM_BYTES: u64 = 2 << 20;
/// Number of samples of a stream in a pass.
const STREAM_SAMPLES: usize = 4;
/// Least ratio of the latency of a chase with a line per page to that of a dense one that indicates small
/// translations. Real second-level TLBs cost more than half of an L1D hit.
const TRANSLATION_MISSES: f64 = 1.25;
const HUGE_PAGE_BYTES: u64 = 2 << 20;
const MULTIPLICATIONS: u64 = 1 << 17;
const BURSTS: usize = 16;
const ROUND_TRIPS: u64 = 500;

/// Progress of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct CalibrationProgress<'m> {
    /// Number of complete passes.
    pub passes: u32,
    /// Share of the time that is over, 0 to 1.
    pub fraction: f64,
    /// Measurement of all complete passes, if one has just ended.
    pub complete: Option<&'m Measurement>,
}

/// Error of a measurement.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The system has no memory for the working sets.
    #[error("no memory for the working sets: {0}")]
    NoMemory(std::io::Error),
    /// The process cannot move to the CPU.
    #[error("the system does not let this process choose processor {cpu}: {reason}")]
    NotPinned {
        /// The CPU.
        cpu: u32,
        /// Error text of the system.
        reason: String,
    },
    /// Stopped before the first pass was complete.
    #[error("stopped before the first pass over all sizes was complete; nothing was kept")]
    Stopped,
}

/// Measures as `plan` says. `watch` gets the progress several times a second, and may end the
/// measurement: complete passes are kept.
///
/// # Errors
/// If memory is missing, the process cannot move to the CPU, or `watch` ends the measurement before the
/// first pass is complete.
pub fn measure(
    plan: &CalibrationPlan,
    processor: Processor,
    mut watch: impl FnMut(CalibrationProgress<'_>) -> ControlFlow<()>,
) -> Result<Measurement, MeasureError> {
    let before = rustix::thread::sched_getaffinity(None);
    pin(plan.cpu).map_err(|errno| MeasureError::NotPinned {
        cpu: plan.cpu,
        reason: std::io::Error::from(errno).to_string(),
    })?;
    let measured = Session::new(plan, processor).and_then(|mut session| {
        while session.has_time_left() {
            if session.pass(&mut watch).is_break() {
                break;
            }
        }
        let complete = session.measurement.passes > 0;
        complete.then_some(session.measurement).ok_or(MeasureError::Stopped)
    });
    if let Ok(before) = before {
        // The caller's thread goes back to where it could run; if not, it stays on one core.
        let _ = sched_setaffinity(None, &before);
    }
    measured
}

fn pin(cpu: u32) -> rustix::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set)
}

struct Session<'p> {
    plan: &'p CalibrationPlan,
    arena: KernelArena,
    started: Instant,
    rng: Xoshiro256PlusPlus,
    measurement: Measurement,
}

/// Values of one pass, in the order of the plan.
struct Pass {
    chase_ns: Vec<f64>,
    streams_gbytes_per_s: Vec<[f64; 3]>,
    core_to_core_ns: Vec<Vec<f64>>,
    core_ghz: f64,
}

impl<'p> Session<'p> {
    fn new(plan: &'p CalibrationPlan, processor: Processor) -> Result<Self, MeasureError> {
        let largest = usize_from(plan.sizes.iter().map(|size| size.0).max().unwrap_or(0));
        let bytes = chain::spread_bytes(largest).max(cycle::SPARSE_BYTES);
        let mut arena = KernelArena::new(bytes).map_err(MeasureError::NoMemory)?;
        let pages = pages(&mut arena, plan.seed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let measurement = Measurement {
            format: Measurement::FORMAT,
            measured_at_unix_s: now.as_secs(),
            duration_s: 0.0,
            passes: 0,
            processor,
            cpu: plan.cpu,
            core_ghz: Vec::new(),
            pages,
            kernel: ChaseKernel {
                line_bytes: LINE_BYTES as u64,
                pair_lines: chain::PAIR_LINES as u64,
                page_bytes: PAGE_BYTES as u64,
                window_pages: chain::WINDOW_PAGES as u64,
            },
            chase: empty_chases(plan),
            bandwidth: empty_streams(plan),
            core_to_core: Vec::new(),
        };
        let rng = Xoshiro256PlusPlus::seed_from_u64(plan.seed);
        Ok(Self { plan, arena, started: Instant::now(), rng, measurement })
    }

    fn has_time_left(&self) -> bool {
        self.measurement.passes == 0 || self.started.elapsed() < self.plan.time
    }

    /// Carries out one pass; its values are kept only if it is complete.
    fn pass(
        &mut self,
        watch: &mut impl FnMut(CalibrationProgress<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let plan = self.plan;
        let mut pass = Pass {
            chase_ns: vec![0.0; plan.sizes.len()],
            streams_gbytes_per_s: Vec::new(),
            core_to_core_ns: Vec::new(),
            core_ghz: 0.0,
        };
        for index in self.shuffled(plan.sizes.len()) {
            pass.chase_ns[index] = self.chase(plan.sizes[index].0);
            // The clock may rise when a core is alone: the best of many short looks is the clock.
            pass.core_ghz = pass.core_ghz.max(kernels::core_ghz(MULTIPLICATIONS));
            watch(self.progress(None))?;
        }
        for &bytes in &plan.stream_bytes {
            pass.streams_gbytes_per_s.push(self.streams(bytes));
            watch(self.progress(None))?;
        }
        for &partner in &plan.partners {
            let bursts = kernels::core_to_core_ns(BURSTS, ROUND_TRIPS, || pin(partner).is_ok());
            pass.core_to_core_ns.push(bursts);
        }
        self.keep(pass);
        watch(self.progress(Some(&self.measurement)))
    }

    fn progress<'m>(&self, complete: Option<&'m Measurement>) -> CalibrationProgress<'m> {
        let fraction =
            self.started.elapsed().as_secs_f64() / self.plan.time.as_secs_f64().max(1e-9);
        CalibrationProgress {
            passes: self.measurement.passes,
            fraction: fraction.min(1.0),
            complete,
        }
    }

    fn shuffled(&mut self, length: usize) -> Vec<usize> {
        let mut indices: Vec<usize> = (0..length).collect();
        for last in (1..length).rev() {
            let other = (u64::from(self.rng.next_u32()) * (last as u64 + 1)) >> 32;
            indices.swap(last, other as usize);
        }
        indices
    }

    /// Lower quartile of the samples of one working set. Each pass uses other pages, because which of
    /// them share a set of L2 is chance.
    fn chase(&mut self, working_set_bytes: u64) -> f64 {
        let bytes = usize_from(working_set_bytes);
        let lines = bytes / LINE_BYTES;
        let order = chain::order(lines, self.rng.next_u64());
        let spread = chain::spread_bytes(bytes);
        let random = usize_from(self.rng.next_u64());
        let words = self.arena.words();
        let starts = (size_of_val(words) - spread) / usize_from(HUGE_PAGE_BYTES) + 1;
        let begin = random % starts * usize_from(HUGE_PAGE_BYTES) / size_of::<u64>();
        let mut cycle = Cycle::through_lines(&mut words[begin..], &order);
        cycle.step_ns(lines.min(self.plan.settle_lines));
        let steps = if lines <= WHOLE_LINES {
            LEAST_STEPS.next_multiple_of(lines).max(lines)
        } else {
            PART_STEPS
        };
        let samples: Vec<f64> = (0..SAMPLES).map(|_| cycle.step_ns(steps)).collect();
        lower_quartile(&samples)
    }

    /// Bandwidth of read, write and copy: the best of a few samples, because every disturbance makes a
    /// stream slower.
    fn streams(&mut self, bytes: u64) -> [f64; 3] {
        let words = &mut self.arena.words()[..usize_from(bytes) / size_of::<u64>()];
        let rounds = usize_from(STREAM_BYTES.div_ceil(bytes));
        [StreamKind::Read, StreamKind::Write, StreamKind::Copy].map(|stream| {
            kernels::stream_gbytes_per_s(words, stream, 1);
            let samples: Vec<f64> = (0..STREAM_SAMPLES)
                .map(|_| kernels::stream_gbytes_per_s(words, stream, rounds))
                .collect();
            quantile(&samples, 1.0)
        })
    }

    fn keep(&mut self, pass: Pass) {
        let measurement = &mut self.measurement;
        for (chase, ns) in measurement.chase.iter_mut().zip(pass.chase_ns) {
            chase.latency_ns.push(rounded(ns));
        }
        for (stream, [read, write, copy]) in
            measurement.bandwidth.iter_mut().zip(pass.streams_gbytes_per_s)
        {
            stream.read_gbytes_per_s.push(rounded(read));
            stream.write_gbytes_per_s.push(rounded(write));
            stream.copy_gbytes_per_s.push(rounded(copy));
        }
        for (&partner, bursts) in self.plan.partners.iter().zip(pass.core_to_core_ns) {
            if bursts.is_empty() {
                continue;
            }
            let latency = rounded(lower_quartile(&bursts));
            let known = measurement.core_to_core.iter_mut().find(|pair| pair.to == partner);
            match known {
                Some(pair) => pair.latency_ns.push(latency),
                None => measurement.core_to_core.push(CoreToCore {
                    from: self.plan.cpu,
                    to: partner,
                    latency_ns: vec![latency],
                }),
            }
        }
        measurement.core_ghz.push(rounded(pass.core_ghz));
        measurement.passes += 1;
        measurement.duration_s = rounded(self.started.elapsed().as_secs_f64());
    }
}

/// Rounds to thousandths: more digits would only look exact.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn empty_chases(plan: &CalibrationPlan) -> Vec<Chase> {
    let empty = |&(working_set_bytes, role): &(u64, _)| Chase {
        working_set_bytes,
        role,
        latency_ns: Vec::new(),
    };
    plan.sizes.iter().map(empty).collect()
}

fn empty_streams(plan: &CalibrationPlan) -> Vec<Bandwidth> {
    let empty = |&array_bytes: &u64| Bandwidth {
        array_bytes,
        read_gbytes_per_s: Vec::new(),
        write_gbytes_per_s: Vec::new(),
        copy_gbytes_per_s: Vec::new(),
    };
    plan.stream_bytes.iter().map(empty).collect()
}

/// Measures whether translations are as large as the pages that the system reports.
fn pages(arena: &mut KernelArena, seed: u64) -> WorkingSetPages {
    let obtained = arena.pages_obtained();
    let lowest = |mut cycle: Cycle<'_>| {
        cycle.step_ns(LEAST_STEPS);
        let samples = (0..4 * SAMPLES).map(|_| cycle.step_ns(LEAST_STEPS));
        samples.fold(f64::INFINITY, f64::min)
    };
    let order = chain::order(PAGE_BYTES / LINE_BYTES, seed);
    let dense_ns = lowest(Cycle::through_lines(arena.words(), &order));
    let sparse_ns = lowest(cycle::through_pages(arena.words(), seed));
    let small = obtained == PagesObtained::Small || sparse_ns > TRANSLATION_MISSES * dense_ns;
    let translation_bytes = if small { PAGE_BYTES as u64 } else { HUGE_PAGE_BYTES };
    WorkingSetPages {
        obtained,
        dense_ns: rounded(dense_ns),
        sparse_ns: rounded(sparse_ns),
        translation_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;
    use crate::calibrate::measurement::SizeRole;
    use std::time::Duration;

    fn short_plan() -> CalibrationPlan {
        let sizes = vec![(1024, SizeRole::Fit), (4096, SizeRole::Kept), (65_536, SizeRole::Fit)];
        let time = Duration::ZERO;
        let cpu = CalibrationPlan::new(&Root::real().unwrap(), &processor(), None, time);
        let cpu = cpu.map_or(0, |plan| plan.cpu);
        let stream_bytes = vec![16 << 10];
        CalibrationPlan {
            cpu,
            partners: vec![],
            sizes,
            stream_bytes,
            settle_lines: 1024,
            time,
            seed: 1,
        }
    }

    fn processor() -> Processor {
        Processor::read(&Root::real().unwrap()).unwrap()
    }

    #[test]
    fn a_short_run_measures_every_size_and_stays_readable() {
        let measured = measure(&short_plan(), processor(), |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((measured.passes, measured.chase.len()), (1, 3));
        let again = Measurement::read("it", &measured.to_json()).unwrap();
        assert_eq!(again, measured);
        assert_eq!(again.latencies(SizeRole::Kept).len(), 1);
    }

    #[test]
    fn a_pass_that_is_interrupted_leaves_nothing() {
        let mut calls = 0;
        let stopped = measure(&short_plan(), processor(), |_| {
            calls += 1;
            if calls == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(stopped, Err(MeasureError::Stopped)));
    }

    #[test]
    fn an_interruption_after_a_pass_keeps_the_pass() {
        let plan = CalibrationPlan { time: Duration::from_secs(3_600), ..short_plan() };
        let measured = measure(&plan, processor(), |progress| {
            if progress.passes == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(measured.unwrap().passes, 1);
    }
}
