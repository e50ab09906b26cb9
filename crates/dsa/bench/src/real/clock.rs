//! The time of a thread, by phase.

use crate::results::PHASES;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The times of a thread by phase, and the latencies of its descriptors.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// Whether each phase is timed: each reading of the clock costs some nanoseconds. Waiting is always
    /// timed.
    pub has_phases: bool,
    phases: [Duration; PHASES.len()],
    /// Latencies of descriptors, in nanoseconds.
    latencies: Vec<u64>,
}

/// Index in [`PHASES`]: allocation of a descriptor.
pub const ALLOCATE: usize = 0;
/// Index in [`PHASES`]: filling in a descriptor.
pub const PREPARE: usize = 2;
/// Index in [`PHASES`]: from the instruction until the queue has taken the descriptor.
pub const SUBMIT: usize = 4;
/// Index in [`PHASES`]: waiting for the completion of a descriptor.
pub const WAIT: usize = 5;
/// Index in [`PHASES`]: the operation, done by the CPU itself.
pub const WORK: usize = 6;

/// The time stamp counter of this CPU, whose rate does not change.
pub fn clock_cycles() -> u64 {
    // SAFETY: RDTSC has no operand, and Linux lets programs execute it.
    #[allow(unsafe_code)]
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
}

impl Clock {
    /// A clock without times. With `has_phases` it times all phases, else waiting alone.
    pub fn new(has_phases: bool) -> Self {
        Self { has_phases, ..Self::default() }
    }

    /// The present time, if phases are timed.
    pub fn now(&self) -> Option<Instant> {
        self.has_phases.then(Instant::now)
    }

    /// Adds the time from `from` until now to a phase.
    pub fn end_phase(&mut self, phase: usize, from: Option<Instant>) {
        if let Some(from) = from {
            self.phases[phase] += from.elapsed();
        }
    }

    /// Adds a time of waiting.
    pub fn add_wait(&mut self, time: Duration) {
        self.phases[WAIT] += time;
    }

    /// Notes the latency of a descriptor that was begun at `since` and ends now.
    pub fn note_latency(&mut self, since: Option<Instant>) {
        if let Some(since) = since {
            self.latencies.push(u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// The time of waiting, of all descriptors together.
    pub fn waiting_time(&self) -> Duration {
        self.phases[WAIT]
    }

    /// Adds the times and latencies of another thread.
    pub fn merge(&mut self, other: &Self) {
        for (own, other) in self.phases.iter_mut().zip(&other.phases) {
            *own += *other;
        }
        self.latencies.extend(&other.latencies);
    }

    /// Nanoseconds of a thread for an operation, by phase; empty without timed phases.
    pub fn per_operation(&self, operations: u64) -> BTreeMap<String, f64> {
        if !self.has_phases {
            return BTreeMap::new();
        }
        let ns = |time: &Duration| time.as_secs_f64() * 1e9 / operations as f64;
        let named = PHASES.iter().zip(&self.phases);
        named.map(|(name, time)| ((*name).to_owned(), ns(time))).collect()
    }

    /// The latency in nanoseconds that a share of descriptors does not exceed; `None`: none was noted.
    pub fn percentile(&mut self, share: f64) -> Option<f64> {
        self.latencies.sort_unstable();
        let last = self.latencies.len().checked_sub(1)?;
        // An index of the list: it fits.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let at = (last as f64 * share).round() as usize;
        Some(self.latencies[at] as f64)
    }
}
