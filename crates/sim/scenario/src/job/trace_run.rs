//! Replays a trace: computes hits, misses and write-backs per level from references and a machine.
//!
//! Independent levels are replayed without time, batch by batch; other machines, and replays with times
//! or kinds of misses, need the whole fabric. Both count the same.

mod levels;
mod pieces;
#[cfg(test)]
mod tests;

pub use levels::TraceResult;

use crate::contract::hardware::Hardware;
use crate::facts::by_name;
use crate::facts::platform::{Platform, PrivateLevel};
use crate::run::Stopped;
use crate::text::check::Check;
use crate::text::error::InputError;
use levels::{levels, total};
use model::fabric::{Fabric, FabricConfig};
use model::independent_levels::IndependentLevels;
use model::tracer::NoTrace;
use pieces::{Next, Piece, Pieces, Source};
use recordings::trace::{
    Batch, Batches, LoadList, StopReading, TraceError, TraceFormat, TraceReader,
};
use std::mem;
use std::ops::ControlFlow;
use std::process;
use std::thread::available_parallelism;
use units::Picos;
use workload::trace::{AddressWindowFull, Replay, Shadows, StandardTrace, Tally, UntimedReplay};

/// A trace and the machine that replays it.
pub struct TraceJob {
    replayed: Replayed,
    source: Source,
}

/// Source and machine of a replay.
struct Replayed {
    platform: Platform,
    machine: String,
    trace: String,
    wanted: TraceWanted,
    /// One socket with one core and no devices.
    fabric: FabricConfig,
}

/// Outputs of a replay besides hits and misses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceWanted {
    /// Simulated time, each reference waiting for the one before it.
    pub time: bool,
    /// Whether misses are classified by kind.
    pub miss_kinds: bool,
}

/// Progress of a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceProgress {
    /// Number of references replayed so far.
    pub references: u64,
    /// Share of the file that has been read; none where its size is not known.
    pub fraction: Option<f64>,
}

/// References between two calls of the watcher: with time, less than a tenth of a second.
const WATCH_EVERY_REFERENCES: usize = 1 << 18;

/// One of two ways to simulate a machine.
enum Course {
    Untimed(Box<UntimedReplay>),
    Timed(Box<Replay>),
}

impl Course {
    fn batch(&mut self, batch: &Batch) -> Result<(), AddressWindowFull> {
        match (self, batch) {
            (Self::Untimed(replay), Batch::References(references)) => replay.references(references),
            (Self::Untimed(replay), Batch::Loads(addresses)) => replay.loads(addresses),
            (Self::Timed(replay), Batch::References(references)) => replay.references(references),
            (Self::Timed(replay), Batch::Loads(addresses)) => replay.loads(addresses),
        }
    }

    fn finish(self) -> Finished {
        match self {
            Self::Untimed(replay) => Finished { tally: replay.finish(), now: None, shadows: None },
            Self::Timed(replay) => {
                let (tally, now) = (replay.tally(), Some(replay.now()));
                Finished { tally, now, shadows: replay.shadows }
            }
        }
    }
}

/// Results of a replay.
struct Finished {
    tally: Tally,
    /// Simulated time, if it was requested.
    now: Option<Picos>,
    shadows: Option<Shadows>,
}

impl TraceJob {
    /// Reads the machine; the trace in a file, `-` for standard input, is opened when the replay
    /// starts.
    ///
    /// # Errors
    /// If any input is invalid.
    pub fn of_file(
        trace: &str,
        machine: &str,
        format: Option<&str>,
        wanted: TraceWanted,
        seed: u64,
    ) -> Result<Self, InputError> {
        let format = format.map(format_named).transpose()?;
        let platform = by_name::platform("--machine", machine)?;
        let path = trace.to_owned();
        let opens = move |stop: StopReading| -> Result<Box<dyn Batches>, TraceError> {
            Ok(Box::new(TraceReader::open(path, format, stop)?))
        };
        let replayed = Replayed::new(platform, machine, trace, wanted, seed)?;
        Ok(Self { replayed, source: Source::ToRead(Box::new(opens)) })
    }

    /// Generates a standard trace and reads the machine.
    ///
    /// # Errors
    /// If any input is invalid.
    pub fn of_standard(
        name: &str,
        machine: &str,
        wanted: TraceWanted,
        seed: u64,
    ) -> Result<Self, InputError> {
        let trace = standard_named(name)?;
        let platform = by_name::platform("--machine", machine)?;
        let loads = LoadList::new(trace.addresses(), "standard");
        let replayed = Replayed::new(platform, machine, trace.name(), wanted, seed)?;
        Ok(Self { replayed, source: Source::AtHand(Box::new(loads)) })
    }

    /// Takes references from any source; `trace` is its name in results.
    ///
    /// # Errors
    /// If the machine's file is invalid.
    pub fn of_batches(
        trace: &str,
        batches: Box<dyn Batches>,
        machine: &str,
        wanted: TraceWanted,
        seed: u64,
    ) -> Result<Self, InputError> {
        let platform = by_name::platform("--machine", machine)?;
        let replayed = Replayed::new(platform, machine, trace, wanted, seed)?;
        Ok(Self { replayed, source: Source::AtHand(batches) })
    }

    /// Replays the whole trace. `watch` receives the progress, and may stop it.
    ///
    /// # Errors
    /// If the trace is invalid, or `watch` stopped the replay or forked the process.
    pub fn run(
        self,
        mut watch: impl FnMut(TraceProgress) -> ControlFlow<()>,
    ) -> Result<TraceResult, TraceRunError> {
        // One replay is compiled, not one for each watcher.
        self.run_watched(&mut watch)
    }

