//! Results of a target at a point: throughput, load of the CPU, latencies, phases.

use crate::point::BenchPoint;
use crate::target::BenchTarget;
use std::collections::BTreeMap;

/// The phases of an operation, in its order; the time of a thread is divided among them.
pub const PHASES: [&str; 7] = ["allocate", "touch", "prepare", "lock", "submit", "wait", "work"];

/// Name of a further number: descriptors of a thread in flight.
pub const DEPTH: &str = "descriptors_in_flight";
/// Name of a further number: the clock by which cycles are counted, in cycles a nanosecond: that of this
/// machine's time stamp counter, or of a simulated core.
pub const CLOCK_GHZ: &str = "clock_ghz";

/// The result of one target at one point.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct BenchResult {
    /// Sum of the transfer sizes of all operations over time, in 10^9 bytes a second.
    pub gbytes_per_s: f64,
    /// Thousands of operations a second: members of batches one by one.
    pub kops_per_s: f64,
    /// The share of its time in which a thread does not wait for a descriptor, 0 to 100.
    pub cpu_percent: f64,
    /// Median time from the preparation of a descriptor until the thread sees its completion.
    pub latency_p50_ns: Option<f64>,
    /// The 99th percentile of the time from the preparation of a descriptor until the thread sees
    /// its completion.
    pub latency_p99_ns: Option<f64>,
    /// Time of a thread for an operation, by phase ([`PHASES`]); empty: the target does not measure phases.
    pub phases_ns: BTreeMap<String, f64>,
    /// Further numbers of the target, with the unit in their names.
    pub further: BTreeMap<String, f64>,
    /// Number of operations that were carried out.
    pub operations: u64,
    /// Fitted parameters of a simulated machine, with the data that each was fitted on.
    pub fitted: BTreeMap<String, String>,
}

impl BenchResult {
    /// The line that dsa-perf-micros prints. With one descriptor in flight on an engine it ends with the
    /// latency: the time of a thread for a descriptor, in cycles of [`CLOCK_GHZ`].
    #[must_use]
    pub fn line(&self, point: &BenchPoint) -> String {
        let mut line = format!(
            "GB per sec = {:.6} cpu {:.2} kopsrate = {:.0}",
            self.gbytes_per_s, self.cpu_percent, self.kops_per_s
        );
        let is_alone = self.further.get(DEPTH).is_some_and(|&depth| depth <= 1.0);
        if let Some(clock_ghz) = self.further.get(CLOCK_GHZ).filter(|_| is_alone) {
            let operations = f64::from(point.threads) * f64::from(point.batch);
            let cycles = operations * 1e6 / self.kops_per_s * clock_ghz;
            line += &format!(" latency(cycles) = {cycles:.0}");
        }
        line
    }

    /// The phases with time and share, in the order of an operation; empty: the target does not measure them.
    #[must_use]
    pub fn phases_line(&self) -> String {
        let total: f64 = self.phases_ns.values().sum();
        let known = PHASES.iter().filter_map(|phase| Some((phase, *self.phases_ns.get(*phase)?)));
        let used = known.filter(|(_, ns)| *ns > 0.0);
        let each: Vec<String> = used
            .map(|(phase, ns)| format!("{phase} {ns:.0} ns ({:.0} %)", 100.0 * ns / total))
            .collect();
        each.join(", ")
    }
}

/// The results of all targets at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct PointResults {
    /// The conditions of the measurement.
    pub point: BenchPoint,
    /// One result for each target, in the order of targets.
    pub answers: Vec<BenchResult>,
}

/// The results of all targets at all points.
#[derive(Clone, Debug)]
pub struct BenchResults {
    /// The targets; with `-m` the CPUs in place of devices and engines.
    pub targets: Vec<BenchTarget>,
    /// The results, in the order of [`crate::BenchOptions::points`].
    pub points: Vec<PointResults>,
}
