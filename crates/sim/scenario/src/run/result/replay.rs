//! A replayed log, phase by phase: engines beside cores that do the same themselves.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A log that a tenant replays.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReplayResult {
    /// Name of the tenant.
    pub tenant: String,
    /// Clock of the tenant's cores.
    pub core_ghz: f64,
    /// The phases of the log: the submissions between two long pauses.
    pub phases: Vec<ReplayedPhaseResult>,
    /// Results of all phases together.
    pub total: ReplayedPhaseResult,
    /// Remarks on the numbers of this log.
    pub notes: Vec<String>,
}

/// A phase of a log, or all of it. The times of a mover that was not run are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ReplayedPhaseResult {
    /// The smallest size in bytes of the submissions, which go up to twice that, if sizes divide the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_bytes: Option<u64>,
    /// Time of the phase's first submission, from the log's start.
    pub from_ns: f64,
    /// Time of the phase's last submission, from the log's start.
    pub until_ns: f64,
    /// Number of descriptors; a batch counts as its members.
    pub descriptors: u64,
    /// Sum of the transfer sizes of the descriptors.
    pub bytes: u64,
    /// Number of descriptors by operation.
    pub operations: BTreeMap<String, u64>,
    /// Time in which engines have at least one of them under way, from the first cycle of preparation until
    /// the core has read the record; summed over cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engines_ns: Option<f64>,
    /// Time of cores preparing and submitting them and reading their records, a part of that of engines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offloading_ns: Option<f64>,
    /// Time of cores that do the same operations themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_ns: Option<f64>,
    /// The time of cores by that of engines; null if engines need none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_by_engines: Option<f64>,
    /// Cycles of cores that engines free, if the program has other work until its offloads end: those of the
    /// operations, less those of preparing, submitting and reading records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freed_cycles: Option<f64>,
    /// Number of descriptors that the model has no time of a core for.
    pub without_core_cost: u64,
}

impl ReplayResult {
    /// Adds the times of cores from a run of the same log without engines.
    pub(crate) fn compare(&mut self, by_cores: &Self) {
        for (phase, other) in self.phases.iter_mut().zip(&by_cores.phases) {
            phase.compare(other.core_ns, self.core_ghz);
        }
        self.total.compare(by_cores.total.core_ns, self.core_ghz);
    }
}

impl ReplayedPhaseResult {
    fn compare(&mut self, core_ns: Option<f64>, core_ghz: f64) {
        self.core_ns = core_ns;
        let (Some(core), Some(engines)) = (core_ns, self.engines_ns) else { return };
        self.core_by_engines = (engines > 0.0).then(|| core / engines);
        self.freed_cycles = self.offloading_ns.map(|offloading| (core - offloading) * core_ghz);
    }
}
