//! Where the time of a thread goes.

use crate::answer::PHASES;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Times of a thread.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// Whether each phase is timed: each look at the time costs some nanoseconds.
    pub has_phases: bool,
    phases: [Duration; PHASES.len()],
    /// Latencies of descriptors, in nanoseconds.
    latencies: Vec<u64>,
}

/// The phases by their numbers.
pub const ALLOCATE: usize = 0;
/// Filling in.
pub const PREPARE: usize = 2;
/// From the instruction on until the queue has taken the descriptor.
pub const SUBMIT: usize = 4;
/// For its end.
pub const WAIT: usize = 5;
/// The CPU's own work.
pub const WORK: usize = 6;

impl Clock {
    /// A clock that tells phases apart, or waiting from all else.
    pub fn new(has_phases: bool) -> Self {
        Self { has_phases, ..Self::default() }
    }

    /// The time, if phases are timed.
    pub fn now(&self) -> Option<Instant> {
        self.has_phases.then(Instant::now)
    }

    /// A phase that began at `from` ends now.
    pub fn end(&mut self, phase: usize, from: Option<Instant>) {
        if let Some(from) = from {
            self.phases[phase] += from.elapsed();
        }
    }

    /// A wait has ended.
    pub fn waited(&mut self, time: Duration) {
        self.phases[WAIT] += time;
    }

    /// A descriptor has ended.
    pub fn latency(&mut self, since: Option<Instant>) {
        if let Some(since) = since {
            self.latencies.push(u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// Time of waiting.
    pub fn waiting(&self) -> Duration {
        self.phases[WAIT]
    }

    /// The times of another thread as well.
    pub fn add(&mut self, other: &Self) {
        for (own, other) in self.phases.iter_mut().zip(&other.phases) {
            *own += *other;
        }
        self.latencies.extend(&other.latencies);
    }

    /// Nanoseconds of a thread for an operation, by phase.
    pub fn per_operation(&self, operations: u64) -> BTreeMap<String, f64> {
        if !self.has_phases {
            return BTreeMap::new();
        }
        let ns = |time: &Duration| time.as_secs_f64() * 1e9 / operations as f64;
        let named = PHASES.iter().zip(&self.phases);
        named.map(|(name, time)| ((*name).to_owned(), ns(time))).collect()
    }

    /// The latency that a share of descriptors does not exceed.
    pub fn percentile(&mut self, share: f64) -> Option<f64> {
        self.latencies.sort_unstable();
        let last = self.latencies.len().checked_sub(1)?;
        // An index of the list: it fits.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let at = (last as f64 * share).round() as usize;
        Some(self.latencies[at] as f64)
    }
}
