//! The measurements of threads, and the result that they make together.

use super::clock::Clock;
use crate::point::BenchPoint;
use crate::results::{BenchResult, CLOCK_GHZ, DEPTH};
use std::collections::BTreeMap;
use std::time::Duration;

/// The measurements of one thread.
#[derive(Default)]
pub struct ThreadCounts {
    /// Times by phase, and latencies.
    pub clock: Clock,
    /// Time of the rounds that count.
    pub time: Duration,
    /// Operations of these rounds.
    pub operations: u64,
    /// Submissions that the queue has refused.
    pub retries: u64,
    /// Descriptors in flight; 0: the CPU does the operations.
    pub depth: u32,
}

/// The result of all threads of a measurement. `clock_ghz` is the rate of the time stamp counter.
pub fn merge_counts(point: &BenchPoint, counts: &[ThreadCounts], clock_ghz: f64) -> BenchResult {
    let rate = |count: &ThreadCounts| count.operations as f64 / count.time.as_secs_f64();
    let operations: u64 = counts.iter().map(|count| count.operations).sum();
    let per_s: f64 = counts.iter().map(rate).sum();
    let mut clock = Clock::new(counts.iter().any(|count| count.clock.has_phases));
    counts.iter().for_each(|count| clock.merge(&count.clock));
    let time: f64 = counts.iter().map(|count| count.time.as_secs_f64()).sum();
    let waiting = clock.waiting_time().as_secs_f64();
    let retries: u64 = counts.iter().map(|count| count.retries).sum();
    let depth = counts.iter().map(|count| count.depth).max().unwrap_or(0);
    let mut further: BTreeMap<String, f64> = BTreeMap::new();
    further.insert("retries_per_operation".into(), retries as f64 / operations as f64);
    further.insert(CLOCK_GHZ.into(), clock_ghz);
    if depth > 0 {
        further.insert(DEPTH.into(), depth.into());
    }
    BenchResult {
        gbytes_per_s: per_s * point.size_bytes as f64 / 1e9,
        kops_per_s: per_s / 1e3,
        cpu_percent: 100.0 * (1.0 - waiting / time).clamp(0.0, 1.0),
        latency_p50_ns: clock.percentile(0.5),
        latency_p99_ns: clock.percentile(0.99),
        phases_ns: clock.per_operation(operations),
        further,
        operations,
        fitted: BTreeMap::new(),
    }
}
