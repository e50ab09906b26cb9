//! A sample of the offloads on a simulated machine: by its engines, and by its cores.

use super::offloads::{Offloads, RecordedOffload, in_f64};
use crate::failure::CommandFailure;
use crate::run::signal_forwarding::EndingSignal;
use scenario::result::{ReplayedPhaseResult, RunResult};
use scenario::{Job, RecordingRequest, Scenario, builtin};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The name that messages of the simulator have in place of a file.
const FILE: &str = "skipline-dsa would-help";
/// Replays of each state of the data, with seeds and samples of their own.
pub const SEEDS: usize = 3;
/// Distance of operands that share no page.
const PAGE_BYTES: u64 = 4096;

/// Where the data of a call is when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandState {
    /// As far in caches as the calls before have left it there, one call right behind the other.
    Cached,
    /// In memory: no call touches what another one has touched.
    InMemory,
}

impl OperandState {
    /// Both states, between which a program is.
    pub const ALL: [Self; 2] = [Self::Cached, Self::InMemory];
}

/// The mover of the calls' data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mover {
    Engines,
    Cores,
}

/// Times of the offloads of one size in a replay.
#[derive(Clone, Copy, Debug, Default)]
pub struct SizeTimes {
    pub bytes: f64,
    /// Time of engines, of which the program waits for each.
    pub engines_ns: f64,
    /// Time of the core for submitting to engines and reading their records.
    pub offloading_ns: f64,
    /// Time of a core that does the same itself.
    pub core_ns: f64,
}

/// One sample, replayed by engines and by cores.
#[derive(Clone, Debug)]
pub struct SampleReplay {
    pub state: OperandState,
    /// Times by the least size of a class.
    pub sizes: BTreeMap<u64, SizeTimes>,
    pub core_ghz: f64,
    /// Bytes between memory and the LLC for each byte of the sample: by engines, and by cores.
    pub memory_bytes_per_byte: [f64; 2],
}

/// Checks that a platform has copy engines and that the model knows its cores' loops.
pub fn check_platform(name: &str) -> Result<(), String> {
    let platform = builtin::platform(FILE, name).map_err(|error| error.to_string())?;
    if platform.dsa.is_some() {
        return Ok(());
    }
    let able = builtin::platform_names().into_iter().filter(|other| {
        builtin::platform(FILE, other).is_ok_and(|platform| platform.dsa.is_some())
    });
    let able: Vec<String> = able.collect();
    Err(format!("{name} has no DSA; platforms with one: {}", able.join(", ")))
}

/// Replays samples of the offloads on a platform: [`SEEDS`] for each state of the data.
pub fn replay_samples(
    offloads: &Offloads,
    platform: &str,
    seed: u64,
    stop: &EndingSignal,
) -> Result<Vec<SampleReplay>, CommandFailure> {
    let directory = tempfile::tempdir()
        .map_err(|error| CommandFailure::failed(format!("a directory for samples: {error}")))?;
    let numbers = 0..SEEDS;
    let tasks: Vec<(OperandState, usize)> = OperandState::ALL
        .into_iter()
        .flat_map(|state| numbers.clone().map(move |number| (state, number)))
        .collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(&(state, number)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            let sample = offloads.sample(number, SEEDS).concat();
            let log = directory.path().join(format!("{state:?}-{number}.jsonl"));
            let task = ReplayTask { platform, state, seed: seed + number as u64, log: &log, stop };
            let replayed = task.run(&sample);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.insert((state as usize, number), replayed);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(tasks.len());
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// A replay of one sample.
struct ReplayTask<'a> {
    platform: &'a str,
    state: OperandState,
    seed: u64,
    log: &'a Path,
    stop: &'a EndingSignal,
}

impl ReplayTask<'_> {
    fn run(&self, sample: &[RecordedOffload]) -> Result<SampleReplay, CommandFailure> {
        std::fs::write(self.log, log_text(sample, self.state))
            .map_err(|error| CommandFailure::failed(format!("{}: {error}", self.log.display())))?;
        let engines = self.simulate(Mover::Engines)?;
        let cores = self.simulate(Mover::Cores)?;
        let bytes: f64 = sample.iter().map(|offload| in_f64(offload.bytes)).sum();
        Ok(SampleReplay {
            state: self.state,
            sizes: times_by_size(&engines, &cores),
            core_ghz: engines.replays.first().map_or(f64::NAN, |replay| replay.core_ghz),
            memory_bytes_per_byte: [&engines, &cores].map(|run| memory_bytes(run) / bytes),
        })
    }

    fn simulate(&self, mover: Mover) -> Result<RunResult, CommandFailure> {
        let stopped = || CommandFailure::failed("stopped by a signal before there was an answer");
        if self.stop.has_come() {
            return Err(stopped());
        }
        let refused = |error| CommandFailure::bad_input(format!("--on: {error}"));
        let scenario = Scenario::read(FILE, &self.scenario(mover), &[]).map_err(refused)?;
        let facts = scenario.platform_facts();
        let platform = builtin::platform_with(FILE, self.platform, &facts).map_err(refused)?;
        let job = Job::new(FILE, scenario, platform, self.platform, self.seed).map_err(refused)?;
        let go_on = |_| match self.stop.has_come() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        job.run(RecordingRequest::default(), go_on).map_err(|failure| match self.stop.has_come() {
            true => stopped(),
            false => CommandFailure::failed(format!("{}: {failure}", self.platform)),
        })
    }

    fn scenario(&self, mover: Mover) -> String {
        let (platform, log) = (self.platform, self.log.display().to_string());
        let mut text = format!(
            "platform = {platform:?}\napplication = \"descriptor-replay\"\n\
             descriptor_replay.log = {log:?}\ndescriptor_replay.pace = \"back-to-back\"\n\
             descriptor_replay.divide_by = \"sizes\"\n"
        );
        text += match mover {
            // As the preloaded library does it: one call after the other, to shared queues.
            Mover::Engines => {
                "descriptor_replay.by = \"dsa\"\ndescriptor_replay.depth = 1\n\
                 dsa.queue_mode = \"shared\"\n"
            }
            Mover::Cores => "descriptor_replay.by = \"core\"\n",
        };
        if self.state == OperandState::InMemory {
            text += "initial_content = \"empty\"\n";
        }
        text
    }
}