    fn run_watched(
        self,
        watch: &mut dyn FnMut(TraceProgress) -> ControlFlow<()>,
    ) -> Result<TraceResult, TraceRunError> {
        let Self { replayed, source } = self;
        let mut course = replayed.course();
        let mut progress = TraceProgress { references: 0, fraction: None };
        let mut since_watched = 0;
        let process = process::id();
        let started = std::time::Instant::now();
        let mut trace = Pieces::open(&replayed.trace, source)?;
        loop {
            match trace.next()? {
                Next::Piece(Piece { batch, fraction }) => {
                    course.batch(&batch).map_err(|full| replayed.does_not_fit(full))?;
                    progress.references += batch.len() as u64;
                    progress.fraction = fraction;
                    since_watched += batch.len();
                    trace.give_back(batch);
                }
                Next::NothingYet => since_watched = WATCH_EVERY_REFERENCES,
                Next::End => break,
            }
            if since_watched >= WATCH_EVERY_REFERENCES {
                since_watched = 0;
                if watch(progress).is_break() {
                    return Err(Stopped.into());
                }
                if process::id() != process {
                    // Threads that exist only in the parent may have been about to use these.
                    mem::forget((course, trace));
                    return Err(TraceRunError::Forked);
                }
            }
        }
        let finished = course.finish();
        Ok(replayed.result(&finished, trace.format(), started.elapsed().as_secs_f64()))
    }
}

impl Replayed {
    fn new(
        platform: Platform,
        machine: &str,
        trace: &str,
        wanted: TraceWanted,
        seed: u64,
    ) -> Result<Self, InputError> {
        let topology = platform.topology(machine)?;
        let fabric = Hardware::without_devices(&platform, &topology, 1, seed).fabric();
        Ok(Self { platform, machine: machine.into(), trace: trace.into(), wanted, fabric })
    }

    fn does_not_fit(&self, full: AddressWindowFull) -> TraceRunError {
        TraceRunError::TooManyRegions { trace: self.trace.clone(), full }
    }

    fn course(&self) -> Course {
        let TraceWanted { time, miss_kinds } = self.wanted;
        if !time
            && !miss_kinds
            && let Some(levels) = IndependentLevels::from_config(&self.fabric)
        {
            let second_thread = available_parallelism().is_ok_and(|threads| threads.get() > 1);
            return Course::Untimed(Box::new(UntimedReplay::new(levels, second_thread)));
        }
        let fabric = Fabric::new(&self.fabric, NoTrace);
        let shadows = miss_kinds.then(|| shadows(&self.platform));
        Course::Timed(Box::new(Replay::new(fabric, shadows)))
    }

    fn result(&self, finished: &Finished, format: &str, wall_s: f64) -> TraceResult {
        let Finished { tally, now, shadows } = finished;
        let counts = &tally.counts;
        let simulated_ns = now.filter(|_| self.wanted.time).map(Picos::as_ns);
        TraceResult {
            trace: self.trace.clone(),
            format: format.into(),
            machine: self.machine.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            accesses: total(|kind, by| counts.lines(kind, by)),
            references: total(|kind, by| counts.references(kind, by)),
            fetches_left_out: counts.fetches_left_out,
            levels: levels(tally, self.platform.l1i.is_some(), shadows.as_ref()),
            memory_lines_read: tally.memory_lines_read,
            memory_lines_written: tally.memory_lines_written,
            line_ops: tally.line_ops,
            wall_s,
            line_ops_per_s: tally.line_ops as f64 / wall_s,
            simulated_ns,
            real_time_factor: simulated_ns.map(|ns| ns / 1e9 / wall_s),
        }
    }
}

fn shadows(platform: &Platform) -> Shadows {
    let lines = |level: &PrivateLevel| level.sets.value * level.ways.value;
    let llc = &platform.llc;
    let llc_lines = llc.slices.value * llc.sets_per_slice.value * llc.ways.value;
    Shadows::new([lines(&platform.l1d), lines(&platform.l2), llc_lines])
}

/// Why a replay did not end.
#[derive(Debug, thiserror::Error)]
pub enum TraceRunError {
    /// The trace cannot be read, or not to its end.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The program uses more memory than the caches can name.
    #[error("trace '{trace}' {full}")]
    TooManyRegions {
        /// Name of the trace.
        trace: String,
        /// First address that could not be mapped.
        full: AddressWindowFull,
    },
    /// The watcher stopped it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The watcher forked the process, and the child continued.
    #[error(
        "the replay cannot go on in a process that was forked while it was under way: \
         fork before the replay, or end the child where it was forked"
    )]
    Forked,
}

fn format_named(name: &str) -> Result<TraceFormat, InputError> {
    TraceFormat::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = TraceFormat::ALL.iter().map(|format| format.name()).collect();
        let allowed = format!("allowed: {}", names.join(", "));
        Check { file: "command line" }.refuse("--trace-format", &name, allowed)
    })
}

/// The standard trace of this name.
///
/// # Errors
/// If there is none.
pub fn standard_named(name: &str) -> Result<StandardTrace, InputError> {
    StandardTrace::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = StandardTrace::ALL.iter().map(|trace| trace.name()).collect();
        let allowed = format!("allowed: {}", names.join(", "));
        Check { file: "command line" }.refuse("--standard", &name, allowed)
    })
}
