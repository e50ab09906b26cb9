//! Plan of a measurement: the working sets, and which of them may choose parameters.

use super::measurement::SizeRole;
use super::processor::{Processor, available_bytes};
use super::{LINE_BYTES, chain};
use crate::Root;
use std::time::Duration;
use units::narrow::{fit, usize_from, whole};

/// Smallest working set.
const SMALLEST_BYTES: u64 = 1 << 10;
/// Sizes per doubling.
const SIZES_PER_OCTAVE: u32 = 4;
/// Largest working set, as a multiple of the reported last-level cache: well in memory.
const BEYOND_LLC: u64 = 8;
/// Last-level cache that is assumed where none is reported.
const UNREPORTED_LLC_BYTES: u64 = 32 << 20;
/// Share of the free memory that is used.
const MEMORY_SHARE: u64 = 4;

/// Plan of a measurement: cores, sizes and time.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibrationPlan {
    /// Logical CPU on which the kernels run.
    pub cpu: u32,
    /// Logical CPUs with which `cpu` exchanges a line.
    pub partners: Vec<u32>,
    /// Working sets of the chase in bytes, ascending, with their roles.
    pub sizes: Vec<(u64, SizeRole)>,
    /// Sizes of the streams in bytes, ascending.
    pub stream_bytes: Vec<u64>,
    /// Number of accesses after which a chase is in a steady state.
    pub settle_lines: usize,
    /// Time to measure: the measurement ends after the pass in which it is over.
    pub time: Duration,
    /// Seed of the random orders.
    pub seed: u64,
}

/// Error of planning a measurement.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CalibrationPlanError {
    /// The requested CPU does not exist or is not allowed.
    #[error("--cpu {cpu}: not a processor that this process may use; there are {allowed:?}")]
    NoSuchCpu {
        /// Requested CPU.
        cpu: u32,
        /// CPUs that this process may use.
        allowed: Vec<u32>,
    },
    /// Too little memory.
    #[error(
        "{available_mib} MiB of memory are free; the working sets need {needed_mib} MiB: end \
         programs that hold memory"
    )]
    TooLittleMemory {
        /// Free memory in MiB.
        available_mib: u64,
        /// Least memory in MiB.
        needed_mib: u64,
    },
}

impl CalibrationPlan {
    /// Plans a measurement of this host on `cpu`; by default on the last CPU that this process may use.
    ///
    /// # Errors
    /// If the process may not use the CPU, or too little memory is free.
    pub fn new(
        root: &Root,
        processor: &Processor,
        cpu: Option<u32>,
        time: Duration,
    ) -> Result<Self, CalibrationPlanError> {
        let allowed = allowed_cpus();
        let last = allowed.last().copied().unwrap_or(0);
        let cpu = match cpu {
            Some(cpu) if !allowed.contains(&cpu) => {
                return Err(CalibrationPlanError::NoSuchCpu { cpu, allowed });
            }
            cpu => cpu.unwrap_or(last),
        };
        let llc = processor.caches.last().map_or(UNREPORTED_LLC_BYTES, |cache| cache.size_bytes);
        let spread = chain::PAIR_LINES as u64;
        let usable_bytes =
            available_bytes(root).map_or(u64::MAX, |bytes| bytes / MEMORY_SHARE / spread);
        // Less than two octaves beyond the last cache do not show memory.
        if usable_bytes < 4 * llc {
            return Err(CalibrationPlanError::TooLittleMemory {
                available_mib: (usable_bytes * MEMORY_SHARE * spread) >> 20,
                needed_mib: (4 * llc * MEMORY_SHARE * spread) >> 20,
            });
        }
        let partners = allowed.into_iter().filter(|&other| other != cpu).take(8).collect();
        let largest = usable_bytes.min(BEYOND_LLC * llc);
        Ok(Self {
            cpu,
            partners,
            sizes: sizes(largest),
            stream_bytes: stream_sizes(largest),
            settle_lines: usize_from(2 * llc) / LINE_BYTES,
            time,
            seed: 1,
        })
    }
}

/// Logical CPUs that this process may use.
fn allowed_cpus() -> Vec<u32> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return vec![0] };
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(fit).collect()
}

/// Working sets of whole lines, four for each doubling; every other one is kept to judge the fit. Below
/// 16 lines neighbouring sizes would be equal.
fn sizes(largest_bytes: u64) -> Vec<(u64, SizeRole)> {
    let octaves = (largest_bytes / SMALLEST_BYTES).max(1).ilog2();
    (0..=octaves * SIZES_PER_OCTAVE)
        .map(|step| {
            let exact = SMALLEST_BYTES as f64 * (f64::from(step) / 4.0).exp2();
            let lines = whole((exact / LINE_BYTES as f64).round());
            let role = if step % 2 == 0 { SizeRole::Fit } else { SizeRole::Kept };
            (lines * LINE_BYTES as u64, role)
        })
        .collect()
}

/// Sizes of streams: every second doubling from 16 KiB.
fn stream_sizes(largest_bytes: u64) -> Vec<u64> {
    (7..32)
        .map(|octave| 1_u64 << (2 * octave))
        .take_while(|&bytes| bytes <= largest_bytes)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_size_is_kept_and_all_differ() {
        let sizes = sizes(1 << 20);
        assert_eq!(sizes.len(), 41);
        assert_eq!(
            sizes[..3],
            [(1024, SizeRole::Fit), (1216, SizeRole::Kept), (1472, SizeRole::Fit)]
        );
        assert_eq!(sizes[40], (1 << 20, SizeRole::Fit));
        assert!(sizes.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 != two[1].1));
    }

    #[test]
    fn streams_take_every_second_doubling() {
        assert_eq!(stream_sizes(1 << 20), [16 << 10, 64 << 10, 256 << 10, 1 << 20]);
    }

    #[test]
    fn a_core_that_is_not_there_is_refused_by_its_number() {
        let root = Root::real().unwrap();
        let processor = Processor::read(&root).unwrap();
        let refused = CalibrationPlan::new(&root, &processor, Some(1_000), Duration::ZERO);
        assert!(matches!(refused, Err(CalibrationPlanError::NoSuchCpu { cpu: 1_000, .. })));
    }
}