/// The log of a sample. Its times do not count, since the replay goes back to back; nor do threads, since one
/// core does all.
fn log_text(sample: &[RecordedOffload], state: OperandState) -> String {
    let mut text = String::new();
    let mut next = PAGE_BYTES;
    let mut place = |address: u64, bytes: u64| match state {
        OperandState::Cached => address,
        OperandState::InMemory => {
            let own = next + address % PAGE_BYTES;
            next = (own + bytes).next_multiple_of(PAGE_BYTES) + PAGE_BYTES;
            own
        }
    };
    for offload in sample {
        let RecordedOffload { opcode, flags, bytes, source, destination } = *offload;
        let source = source.map_or(String::new(), |address| {
            format!(" \"source\": \"{:#x}\",", place(address, bytes))
        });
        let destination = place(destination, bytes);
        let _ = writeln!(
            text,
            "{{\"time_ns\": 0, \"portal\": 0, \"opcode\": {opcode}, \"flags\": {flags}, \
             \"bytes\": {bytes},{source} \"destination\": \"{destination:#x}\"}}"
        );
    }
    text
}

fn times_by_size(engines: &RunResult, cores: &RunResult) -> BTreeMap<u64, SizeTimes> {
    let mut sizes: BTreeMap<u64, SizeTimes> = BTreeMap::new();
    for phase in phases(engines) {
        let times = sizes.entry(phase.least_bytes.unwrap_or_default()).or_default();
        times.bytes = in_f64(phase.bytes);
        times.engines_ns = phase.engines_ns.unwrap_or(f64::NAN);
        times.offloading_ns = phase.offloading_ns.unwrap_or(f64::NAN);
    }
    for phase in phases(cores) {
        let times = sizes.entry(phase.least_bytes.unwrap_or_default()).or_default();
        times.core_ns = phase.core_ns.unwrap_or(f64::NAN);
    }
    sizes
}

fn phases(result: &RunResult) -> impl Iterator<Item = &ReplayedPhaseResult> {
    result.replays.iter().flat_map(|replay| &replay.phases)
}

fn number(result: &RunResult, metric: &str) -> Option<f64> {
    result.metrics.get(metric)?.value.number(None).filter(|value| value.is_finite())
}

/// Bytes that went between memory and the LLC.
fn memory_bytes(result: &RunResult) -> f64 {
    let rate = |metric| number(result, metric).unwrap_or(0.0);
    let gbytes_per_s = rate("dram_read_gbytes_per_s") + rate("dram_write_gbytes_per_s");
    // GB/s are bytes for each nanosecond.
    gbytes_per_s * (result.simulated_ns - result.warmup_ns)
}
