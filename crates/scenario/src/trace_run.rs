//! Replaying a trace: from a file and a machine to hits, misses and write-backs per level.

use crate::assemble::hardware::{Hardware, Nodes};
use crate::builtin;
use crate::check::Check;
use crate::error::InputError;
use crate::platform::{Platform, PrivateLevel};
use crate::result::MissKindCounts;
use crate::run::Stopped;
use model::fabric::Fabric;
use model::tracer::NoTrace;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use units::{Gigahertz, WayMask};
use workload::trace::{
    BLOCK_REFERENCES, ReferenceKind, Replay, ServedBy, Shadows, TraceError, TraceFormat,
    TraceReader,
};

/// A trace and the machine that it is to run through.
pub struct TraceJob {
    platform: Platform,
    machine: String,
    trace: String,
    reader: TraceReader,
    explain: bool,
    seed: u64,
}

/// How far a replay is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceProgress {
    /// References so far.
    pub references: u64,
    /// Share of the file that has been read; none where its size is not known.
    pub fraction: Option<f64>,
}

/// What a trace did to the levels of a machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TraceResult {
    /// The trace.
    pub trace: String,
    /// Its format.
    pub format: String,
    /// The machine.
    pub machine: String,
    /// Version of Skipline.
    pub version: String,
    /// Lines that were asked for; a reference that straddles a border asks for two.
    pub accesses: u64,
    /// References that were replayed.
    pub references: u64,
    /// Instruction fetches that were left out, because the machine has no L1I.
    pub fetches_left_out: u64,
    /// The levels, from the core on.
    pub levels: Vec<LevelResult>,
    /// Lines read from memory.
    pub memory_lines_read: u64,
    /// Lines written to memory.
    pub memory_lines_written: u64,
    /// Line operations: one line of one reference.
    pub line_ops: u64,
    /// Wall-clock time of the replay.
    pub wall_s: f64,
    /// Line operations per second of wall-clock time.
    pub line_ops_per_s: f64,
    /// Simulated time, each reference waiting for the one before it.
    pub simulated_ns: f64,
}

/// One level.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LevelResult {
    /// L1I, L1, L2 or L3.
    pub name: String,
    /// Lines asked for, by references or for victims from above, that it held.
    pub hits: u64,
    /// Lines asked for, by references or for victims from above, that it did not hold.
    pub misses: u64,
    /// Modified lines that left it.
    pub writebacks: u64,
    /// The same by references: one that straddles a border misses once if any of its lines misses.
    pub references: BTreeMap<String, HitsAndMisses>,
    /// Kinds of misses of lines that references asked for, if they were wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miss_kinds: Option<MissKindCounts>,
}

/// References of one kind that reached a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HitsAndMisses {
    /// Found there.
    pub hits: u64,
    /// Found beyond.
    pub misses: u64,
}

/// Blocks between two calls of the watcher.
const WATCH_EVERY_BLOCKS: u64 = 64;

impl TraceJob {
    /// Opens the trace and reads the machine.
    ///
    /// # Errors
    /// If anything about the input is wrong.
    pub fn new(
        trace: &str,
        machine: &str,
        format: Option<&str>,
        explain: bool,
        seed: u64,
    ) -> Result<Self, InputError> {
        let format = format.map(format_named).transpose()?;
        let platform = builtin::platform("--machine", machine)?;
        let reader = TraceReader::open(trace, format)?;
        let (machine, trace) = (machine.into(), trace.into());
        Ok(Self { platform, machine, trace, reader, explain, seed })
    }

    /// Replays the whole trace. `watch` is told how far it is, and may stop it.
    ///
    /// # Errors
    /// If the trace is damaged, or `watch` stopped the replay.
    pub fn run(
        mut self,
        mut watch: impl FnMut(TraceProgress) -> ControlFlow<()>,
    ) -> Result<TraceResult, TraceRunError> {
        let mut replay = Replay::new(self.fabric(), self.explain.then(|| self.shadows()));
        let mut block = Vec::with_capacity(2 * BLOCK_REFERENCES);
        let (mut references, mut blocks) = (0, 0);
        let started = std::time::Instant::now();
        loop {
            block.clear();
            let goes_on = self.reader.next_block(&mut block)?;
            replay.block(&block).map_err(|full| TraceError {
                path: self.trace.clone().into(),
                fault: full.into(),
            })?;
            references += block.len() as u64;
            blocks += 1;
            if !goes_on {
                break;
            }
            if blocks % WATCH_EVERY_BLOCKS == 0 {
                let fraction = self.reader.fraction();
                if watch(TraceProgress { references, fraction }).is_break() {
                    return Err(Stopped.into());
                }
            }
        }
        Ok(self.result(&replay, started.elapsed().as_secs_f64()))
    }

