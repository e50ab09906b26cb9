//! The result of a run, as the interface for scripts.

mod replay;

pub use replay::{ReplayResult, ReplayedPhaseResult};

use crate::contract::limit::LimitKind;
use crate::contract::metric::Description;
pub use crate::contract::metric::Numbers;
use crate::facts::platform::FittedParameter;
use crate::scenario::{Scenario, Testbed};
use model::miss_kinds::{AccessCounts, MissKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The version of the format of results: a later one may have other keys.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// Result of a run. The same scenario, seed and version give the same bytes, except `wall_s` and values
/// derived from it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunResult {
    /// Version of the format of results: 1, or 0 where an earlier version left it out.
    pub schema_version: u32,
    /// The scenario with every default filled in.
    pub scenario: Scenario,
    /// Seed of all random choices.
    pub seed: u64,
    /// Version of Skipline.
    pub version: String,
    /// Name of the platform.
    pub platform: String,
    /// The slice function: a processor's own or a stand-in.
    pub slice_function: String,
    /// Total simulated time.
    pub simulated_ns: f64,
    /// Simulated time of the warm-up, which the metrics leave out.
    pub warmup_ns: f64,
    /// Total number of packets sent.
    pub packets: u64,
    /// Number of batches in the metrics.
    pub batches: usize,
    /// Why the run ended.
    pub stopped_by: StoppedBy,
    /// Whether the metrics cover a whole replay, or a time when queues had stopped filling and every
    /// entry of the receive rings had been used: otherwise they still depend on the start of the run.
    pub settled: bool,
    /// Wall-clock time of the simulation.
    pub wall_s: f64,
    /// Line operations: one line of one agent's request.
    pub line_ops: u64,
    /// Line operations per second of wall-clock time.
    pub line_ops_per_s: f64,
    /// Simulated seconds per second of wall-clock time.
    pub real_time_factor: f64,
    /// The testbed, with the settings that the scenario takes from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub testbed: Option<Testbed>,
    /// Parameters of platform and testbed that were chosen by fitting.
    pub fitted_parameters: Vec<FittedParameter>,
    /// Remarks on the input, and on tenants that have not settled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Of several tenants, those whose work still varied by more than run.throughput_interval_percent when
    /// the run ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsettled: Vec<String>,
    /// The answer: the outcome of the run and its causes, in words.
    pub answer: String,
    /// Resources that requests queue for, the busiest first; those without use are left out.
    pub limits: Vec<LimitResult>,
    /// Metrics by name.
    pub metrics: BTreeMap<String, MetricResult>,
    /// Logs of descriptors that tenants replay, phase by phase, engines beside cores.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replays: Vec<ReplayResult>,
    /// Some metrics batch by batch, where settings change during the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<TimelinePoint>,
    /// The trace of one packet, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<TraceEvent>>,
    /// Physical address of the traced packet's first line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_address: Option<u64>,
    /// The trace of one line of memory, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_trace: Option<Vec<TraceEvent>>,
    /// The story of one descriptor, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptor_trace: Option<DescriptorTrace>,
    /// Kinds of LLC misses by agent over the measured time, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miss_kinds: Option<BTreeMap<String, MissKindCounts>>,
    /// Kinds of misses of device writes by device, against a cache as large as the LLC ways in which devices may
    /// allocate, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_write_kinds: Option<BTreeMap<String, MissKindCounts>>,
    /// The timeline of the requested window, if it has come; a file of its own.
    #[serde(skip)]
    pub perfetto: Option<PerfettoTrace>,
}

/// The timeline of a window of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfettoTrace {
    /// The file.
    pub bytes: Vec<u8>,
    /// Number of line operations in it.
    pub operations: usize,
    /// Whether the window had more operations than are kept.
    pub is_cut: bool,
}

/// Measurements between the end of the previous point, or time zero, and this one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimelinePoint {
    /// Simulated time at the end of the point.
    pub until_ns: f64,
    /// Numbers by name, those of a metric with several as `METRIC.NAME`; null where nothing was counted.
    #[schemars(with = "BTreeMap<String, Option<f64>>")]
    pub metrics: BTreeMap<String, f64>,
}

