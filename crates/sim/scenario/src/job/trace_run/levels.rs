//! Results of a replay: the counts of each level.

use crate::run::result::MissKindCounts;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use units::ReferenceKind;
use workload::trace::{ServedBy, Shadows, Tally};

/// Counts of a trace at the levels of a machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TraceResult {
    /// The trace.
    pub trace: String,
    /// Format of the trace.
    pub format: String,
    /// The machine.
    pub machine: String,
    /// Version of Skipline.
    pub version: String,
    /// Requested lines; a reference across a line border requests two.
    pub accesses: u64,
    /// Number of references that were replayed.
    pub references: u64,
    /// Number of instruction fetches that were skipped, because the machine has no L1I.
    pub fetches_left_out: u64,
    /// The levels, from the core on.
    pub levels: Vec<LevelResult>,
    /// Number of lines read from memory.
    pub memory_lines_read: u64,
    /// Number of lines written to memory.
    pub memory_lines_written: u64,
    /// Line operations: one line of one reference.
    pub line_ops: u64,
    /// Wall-clock time of the replay.
    pub wall_s: f64,
    /// Line operations per second of wall-clock time.
    pub line_ops_per_s: f64,
    /// Simulated time, each reference waiting for the one before it, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated_ns: Option<f64>,
    /// Simulated seconds per second of wall-clock time, if time was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_time_factor: Option<f64>,
}

/// Hits and misses of one cache level.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LevelResult {
    /// L1I, L1, L2 or L3.
    pub name: String,
    /// Number of requests for lines, by references or for victims from above, that hit.
    pub hits: u64,
    /// Number of requests for lines, by references or for victims from above, that missed.
    pub misses: u64,
    /// Number of modified lines that it wrote back.
    pub writebacks: u64,
    /// Hits and misses by references: one across a line border misses once if any of its lines misses.
    pub references: BTreeMap<String, HitsAndMisses>,
    /// Kinds of misses of references' lines, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miss_kinds: Option<MissKindCounts>,
}

/// References of one kind that reached a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HitsAndMisses {
    /// Number of references that hit there.
    pub hits: u64,
    /// Number of references that missed there.
    pub misses: u64,
}

/// Counts of each level, from the core on.
pub(super) fn levels(tally: &Tally, has_l1i: bool, shadows: Option<&Shadows>) -> Vec<LevelResult> {
    let (fetches, data) = KINDS.split_at(1);
    let places =
        [("L1", ServedBy::L1, data), ("L2", ServedBy::L2, &KINDS), ("L3", ServedBy::Llc, &KINDS)];
    let l1i = has_l1i.then(|| level(tally, "L1I", ServedBy::L1, fetches));
    let others = places.into_iter().enumerate().map(|(number, (name, at, kinds))| {
        let found = level(tally, name, at, kinds);
        LevelResult {
            hits: found.hits + tally.victim_hits[number],
            misses: found.misses + tally.victim_misses[number],
            writebacks: tally.writebacks[number],
            miss_kinds: shadows.map(|shadows| MissKindCounts::from_shadow(shadows.counts(number))),
            ..found
        }
    });
    l1i.into_iter().chain(others).collect()
}

const KINDS: [ReferenceKind; 3] = [ReferenceKind::Fetch, ReferenceKind::Load, ReferenceKind::Store];
const PLACES: [ServedBy; 4] = [ServedBy::L1, ServedBy::L2, ServedBy::Llc, ServedBy::Memory];

pub(super) fn total(of: impl Fn(ReferenceKind, ServedBy) -> u64) -> u64 {
    KINDS.iter().flat_map(|&kind| PLACES.map(|by| of(kind, by))).sum()
}

/// Hits and misses of references of `kinds` at a level, without victims and write-backs.
fn level(tally: &Tally, name: &str, at: ServedBy, kinds: &[ReferenceKind]) -> LevelResult {
    let counts = &tally.counts;
    let found = |of: &dyn Fn(ServedBy) -> u64| HitsAndMisses {
        hits: of(at),
        misses: PLACES.iter().filter(|&&by| by > at).map(|&by| of(by)).sum(),
    };
    let lines = kinds.iter().map(|&kind| found(&|by| counts.lines(kind, by)));
    let (hits, misses) =
        lines.fold((0, 0), |sum, found| (sum.0 + found.hits, sum.1 + found.misses));
    let name_of = |kind: ReferenceKind| match kind {
        ReferenceKind::Fetch => "fetch",
        ReferenceKind::Load | ReferenceKind::Modify => "load",
        ReferenceKind::Store => "store",
    };
    let references = kinds
        .iter()
        .map(|&kind| (name_of(kind).into(), found(&|by| counts.references(kind, by))))
        .collect();
    LevelResult { name: name.into(), hits, misses, writebacks: 0, references, miss_kinds: None }
}
