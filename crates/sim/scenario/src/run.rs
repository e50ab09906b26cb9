//! Runs a scenario: warm-up, batches, intervals, and the end of the run.

mod active;
mod advance;
mod answer;
pub(crate) mod assemble;
mod batches;
mod latency;
mod limits;
pub mod metrics;
mod perfetto;
mod replays;
pub mod result;
mod sample;
mod statistics;
mod story;
mod summary;

pub use active::LlcContent;
pub(crate) use active::SimulationRun;
pub use advance::run_batch;
pub use model::tracer::WindowRequest;
pub use sample::read_sample;
pub use statistics::half_width_95;
pub use story::packet_trace;

use crate::facts::platform::Platform;
use crate::plan::Plan;
use crate::scenario::Scenario;
use assemble::ScenarioMachine;
use batches::RunBatch;
use model::fabric::{Fabric, Resource};
use model::root_complex::ddio::Ddio;
use model::tracer::{
    Tracer, Watch, WatchDescriptor, WatchLine, WatchMisses, WatchPacket, WatchWindow,
};
use result::{PerfettoTrace, RunResult, StoppedBy};
use std::ops::ControlFlow;
#[cfg(not(target_family = "wasm"))]
use std::time::Instant;
use units::{LINE_BYTES, LineAddr, Picos};
// A browser has no clock of its own in the standard library.
#[cfg(target_family = "wasm")]
use web_time::Instant;

/// A simulation: a resolved scenario, its platform and seed.
#[derive(Clone, Debug)]
pub(crate) struct Simulation {
    /// The scenario with every default filled in.
    pub scenario: Scenario,
    /// The plan of the simulated machine.
    pub plan: Plan,
    /// The platform, with the facts that the scenario replaces.
    pub platform: Platform,
    /// Name of the platform.
    pub platform_name: String,
    /// Seed of all random choices.
    pub seed: u64,
}

/// Request for records of a run besides its metrics. By default there are none; recording slows a run down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordingRequest {
    /// Records the trace of the packet with this number, from 0, among those that get a descriptor.
    pub packet: Option<u64>,
    /// Records the phases of the descriptor with this number, from 0, in the order in which cores prepare
    /// descriptors.
    pub descriptor: Option<u64>,
    /// Records the trace of this line of memory.
    pub line: Option<LineAddr>,
    /// Whether to classify the misses of the LLC.
    pub miss_kinds: bool,
    /// Records everything that happens in a window, for a timeline.
    pub window: Option<WindowRequest>,
}

/// Receives the progress of a run, and may stop it.
pub(crate) type Watcher<'a> = &'a mut dyn FnMut(RunProgress) -> ControlFlow<()>;

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunProgress {
    /// Number of packets sent so far, or other units of work of the main tenant.
    pub packets: u64,
    /// Share of the longest possible run that is done, from 0 to 1.
    pub fraction: f64,
    /// Simulated time in ns.
    pub simulated_ns: f64,
}

/// Error of a run that the watcher stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run was stopped before its end")]
pub struct Stopped;

/// Reason for which a run has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunFailure {
    /// The watcher stopped the run.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The load on a resource exceeds its capacity.
    #[error(
        "the run makes no progress: {resource} is reserved for the next {} ms, at {} ms of \
         simulated time; lower the load on it, or raise what limits it in [hardware]",
        .ahead.as_ns() / 1e6, .at.as_ns() / 1e6
    )]
    Stuck {
        /// The resource that is overloaded.
        resource: Resource,
        /// Simulated time for which the resource is reserved ahead.
        ahead: Picos,
        /// Simulated time at which the backlog was detected.
        at: Picos,
    },
}

/// A run that has ended, or whose batches so far are looked at.
struct EndedRun<'b> {
    /// All batches of the run, the warm-up included.
    batches: &'b [RunBatch],
    stopped_by: StoppedBy,
    /// Wall-clock time of the run in seconds.
    wall_s: f64,
}