    fn fabric(&self) -> Fabric<NoTrace> {
        let platform = &self.platform;
        let hardware = Hardware {
            platform,
            core: Gigahertz(platform.cpu.core_ghz.value),
            uncore: Gigahertz(platform.cpu.uncore_ghz.value),
            cores: [1, 0],
            core_way_masks: vec![WayMask(platform.llc.all_ways_mask())],
            ports: Vec::new(),
            nodes: Nodes::default(),
            seed: self.seed,
        };
        Fabric::new(&hardware.fabric(), NoTrace)
    }

    fn shadows(&self) -> Shadows {
        let lines = |level: &PrivateLevel| level.sets.value * level.ways.value;
        let llc = &self.platform.llc;
        let llc_lines = llc.slices.value * llc.sets_per_slice.value * llc.ways.value;
        Shadows::new([lines(&self.platform.l1d), lines(&self.platform.l2), llc_lines])
    }

    fn result(&self, replay: &Replay, wall_s: f64) -> TraceResult {
        let counters = replay.fabric.counters();
        let (read, written) = replay.fabric.memory().lines_moved();
        let counts = &replay.counts;
        TraceResult {
            trace: self.trace.clone(),
            format: self.reader.format().name().into(),
            machine: self.machine.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            accesses: total(|kind, by| counts.lines(kind, by)),
            references: total(|kind, by| counts.references(kind, by)),
            fetches_left_out: counts.fetches_left_out,
            levels: levels(replay),
            memory_lines_read: read,
            memory_lines_written: written,
            line_ops: counters.line_ops,
            wall_s,
            line_ops_per_s: counters.line_ops as f64 / wall_s,
            simulated_ns: replay.now().as_ns(),
        }
    }
}

/// What each level did, from the core on.
fn levels(replay: &Replay) -> Vec<LevelResult> {
    let core = replay.fabric.core_counters(0);
    let llc_victim_hits = core.l2_victim_misses - core.l2_victims_from_memory;
    let llc_victim_misses = core.l2_victims_from_memory + core.llc_victim_misses;
    let (fetches, data) = KINDS.split_at(1);
    let mut levels = Vec::new();
    if replay.fabric.fetches_instructions() {
        levels.push(level(replay, "L1I", ServedBy::L1, fetches));
    }
    let kinds = |shadow: usize| {
        replay.shadows.as_ref().map(|shadows| MissKindCounts::of(shadows.counts(shadow)))
    };
    let l1 = level(replay, "L1", ServedBy::L1, data);
    levels.push(LevelResult { writebacks: core.l1_writebacks, miss_kinds: kinds(0), ..l1 });
    let l2 = level(replay, "L2", ServedBy::L2, &KINDS);
    levels.push(LevelResult {
        misses: l2.misses + core.l2_victim_misses,
        writebacks: core.l2_writebacks,
        miss_kinds: kinds(1),
        ..l2
    });
    let l3 = level(replay, "L3", ServedBy::Llc, &KINDS);
    levels.push(LevelResult {
        hits: l3.hits + llc_victim_hits,
        misses: l3.misses + llc_victim_misses,
        writebacks: replay.fabric.counters().llc_writebacks,
        miss_kinds: kinds(2),
        ..l3
    });
    levels
}

const KINDS: [ReferenceKind; 3] = [ReferenceKind::Fetch, ReferenceKind::Load, ReferenceKind::Store];
const PLACES: [ServedBy; 4] = [ServedBy::L1, ServedBy::L2, ServedBy::Llc, ServedBy::Memory];

fn total(of: impl Fn(ReferenceKind, ServedBy) -> u64) -> u64 {
    KINDS.iter().flat_map(|&kind| PLACES.map(|by| of(kind, by))).sum()
}

/// What references of `kinds` found at a level, victims and write-backs not counted.
fn level(replay: &Replay, name: &str, at: ServedBy, kinds: &[ReferenceKind]) -> LevelResult {
    let counts = &replay.counts;
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

/// Why a replay did not end.
#[derive(Debug, thiserror::Error)]
pub enum TraceRunError {
    /// The trace cannot be read, or not to its end.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The watcher stopped it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

fn format_named(name: &str) -> Result<TraceFormat, InputError> {
    TraceFormat::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = TraceFormat::ALL.iter().map(|format| format.name()).collect();
        let allowed = format!("allowed: {}", names.join(", "));
        Check { file: "command line" }.refuse("--trace-format", &name, allowed)
    })
}
