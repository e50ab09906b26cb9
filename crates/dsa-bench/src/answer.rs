//! Answers: what a target has to say about a point.

use crate::point::Point;
use crate::target::Target;
use std::collections::BTreeMap;

/// Where the time of a thread goes, in the order of an operation.
pub const PHASES: [&str; 7] = ["allocate", "touch", "prepare", "lock", "submit", "wait", "work"];

/// What came out.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Answer {
    /// Transfer sizes of all operations, over time.
    pub gbytes_per_s: f64,
    /// Thousands of operations a second: members of batches one by one.
    pub kops_per_s: f64,
    /// The part of its time that a thread does not wait.
    pub cpu_percent: f64,
    /// Median from the preparation of a descriptor until its end is seen.
    pub latency_p50_ns: Option<f64>,
    /// The 99th percentile of it.
    pub latency_p99_ns: Option<f64>,
    /// Time of a thread for an operation, by phase, if it is known.
    pub phases_ns: BTreeMap<String, f64>,
    /// Other numbers of the target, with unit in their names.
    pub further: BTreeMap<String, f64>,
    /// Operations that were done.
    pub operations: u64,
    /// Parameters of a simulated machine that were fitted, and on what.
    pub fitted: BTreeMap<String, String>,
}

impl Answer {
    /// The line of dsa-perf-micros.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "GB per sec = {:.6} cpu {:.2} kopsrate = {:.0}",
            self.gbytes_per_s, self.cpu_percent, self.kops_per_s
        )
    }

    /// The phases, in the order of an operation; empty: the target does not know them.
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

/// The answers of all targets to a point, in the order of targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// The conditions.
    pub point: Point,
    /// One for each target.
    pub answers: Vec<Answer>,
}

/// The answers of all targets to all points.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The targets: with `-m`, CPUs.
    pub targets: Vec<Target>,
    /// The answers in the order of points.
    pub points: Vec<Answers>,
}