impl Simulation {
    /// Runs to the end. `watch` receives the progress repeatedly, and may stop the run.
    ///
    /// # Errors
    /// If `watch` stopped the run, or it makes no progress.
    pub(crate) fn run(
        &self,
        wanted: RecordingRequest,
        watch: Watcher<'_>,
    ) -> Result<RunResult, RunFailure> {
        let mut run = self.start(wanted);
        let started = Instant::now();
        let stopped_by = loop {
            if let Some(stopped_by) = self.advance(&mut run, watch)? {
                break stopped_by;
            }
        };
        Ok(self.result(&run, stopped_by, started.elapsed().as_secs_f64()))
    }

    /// The records of a run that are requested.
    fn tracer(&self, wanted: RecordingRequest) -> Watch {
        let llc = &self.platform.llc;
        let lines = llc.slices.value * llc.sets_per_slice.value * llc.ways.value;
        Watch {
            packet: wanted.packet.map(WatchPacket::new),
            descriptor: wanted.descriptor.map(WatchDescriptor::new),
            line: wanted.line.map(WatchLine::new),
            misses: wanted.miss_kinds.then(|| WatchMisses::new(lines, self.device_lines())),
            window: wanted.window.map(WatchWindow::new),
        }
    }

    /// Adds the records of a run to its result.
    fn add_records(
        &self,
        result: &mut RunResult,
        machine: &ScenarioMachine<Watch>,
        wanted: RecordingRequest,
    ) {
        let watched = &machine.fabric.tracer;
        result.trace =
            watched.packet.as_ref().map(|packet| story::packet_trace(packet, &self.plan.layout));
        let first = watched.packet.as_ref().and_then(WatchPacket::first_line);
        result.trace_address = first.map(|line| line.0 * LINE_BYTES);
        let descriptor = watched.descriptor.as_ref().zip(wanted.descriptor);
        result.descriptor_trace = descriptor.and_then(|(watched, number)| {
            story::descriptor_trace(watched, number, &self.plan.layout)
        });
        result.line_trace =
            watched.line.as_ref().map(|line| story::line_trace(line, &self.plan.layout));
        result.perfetto = self.perfetto_trace(&machine.fabric);
    }

    /// Lines of the LLC in whose ways devices may allocate packets and blocks.
    fn device_lines(&self) -> u32 {
        let ways = self.plan.machine.fabric.ports.iter().map(|port| match port.policy.payload {
            Ddio::Ways(mask) => mask.0,
            Ddio::Off => 0,
        });
        let ways = ways.fold(0, |all, mask| all | mask).count_ones();
        let llc = &self.platform.llc;
        llc.slices.value * llc.sets_per_slice.value * ways
    }

    /// The timeline of the window, if anything happened in it.
    fn perfetto_trace(&self, fabric: &Fabric<Watch>) -> Option<PerfettoTrace> {
        let window = fabric.tracer.window.as_ref().filter(|window| window.has_opened())?;
        let layout = &self.plan.layout;
        let llc = &self.platform.llc;
        let devices = layout.devices.iter();
        let shown = perfetto::ShownWindow {
            window,
            descriptor: fabric.tracer.descriptor.as_ref(),
            fabric,
            agents: layout.agent_names(),
            devices: devices.map(|it| format!("{}{}", it.kind.key(), it.place.number)).collect(),
            cores: layout.all_cores(),
            way_bytes: u64::from(llc.slices.value * llc.sets_per_slice.value) * LINE_BYTES,
            title: &self.scenario.machine.title,
        };
        Some(PerfettoTrace {
            bytes: shown.trace(),
            operations: window.events.len(),
            is_cut: window.is_cut,
        })
    }

    /// Builds the machine at time zero, for tests that inspect it.
    pub(crate) fn machine<T: Tracer>(&self, tracer: T) -> ScenarioMachine<T> {
        assemble::machine(&self.plan, tracer)
    }
}
