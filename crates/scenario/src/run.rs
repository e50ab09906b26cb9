//! Runs a scenario: warm-up, batches, intervals, and the end of the run.

mod answer;
mod batches;
mod latency;
mod limits;
mod replays;
pub mod sample;
pub mod statistics;
pub mod story;

use crate::apps::without_engines;
use crate::assemble::{self, ScenarioMachine};
use crate::devices::sample as device_sample;
use crate::input::error::InputError;
use crate::layout::TenantLayout;
use crate::metrics::latency::{LATENCY, ONE_WAY};
use crate::metrics::{self, Declaration};
use crate::plan::Plan;
use crate::platform::Platform;
use crate::result::{MetricResult, MissKindCounts, RunResult, StoppedBy, TimelinePoint};
use crate::scenario::Scenario;
use answer::Finished;
use batches::{Batch, combine, has_settled, tight_enough, warm_up_of, works_evenly};
use hdrhistogram::Histogram;
use model::fabric::{Resource, ResourceState};
use model::latency_histogram::latency_histogram;
use model::machine::Ran;
use model::reading::Reading;
use model::software::DESCRIPTOR_PHASES;
use model::tracer::{NoTrace, Tracer, Watch, WatchDescriptor, WatchLine, WatchMisses, WatchPacket};
use sample::Sample;
use statistics::LEAST_BATCHES;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use units::{CoreId, Id, LINE_BYTES, LineAddr, Picos};

/// A batch ends after this much simulated time even if it has not sent its packets.
const LONGEST_BATCH: Picos = Picos(200_000_000_000);

/// A run checks for an interrupt after this number of steps or this much simulated time, whichever
/// comes first: after some milliseconds.
const SLICE_STEPS: u64 = 1 << 12;
const SLICE: Picos = Picos(1_000_000_000);

/// No queue of a machine is as long as this. Reservations further ahead can never be served.
const LONGEST_BACKLOG: Picos = Picos(20_000_000_000);

/// A checked scenario with its plan and platform.
#[derive(Clone, Debug)]
pub struct Job {
    scenario: Scenario,
    platform: Platform,
    platform_name: String,
    plan: Plan,
    seed: u64,
    /// The same without engines, if a replay of descriptors compares the two.
    by_cores: Option<Box<Job>>,
}

/// Largest number of batches of a whole replay: each keeps a histogram.
const MOST_REPLAY_BATCHES: u64 = 512;

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
type Watcher<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

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

impl Job {
    /// Checks a scenario against its platform and reads its capture.
    ///
    /// # Errors
    /// If any input is invalid.
    pub fn new(
        file: &str,
        mut scenario: Scenario,
        platform: Platform,
        platform_name: &str,
        seed: u64,
    ) -> Result<Self, InputError> {
        let by_cores = without_engines(&scenario);
        let plan = Plan::resolve(file, &mut scenario, &platform, seed)?;
        let by_cores = by_cores
            .map(|by_cores| Self::new(file, by_cores, platform.clone(), platform_name, seed))
            .transpose()?
            .map(Box::new);
        Ok(Self { scenario, platform, platform_name: platform_name.into(), plan, seed, by_cores })
    }

