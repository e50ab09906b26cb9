//! Computes the result of a run that has ended.

use super::answer::AnswerFacts;
use super::batches::{RunBatch, combine, has_settled, has_steady_work, warm_up_batches};
use super::{EndedRun, Simulation, latency, limits, replays, sample};
use crate::contract::hardware::placement_of_lines;
use crate::contract::sample::Sample;
use crate::facts::platform::FittedParameter;
use crate::run::assemble::ScenarioMachine;
use crate::run::metrics::latency::{GENERATOR, LATENCY, ONE_WAY};
use crate::run::metrics::{self, Declaration};
use crate::run::result::{
    MetricResult, MissKindCounts, RunResult, SCHEMA_VERSION, StoppedBy, TimelinePoint,
};
use crate::scenario::Testbed;
use model::fabric::Resource;
use model::miss_kinds::AccessCounts;
use model::reading::Reading;
use model::tracer::Tracer;
use std::collections::BTreeMap;

impl Simulation {
    /// Computes the result of a run on `machine` that has ended, or of its batches so far.
    pub(super) fn summarize<T: Tracer>(
        &self,
        machine: &ScenarioMachine<T>,
        ended: &EndedRun<'_>,
    ) -> RunResult {
        let EndedRun { stopped_by, wall_s, .. } = *ended;
        let keys = &self.scenario.machine.run;
        let simulated = machine.now();
        let line_ops = machine.fabric.counters().line_ops;
        let (warm_up, measured_batches) = self.split_warm_up(ended);
        let end = sample::read_sample(machine);
        let measured = end.since(&measured_batches[0].before);
        let metrics = self.combine(measured_batches, &end);
        let resources: Vec<Resource> =
            machine.fabric.resources(simulated).map(|state| state.resource).collect();
        let limits = limits::limits(&self.plan, &resources, &measured);
        let (scenario, platform) = (&self.scenario, &self.platform);
        let finished = AnswerFacts { scenario, platform, metrics: &metrics, limits: &limits };
        let source_ended = stopped_by == StoppedBy::SourceEnded;
        let unsettled =
            if source_ended { Vec::new() } else { self.unsettled_tenants(measured_batches) };
        RunResult {
            schema_version: SCHEMA_VERSION,
            scenario: self.scenario.clone(),
            seed: self.seed,
            version: env!("CARGO_PKG_VERSION").into(),
            platform: self.platform_name.clone(),
            slice_function: placement_of_lines(&self.platform),
            simulated_ns: simulated.as_ns(),
            warmup_ns: warm_up.iter().map(|batch| batch.sample.span.as_ns()).sum(),
            packets: machine.progress(),
            batches: measured_batches.len(),
            stopped_by,
            settled: source_ended || has_settled(ended.batches, keys),
            wall_s,
            line_ops,
            line_ops_per_s: line_ops as f64 / wall_s,
            real_time_factor: simulated.as_seconds() / wall_s,
            testbed: self.scenario.testbed.clone(),
            fitted_parameters: self.fitted_parameters(),
            notes: self.notes(&unsettled),
            unsettled,
            answer: finished.answer(),
            limits,
            metrics,
            replays: replays::replay_results(&self.plan, machine),
            timeline: self.timeline(ended.batches),
            trace: None,
            trace_address: None,
            line_trace: None,
            descriptor_trace: None,
            miss_kinds: self.miss_kinds(&measured.misses),
            device_write_kinds: self.device_write_kinds(&measured.device_writes),
            perfetto: None,
        }
    }

    /// Parameters of the platform, and settings of the testbed, that were chosen by fitting.
    fn fitted_parameters(&self) -> Vec<FittedParameter> {
        let settings = self.scenario.testbed.iter().flat_map(Testbed::fitted);
        self.platform.fitted().into_iter().chain(settings).collect()
    }

