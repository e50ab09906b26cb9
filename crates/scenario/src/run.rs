//! Runs a scenario: warm-up, batches, intervals, and the end of the run.

mod advance;
mod answer;
pub(crate) mod assemble;
mod batches;
mod latency;
mod limits;
pub mod metrics;
mod replays;
pub mod result;
mod sample;
mod statistics;
mod story;
mod summary;

pub use advance::run_batch;
pub use sample::read as read_sample;
pub use statistics::half_width_95;
pub use story::of_packet as packet_trace;

use crate::facts::platform::Platform;
use crate::plan::Plan;
use crate::scenario::Scenario;
use assemble::ScenarioMachine;
use batches::Batch;
use model::fabric::Resource;
use model::tracer::{NoTrace, Tracer, Watch, WatchDescriptor, WatchLine, WatchMisses, WatchPacket};
use result::{RunResult, StoppedBy};
use std::ops::ControlFlow;
use units::{LINE_BYTES, LineAddr, Picos};

/// A simulation: a resolved scenario, its platform and seed.
#[derive(Clone, Debug)]
pub(crate) struct Simulation {
    /// The scenario with every default filled in.
    pub scenario: Scenario,
    /// The plan of its machine.
    pub plan: Plan,
    /// The platform, with the facts that the scenario replaces.
    pub platform: Platform,
    /// Name of the platform.
    pub platform_name: String,
    /// Seed of all random choices.
    pub seed: u64,
}

/// What a run records besides its metrics; recording slows it down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The trace of a packet: its number among those that get a descriptor.
    pub packet: Option<u64>,
    /// The story of a descriptor: its number, in the order in which cores prepare descriptors.
    pub descriptor: Option<u64>,
    /// The trace of a line of memory.
    pub line: Option<LineAddr>,
    /// Kinds of LLC misses.
    pub miss_kinds: bool,
}

/// Receives the progress of a run, and may stop it.
pub(crate) type Watcher<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Packets sent, or other work of the main tenant.
    pub packets: u64,
    /// Share that is done, between 0 and 1, of the longest possible run.
    pub fraction: f64,
    /// Simulated time.
    pub simulated_ns: f64,
}

/// A run that did not end: the watcher stopped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run was stopped before its end")]
pub struct Stopped;

/// A run without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunFailure {
    /// The watcher stopped it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The load on a resource exceeds its capacity.
    #[error(
        "the run makes no progress: {resource} is reserved for the next {} ms, at {} ms of \
         simulated time; lower the load on it, or raise what limits it in [hardware]",
        .ahead.as_ns() / 1e6, .at.as_ns() / 1e6
    )]
    Stuck {
        /// The resource.
        resource: Resource,
        /// How far ahead it is reserved.
        ahead: Picos,
        /// When this was detected.
        at: Picos,
    },
}

/// A run that has ended.
struct Ended {
    /// All its batches, the warm-up included.
    batches: Vec<Batch>,
    stopped_by: StoppedBy,
    /// Time of the host that it took.
    wall_s: f64,
}

impl Simulation {
    /// Runs to the end. `watch` receives the progress repeatedly, and may stop the run.
    ///
    /// # Errors
    /// If `watch` stopped the run, or it makes no progress.
    pub(crate) fn run(&self, wanted: Wanted, watch: Watcher<'_>) -> Result<RunResult, RunFailure> {
        if wanted == Wanted::default() {
            return Ok(self.measure(self.machine(NoTrace), watch)?.0);
        }
        let llc = &self.platform.llc;
        let lines = llc.slices.value * llc.sets_per_slice.value * llc.ways.value;
        let tracer = Watch {
            packet: wanted.packet.map(WatchPacket::new),
            descriptor: wanted.descriptor.map(WatchDescriptor::new),
            line: wanted.line.map(WatchLine::new),
            misses: wanted.miss_kinds.then(|| WatchMisses::new(lines)),
        };
        let (mut result, machine) = self.measure(self.machine(tracer), watch)?;
        let watched = &machine.fabric.tracer;
        result.trace =
            watched.packet.as_ref().map(|packet| story::of_packet(packet, &self.plan.layout));
        let first = watched.packet.as_ref().and_then(WatchPacket::first_line);
        result.trace_address = first.map(|line| line.0 * LINE_BYTES);
        let descriptor = watched.descriptor.as_ref().zip(wanted.descriptor);
        result.descriptor_trace = descriptor
            .and_then(|(watched, number)| story::of_descriptor(watched, number, &self.plan.layout));
        result.line_trace =
            watched.line.as_ref().map(|line| story::of_line(line, &self.plan.layout));
        Ok(result)
    }

    /// The machine at time zero, for tests that inspect it.
    pub(crate) fn machine<T: Tracer>(&self, tracer: T) -> ScenarioMachine<T> {
        assemble::machine(&self.plan, tracer)
    }

    fn measure<T: Tracer>(
        &self,
        mut machine: ScenarioMachine<T>,
        watch: Watcher<'_>,
    ) -> Result<(RunResult, ScenarioMachine<T>), RunFailure> {
        let started = std::time::Instant::now();
        let (batches, stopped_by) = self.run_batches(&mut machine, watch)?;
        let ended = Ended { batches, stopped_by, wall_s: started.elapsed().as_secs_f64() };
        Ok((self.summarize(&machine, &ended), machine))
    }
}
