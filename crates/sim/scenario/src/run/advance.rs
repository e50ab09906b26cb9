//! Advances a machine batch after batch, and reads the counts of each batch.

use super::batches::{RunBatch, may_end};
use super::statistics::LEAST_BATCHES;
use super::{RunFailure, RunProgress, Simulation, Stopped, Watcher, sample};
use crate::contract::sample::Sample;
use crate::contract::traffic::LONGEST_BATCH;
use crate::kinds;
use crate::plan::layout::TenantLayout;
use crate::run::assemble::ScenarioMachine;
use crate::run::result::StoppedBy;
use hdrhistogram::Histogram;
use model::fabric::ResourceState;
use model::latency_histogram::latency_histogram;
use model::machine::Ran;
use model::reading::Reading;
use model::software::DESCRIPTOR_PHASES;
use model::tracer::Tracer;
use std::ops::ControlFlow;
use units::{CoreId, Id, Picos};

/// A run checks for an interrupt after this number of steps or this much simulated time, whichever
/// comes first: after some milliseconds.
const SLICE_STEPS: u64 = 1 << 12;
const SLICE: Picos = Picos(1_000_000_000);

/// Steps between two samples of fill levels for a timeline: fewer than a packet takes.
const SAMPLE_STEPS: u64 = 4;

/// No queue of a machine is as long as this. Reservations further ahead can never be served.
const LONGEST_BACKLOG: Picos = Picos(20_000_000_000);

/// Largest number of batches of a whole replay: each keeps a histogram.
const MOST_REPLAY_BATCHES: u64 = 512;

/// A run on a machine: its batches so far, and the end of the one under way.
pub(super) struct BatchRun<T: Tracer> {
    pub(super) machine: ScenarioMachine<T>,
    /// Batches that have ended, the warm-up included.
    pub(super) batches: Vec<RunBatch>,
    /// The reading at the start of the batch under way.
    before: Sample,
    /// Work that all batches of a whole replay do.
    whole: Option<u64>,
    batch_packets: u64,
    longest_batch: Picos,
    /// Progress and time at which the batch under way ends.
    end: (u64, Picos),
}

impl<T: Tracer> BatchRun<T> {
    fn set_end(&mut self) {
        let goal = self.machine.progress() + self.batch_packets;
        self.end = (goal, self.machine.now().saturating_add(self.longest_batch));
    }
}

impl Simulation {
    /// The run of a machine at time zero.
    pub(super) fn begin<T: Tracer>(&self, machine: ScenarioMachine<T>) -> BatchRun<T> {
        let keys = &self.scenario.machine.run;
        // A replay with a number of loops runs completely, in a bounded number of batches.
        let whole = self.plan.packets_to_replay();
        let batch_packets = keys.batch_packets.max(whole.unwrap_or(0) / MOST_REPLAY_BATCHES);
        let longest_batch = if whole.is_some() { Picos::NEVER } else { LONGEST_BATCH };
        let before = sample::read_sample(&machine);
        let (batches, end) = (Vec::new(), (0, Picos(0)));
        let mut run =
            BatchRun { machine, batches, before, whole, batch_packets, longest_batch, end };
        run.set_end();
        run
    }

    /// Runs to the end of the batch under way; returns why the run ends with it, if it does: intervals are
    /// narrow, the cap is reached or no packets arrive. If `watch` stops the run, a further call goes on with
    /// the same batch.
    pub(super) fn next_batch<T: Tracer>(
        &self,
        run: &mut BatchRun<T>,
        watch: Watcher<'_>,
    ) -> Result<Option<StoppedBy>, RunFailure> {
        let keys = &self.scenario.machine.run;
        let BatchRun { machine, batches, before, whole, end: (goal, until), .. } = run;
        let fraction = |machine: &ScenarioMachine<T>| match *whole {
            Some(all) => replay_progress(machine) as f64 / all as f64,
            None => batches.len() as f64 / f64::from(keys.max_batches),
        };
        let goes_on = run_batch(machine, *goal, *until, |machine| {
            let progress = RunProgress {
                packets: machine.progress(),
                fraction: fraction(machine),
                simulated_ns: machine.now().as_ns(),
            };
            watch(progress)
        })?;
        let reading = sample::read_sample(machine);
        let sample = reading.since(before);
        let latency_ns = self.take_latencies(machine);
        let phases_ns = self.take_phases(machine);
        let one_way_ns = self.take_one_way_latencies(machine);
        batches.push(RunBatch {
            before: std::mem::replace(before, reading),
            sample,
            latency_ns,
            phases_ns,
            one_way_ns,
        });
        run.set_end();
        let stopped_by = if goes_on { self.end_of(run) } else { Some(StoppedBy::SourceEnded) };
        Ok(stopped_by)
    }