/// Requests that reached a cache, classified by the outcome in a fully associative LRU cache of the
/// same size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MissKindCounts {
    /// Number of hits, anti-conflict hits included.
    pub hits: u64,
    /// Number of hits where the fully associative cache missed.
    pub anti_conflict_hits: u64,
    /// Number of misses of lines that were never requested before.
    pub compulsory: u64,
    /// Number of misses that the fully associative cache has too.
    pub capacity: u64,
    /// Number of misses where the fully associative cache hits: caused by sets, way masks or the
    /// replacement policy.
    pub conflict: u64,
    /// Number of misses of lines that a device write to memory had invalidated.
    pub invalidated: u64,
}

impl MissKindCounts {
    /// Converts the counts of a shadow cache, the fully associative one.
    #[must_use]
    pub(crate) fn from_shadow(counts: &AccessCounts) -> Self {
        Self {
            hits: counts.hits,
            anti_conflict_hits: counts.anti_conflict_hits,
            compulsory: counts.misses(MissKind::Compulsory),
            capacity: counts.misses(MissKind::Capacity),
            conflict: counts.misses(MissKind::Conflict),
            invalidated: counts.misses(MissKind::Invalidated),
        }
    }
}

/// A resource that requests queue for.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LimitResult {
    /// Kind of the resource.
    pub kind: LimitKind,
    /// The resource in words.
    pub resource: String,
    /// The tenant that the resource serves; absent if it serves all tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Time for which the resource was busy, in percent; of entries the share that was in use, of a core the
    /// time in which it neither polled empty queues nor waited for a send ring.
    pub utilisation_percent: f64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum StoppedBy {
    /// The intervals were narrow enough.
    #[serde(rename = "interval")]
    Interval,
    /// The highest number of batches was reached first.
    #[serde(rename = "cap")]
    Cap,
    /// Packets arrived and none left any more.
    #[serde(rename = "stalled")]
    Stalled,
    /// No packets arrived any more.
    #[serde(rename = "source ended")]
    SourceEnded,
}

/// A metric of a run, with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricResult {
    /// Value of the metric, or values by name; null where nothing was counted.
    pub value: Numbers,
    /// Half width of the 95 % interval; null if the run was too short for one.
    pub ci95: Intervals,
    /// Unit of value and interval.
    pub unit: &'static str,
    /// Group and label of the metric in tables.
    #[serde(flatten)]
    pub description: Description,
}

/// Half widths, in the shape of the numbers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Intervals {
    /// Half width of one number.
    One(Option<f64>),
    /// Half widths by name.
    Parts(BTreeMap<String, Option<f64>>),
}

/// The story of one descriptor of a copy engine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DescriptorTrace {
    /// Number of the descriptor, from 0, in the order in which cores prepared descriptors.
    pub descriptor: u64,
    /// Simulated time at which software began to fill the descriptor in.
    pub begun_ns: f64,
    /// The phases that the descriptor has passed, in order.
    pub phases: Vec<TracePhase>,
    /// Operations on its lines until software had read its completion, in time order.
    pub events: Vec<TraceEvent>,
    /// Further operations, for which the trace had no room.
    pub left_out: u64,
}

/// A phase that a descriptor has passed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TracePhase {
    /// Name of the phase.
    pub phase: String,
    /// Simulated time at the end of the phase.
    pub until_ns: f64,
    /// Time from the end of the phase before to the end of this one.
    pub took_ns: f64,
}

/// One operation on a line of the traced packet, line or descriptor.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TraceEvent {
    /// Simulated time of the event.
    pub time_ns: f64,
    /// Name of the agent that did the operation.
    pub agent: String,
    /// Name of the operation.
    pub operation: String,
    /// Line within the packet, or within its part of a descriptor, from 0.
    pub line: u64,
    /// Part of the descriptor: its own line, its list, a source, a destination, its completion record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Where the line was found, or where it went.
    pub found: String,
    /// The victim of the operation.
    pub evicted: Option<TraceEviction>,
}

/// A line that was evicted for a line of the traced packet.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TraceEviction {
    /// Address of the evicted line: the physical address divided by 64.
    pub address_line: u64,
    /// Name of the agent that wrote the content of the line.
    pub owner: String,
    /// "dirty" if the line was written back to DRAM, else "clean".
    pub state: String,
    /// Whether the line was read since its allocation.
    pub read: bool,
}