    /// The scenario with every default filled in.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The plan of its machine.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The platform, with the facts that the scenario replaces.
    #[must_use]
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Runs to the end. `watch` receives the progress repeatedly, and may stop the run.
    ///
    /// # Errors
    /// If `watch` stopped the run, or it makes no progress.
    pub fn run(
        &self,
        wanted: Wanted,
        mut watch: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<RunResult, RunFailure> {
        let Some(by_cores) = &self.by_cores else {
            // One simulator is compiled, not one for each watcher.
            return self.run_watched(wanted, &mut watch);
        };
        let half = |now: Progress, done| Progress { fraction: done + now.fraction / 2.0, ..now };
        let mut result = self.run_watched(wanted, &mut |now| watch(half(now, 0.0)))?;
        let other = by_cores.run_watched(Wanted::default(), &mut |now| watch(half(now, 0.5)))?;
        result.compare_replays(&other);
        Ok(result)
    }

    fn run_watched(&self, wanted: Wanted, watch: Watcher<'_>) -> Result<RunResult, RunFailure> {
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
    pub fn machine<T: Tracer>(&self, tracer: T) -> ScenarioMachine<T> {
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

    /// The result of a run that has ended.
    fn summarize<T: Tracer>(&self, machine: &ScenarioMachine<T>, ended: &Ended) -> RunResult {
        let Ended { stopped_by, wall_s, .. } = *ended;
        let keys = &self.scenario.machine.run;
        let simulated = machine.now();
        let line_ops = machine.fabric.counters().line_ops;
        let (warm_up, measured_batches) = self.split_warm_up(ended);
        let end = Sample::read(machine);
        let measured = end.since(&measured_batches[0].before);
        let metrics = self.combine(measured_batches, &end);
        let resources: Vec<Resource> =
            machine.fabric.resources(simulated).map(|state| state.resource).collect();
        let limits = limits::limits(&self.plan, &resources, &measured);
        let (scenario, platform) = (&self.scenario, &self.platform);
        let finished = Finished { scenario, platform, metrics: &metrics, limits: &limits };
        let source_ended = stopped_by == StoppedBy::SourceEnded;
        let unsettled = if source_ended { Vec::new() } else { self.unsettled(measured_batches) };
        RunResult {
            scenario: self.scenario.clone(),
            seed: self.seed,
            version: env!("CARGO_PKG_VERSION").into(),
            platform: self.platform_name.clone(),
            slice_function: assemble::hardware::slice_function(&self.platform).describe().into(),
            simulated_ns: simulated.as_ns(),
            warmup_ns: warm_up.iter().map(|batch| batch.sample.span.as_ns()).sum(),
            packets: machine.progress(),
            batches: measured_batches.len(),
            stopped_by,
            settled: source_ended || has_settled(&ended.batches, keys),
            wall_s,
            line_ops,
            line_ops_per_s: line_ops as f64 / wall_s,
            real_time_factor: simulated.as_seconds() / wall_s,
            fitted_parameters: self.platform.fitted(),
            notes: self.notes(&unsettled),
            unsettled,
            answer: finished.answer(),
            limits,
            metrics,
            replays: replays::of(&self.plan, machine),
            timeline: self.timeline(&ended.batches),
            trace: None,
            trace_address: None,
            line_trace: None,
            descriptor_trace: None,
            miss_kinds: self.miss_kinds(&measured),
        }
    }

    /// Batches of the warm-up, and those that count. A run that ended by itself counts whole.
    fn split_warm_up<'a>(&self, ended: &'a Ended) -> (&'a [Batch], &'a [Batch]) {
        let skipped = match ended.stopped_by {
            StoppedBy::SourceEnded | StoppedBy::Stalled => 0,
            StoppedBy::Interval | StoppedBy::Cap => {
                let keys = &self.scenario.machine.run;
                warm_up_of(&ended.batches, keys, &self.plan.layout.tenants)
            }
        };
        ended.batches.split_at(skipped)
    }

    /// What a reader should know: of the scenario, of the plan, of tenants that have not settled.
    fn notes(&self, unsettled: &[String]) -> Vec<String> {
        let of_tenants = unsettled.iter().map(|tenant| {
            format!(
                "Tenant {tenant} has not settled: its work still varies by more than \
                 run.throughput_interval_percent; raise run.max_batches or run.batch_packets"
            )
        });
        self.scenario.notes().chain(self.plan.notes()).chain(of_tenants).collect()
    }

    /// Tenants whose work varies by more than the run was to end at, if there are several: each has a
    /// pace of its own, and the main one's batches may be short for another.
    fn unsettled(&self, measured: &[Batch]) -> Vec<String> {
        let tenants = &self.plan.layout.tenants;
        if tenants.len() < 2 {
            return Vec::new();
        }
        let keys = &self.scenario.machine.run;
        let varying = tenants.iter().filter(|tenant| !works_evenly(measured, keys, tenant));
        varying.map(|tenant| tenant.name.clone()).collect()
    }

    fn core_ghz(&self) -> f64 {
        self.plan.machine.core_clock.0
    }

    /// Metrics batch by batch, including the warm-up, if the scenario has a timeline.
    fn timeline(&self, batches: &[Batch]) -> Vec<TimelinePoint> {
        if !self.scenario.has_timeline() {
            return Vec::new();
        }
        let point = |batch: &Batch| TimelinePoint {
            until_ns: (batch.before.span + batch.sample.span).as_ns(),
            metrics: metrics::timeline(&self.plan.layout, self.core_ghz(), &batch.sample),
        };
        batches.iter().map(point).collect()
    }

    /// Kinds of LLC misses by the name of their agent, of the measured time.
    fn miss_kinds(&self, measured: &Sample) -> Option<BTreeMap<String, MissKindCounts>> {
        let names = self.plan.layout.agent_names().into_iter();
        let by_name = names.zip(measured.misses.iter().map(MissKindCounts::of));
        (!measured.misses.is_empty()).then(|| by_name.collect())
    }

    /// All metrics of the measured batches; `end` is the reading after the last.
    fn combine(&self, batches: &[Batch], end: &Sample) -> BTreeMap<String, MetricResult> {
        let mut results = combine(batches, end, &self.plan.layout, self.core_ghz());
        for (number, tenant) in self.plan.layout.tenants.iter().enumerate() {
            let own: Vec<_> = batches.iter().map(|batch| &batch.latency_ns[number]).collect();
            let name = |of: &Declaration| format!("{}{}", metrics::prefix(&tenant.name), of.name);
            let metric = match tenant.application.has_far_tail() {
                true => latency::metric_with_far_tail,
                false => latency::metric,
            };
            results.insert(name(&LATENCY), metric(&LATENCY, &own));
            for (phase, declared) in metrics::latency::PHASES.iter().enumerate() {
                let own: Option<Vec<_>> = batches
                    .iter()
                    .map(|batch| batch.phases_ns[number].as_ref().map(|phases| &phases[phase]))
                    .collect();
                if let Some(own) = own {
                    results.insert(name(declared), latency::metric(declared, &own));
                }
            }
            let client: Option<Vec<_>> =
                batches.iter().map(|batch| batch.one_way_ns[number].as_ref()).collect();
            if let Some(client) = client {
                results.insert(name(&ONE_WAY), latency::metric_of_client(&ONE_WAY, &client));
            }
        }
        results
    }

    /// Latencies of each tenant since the last call: of its packets, or of its requests.
    fn take_latencies<T: Tracer>(&self, machine: &mut ScenarioMachine<T>) -> Vec<Histogram<u64>> {
        let of = |(number, tenant): (usize, &TenantLayout)| {
            let mut devices = self.plan.layout.devices_of(number);
            let all = devices
                .find_map(|id| device_sample::take_latencies(&mut machine.devices[id.index()]));
            let mut all = all.unwrap_or_else(latency_histogram);
            for &core in &tenant.cores {
                if let Some(latencies) = machine.software[core.index()].take_latencies() {
                    // Histograms of equal bounds: adding cannot fail.
                    let added = all.add(&latencies);
                    debug_assert!(added.is_ok());
                }
            }
            all
        };
        self.plan.layout.tenants.iter().enumerate().map(of).collect()
    }

    /// Phases of the descriptors of each tenant since the last call, if it offloads operations.
    fn take_phases<T: Tracer>(
        &self,
        machine: &mut ScenarioMachine<T>,
    ) -> Vec<Option<[Histogram<u64>; DESCRIPTOR_PHASES]>> {
        let of = |tenant: &TenantLayout| {
            let of_core = |core: &CoreId| machine.software[core.index()].take_descriptor_phases();
            tenant.cores.iter().filter_map(of_core).reduce(|mut all, own| {
                for (phase, own) in all.iter_mut().zip(own) {
                    // Histograms of equal bounds: adding cannot fail.
                    let added = phase.add(&own);
                    debug_assert!(added.is_ok());
                }
                all
            })
        };
        self.plan.layout.tenants.iter().map(of).collect()
    }

    /// Latencies since the last call, of each tenant, as the client at the other end measured them.
    fn take_one_way_latencies<T: Tracer>(
        &self,
        machine: &mut ScenarioMachine<T>,
    ) -> Vec<Option<Histogram<u64>>> {
        let layout = &self.plan.layout;
        let of = |tenant| {
            let mut devices = layout.devices_of(tenant);
            devices.find_map(|id| {
                device_sample::take_one_way_latencies(&mut machine.devices[id.index()])
            })
        };
        (0..layout.tenants.len()).map(of).collect()
    }

    /// Runs batch after batch until the intervals are narrow, the cap is reached or no packets arrive.
    fn run_batches<T: Tracer>(
        &self,
        machine: &mut ScenarioMachine<T>,
        watch: Watcher<'_>,
    ) -> Result<(Vec<Batch>, StoppedBy), RunFailure> {
        let keys = &self.scenario.machine.run;
        // A replay with a number of loops runs completely, in a bounded number of batches.
        let whole = self.plan.packets_to_replay();
        let batch_packets = keys.batch_packets.max(whole.unwrap_or(0) / MOST_REPLAY_BATCHES);
        let longest_batch = if whole.is_some() { Picos::NEVER } else { LONGEST_BATCH };
        let mut batches: Vec<Batch> = Vec::new();
        let mut before = Sample::read(machine);
        loop {
            let goal = machine.progress() + batch_packets;
            let until = machine.now().saturating_add(longest_batch);
            let fraction = |machine: &ScenarioMachine<T>| match whole {
                Some(all) => replayed(machine) as f64 / all as f64,
                None => batches.len() as f64 / f64::from(keys.max_batches),
            };
            let goes_on = run_batch(machine, goal, until, |machine| {
                let progress = Progress {
                    packets: machine.progress(),
                    fraction: fraction(machine),
                    simulated_ns: machine.now().as_ns(),
                };
                watch(progress)
            })?;
            let reading = Sample::read(machine);
            let sample = reading.since(&before);
            let latency_ns = self.take_latencies(machine);
            let phases_ns = self.take_phases(machine);
            let one_way_ns = self.take_one_way_latencies(machine);
            batches.push(Batch {
                before: std::mem::replace(&mut before, reading),
                sample,
                latency_ns,
                phases_ns,
                one_way_ns,
            });
            if !goes_on {
                return Ok((batches, StoppedBy::SourceEnded));
            }
            if whole.is_some() || batches.len() < keys.min_batches as usize {
                continue;
            }
            if batches.iter().rev().take(LEAST_BATCHES).all(Batch::is_stalled) {
                return Ok((batches, StoppedBy::Stalled));
            }
            if tight_enough(&batches, keys, &self.plan.layout.tenants) {
                return Ok((batches, StoppedBy::Interval));
            }
            if batches.len() >= keys.max_batches as usize {
                return Ok((batches, StoppedBy::Cap));
            }
        }
    }
}

/// Runs slice after slice until the goal is reached or `until` has come. Returns whether any agent will
/// act again.
///
/// # Errors
/// If `watch` stopped the run, or a resource is reserved further ahead than any queue of hardware.
pub fn run_batch<T: Tracer>(
    machine: &mut ScenarioMachine<T>,
    goal: u64,
    until: Picos,
    mut watch: impl FnMut(&ScenarioMachine<T>) -> ControlFlow<()>,
) -> Result<bool, RunFailure> {
    loop {
        let slice = machine.now().saturating_add(SLICE).min(until);
        let ran = machine.run_slice(goal, slice, SLICE_STEPS);
        let at = machine.now();
        let reserved = machine.fabric.resources(at).find(|it| it.ahead > LONGEST_BACKLOG);
        if let Some(ResourceState { resource, ahead, .. }) = reserved {
            return Err(RunFailure::Stuck { resource, ahead, at });
        }
        if watch(machine).is_break() {
            return Err(Stopped.into());
        }
        match ran {
            Ran::ToTheGoal => return Ok(true),
            Ran::OutOfWork => return Ok(false),
            Ran::OutOfTime if at >= until => return Ok(true),
            Ran::OutOfTime | Ran::OutOfSteps => {}
        }
    }
}

/// Packets that have arrived at the first device with a wire; without one, the work done.
fn replayed<T: Tracer>(machine: &ScenarioMachine<T>) -> u64 {
    let offered = machine.devices.iter().find_map(device_sample::packets_offered);
    offered.unwrap_or_else(|| machine.progress())
}