    /// Why a run whose packets still arrive ends with the batches that it has, if it does.
    fn end_of<T: Tracer>(&self, run: &BatchRun<T>) -> Option<StoppedBy> {
        let (keys, batches) = (&self.scenario.machine.run, &run.batches);
        if run.whole.is_some() || batches.len() < keys.min_batches as usize {
            return None;
        }
        if batches.iter().rev().take(LEAST_BATCHES).all(RunBatch::is_stalled) {
            return Some(StoppedBy::Stalled);
        }
        if may_end(batches, keys, &self.plan.layout.tenants) {
            return Some(StoppedBy::Interval);
        }
        (batches.len() >= keys.max_batches as usize).then_some(StoppedBy::Cap)
    }

    /// Takes the latencies of each tenant since the last call, in ns: of its packets, or of its requests.
    fn take_latencies<T: Tracer>(&self, machine: &mut ScenarioMachine<T>) -> Vec<Histogram<u64>> {
        let of = |(number, tenant): (usize, &TenantLayout)| {
            let layout = &self.plan.layout;
            let mut devices = layout.devices_of(number);
            let mut measuring = devices.find_map(|id| {
                Some((id, kinds::take_latencies(&mut machine.devices[id.index()])?))
            });
            if let Some((first, all)) = &mut measuring {
                // Ports of one card; other devices measure what the first one waits for.
                let kind = layout.devices[first.index()].kind;
                for port in devices.filter(|id| layout.devices[id.index()].is_port_beside(kind)) {
                    let own = kinds::take_latencies(&mut machine.devices[port.index()]);
                    // Histograms of equal bounds: adding cannot fail.
                    let added = own.map(|own| all.add(&own)).transpose();
                    debug_assert!(added.is_ok());
                }
            }
            let mut all = measuring.map_or_else(latency_histogram, |(_, all)| all);
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

    /// Takes the phases of the descriptors of each tenant since the last call, in ns, if it offloads operations.
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

    /// Takes the latencies of each tenant since the last call, in ns, that the client at the other end of its
    /// wire measured, if there is one.
    fn take_one_way_latencies<T: Tracer>(
        &self,
        machine: &mut ScenarioMachine<T>,
    ) -> Vec<Option<Histogram<u64>>> {
        let layout = &self.plan.layout;
        let of = |tenant| {
            let mut devices = layout.devices_of(tenant);
            devices.find_map(|id| kinds::take_one_way_latencies(&mut machine.devices[id.index()]))
        };
        (0..layout.tenants.len()).map(of).collect()
    }
}

/// Runs a machine until its progress is `goal` or the simulated time is `until`. `watch` is called after each
/// slice of some milliseconds. Returns whether any agent will act again.
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
        // Idle time costs no slices: a capture may be silent for a day.
        let busy_from = match machine.next_step() {
            next if next > machine.now().saturating_add(SLICE) => next,
            _ => machine.now(),
        };
        let slice = busy_from.saturating_add(SLICE).min(until);
        let ran = run_sampled(machine, goal, slice);
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

/// Runs a slice. A tracer that wants fill levels gets them every few steps; the steps are the same.
fn run_sampled<T: Tracer>(machine: &mut ScenarioMachine<T>, goal: u64, until: Picos) -> Ran {
    let mut left = SLICE_STEPS;
    while T::WATCHING && left > SAMPLE_STEPS && machine.fabric.tracer.wants_levels() {
        let ran = machine.run_slice(goal, until, SAMPLE_STEPS);
        sample::sample_levels(machine);
        if ran != Ran::OutOfSteps {
            return ran;
        }
        left -= SAMPLE_STEPS;
    }
    machine.run_slice(goal, until, left)
}

/// Progress of a replay: packets that have arrived at the first device with a wire, or else the work done.
fn replay_progress<T: Tracer>(machine: &ScenarioMachine<T>) -> u64 {
    let offered = machine.devices.iter().find_map(kinds::packets_offered);
    offered.unwrap_or_else(|| machine.progress())
}