    /// Batches of the warm-up, and those that count. A run that ended by itself counts whole.
    fn split_warm_up<'a>(&self, ended: &EndedRun<'a>) -> (&'a [RunBatch], &'a [RunBatch]) {
        let skipped = match ended.stopped_by {
            StoppedBy::SourceEnded | StoppedBy::Stalled => 0,
            StoppedBy::Interval | StoppedBy::Cap => {
                let keys = &self.scenario.machine.run;
                warm_up_batches(ended.batches, keys, &self.plan.layout.tenants)
            }
        };
        ended.batches.split_at(skipped)
    }

    /// Remarks of the result: on the scenario, on the plan, on tenants that have not settled.
    fn notes(&self, unsettled: &[String]) -> Vec<String> {
        let of_tenants = unsettled.iter().map(|tenant| {
            format!(
                "Tenant {tenant} has not settled: its work still varies from batch to batch by more than \
                 run.throughput_interval_percent; raise run.max_batches or run.batch_packets"
            )
        });
        self.scenario.notes().chain(self.plan.notes()).chain(of_tenants).collect()
    }

    /// Names of the tenants, if there are several, whose work varies by more than the run was to end at. Each
    /// tenant has a pace of its own, and the main one's batches may be short for another.
    fn unsettled_tenants(&self, measured: &[RunBatch]) -> Vec<String> {
        let tenants = &self.plan.layout.tenants;
        if tenants.len() < 2 {
            return Vec::new();
        }
        let keys = &self.scenario.machine.run;
        let varying = tenants.iter().filter(|tenant| !has_steady_work(measured, keys, tenant));
        varying.map(|tenant| tenant.name.clone()).collect()
    }

    fn core_ghz(&self) -> f64 {
        self.plan.machine.core_clock.0
    }

    /// Metrics batch by batch, including the warm-up, if the scenario has a timeline.
    fn timeline(&self, batches: &[RunBatch]) -> Vec<TimelinePoint> {
        if !self.scenario.has_timeline() {
            return Vec::new();
        }
        let point = |batch: &RunBatch| TimelinePoint {
            until_ns: (batch.before.span + batch.sample.span).as_ns(),
            metrics: metrics::timeline(&self.plan.layout, self.core_ghz(), &batch.sample),
        };
        batches.iter().map(point).collect()
    }

    /// Kinds of LLC misses over the measured time, by the name of the agent that missed.
    fn miss_kinds(&self, counts: &[AccessCounts]) -> Option<BTreeMap<String, MissKindCounts>> {
        let names = self.plan.layout.agent_names().into_iter();
        let by_name = names.zip(counts.iter().map(MissKindCounts::from_shadow));
        (!counts.is_empty()).then(|| by_name.collect())
    }

    /// As [`Self::miss_kinds`] of the agents that wrote as devices do.
    fn device_write_kinds(
        &self,
        counts: &[AccessCounts],
    ) -> Option<BTreeMap<String, MissKindCounts>> {
        let mut by_name = self.miss_kinds(counts)?;
        by_name.retain(|_, counts| *counts != MissKindCounts::default());
        Some(by_name)
    }

    /// All metrics of the measured batches; `end` is the reading after the last.
    fn combine(&self, batches: &[RunBatch], end: &Sample) -> BTreeMap<String, MetricResult> {
        let mut results = combine(batches, end, &self.plan.layout, self.core_ghz());
        for (number, tenant) in self.plan.layout.tenants.iter().enumerate() {
            let own: Vec<_> = batches.iter().map(|batch| &batch.latency_ns[number]).collect();
            let name = |of: &Declaration| format!("{}{}", metrics::prefix(&tenant.name), of.name);
            let metric = match tenant.application.has_far_tail() {
                true => latency::metric_with_far_tail,
                false => latency::metric,
            };
            results.insert(name(&LATENCY), metric(&LATENCY, &own));
            if let Some(wait) = self.plan.generator_wait(number) {
                results
                    .insert(name(&GENERATOR), latency::metric_of_generator(&GENERATOR, &own, wait));
            }
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
}
