//! Results of replayed logs of descriptors, phase by phase.

use crate::contract::application::LogPhase;
use crate::plan::layout::TenantLayout;
use crate::plan::{Plan, TenantPlan};
use crate::run::answer::three_digits;
use crate::run::assemble::ScenarioMachine;
use crate::run::result::{ReplayResult, ReplayedPhaseResult, RunResult};
use model::reading::Reading;
use model::software::ReplayedPhase;
use model::tracer::Tracer;
use std::collections::BTreeMap;
use units::Id;

/// The results of all tenants that replay a log: the times of engines, or those of cores if a tenant has no
/// engines.
pub(super) fn replay_results<T: Tracer>(
    plan: &Plan,
    machine: &ScenarioMachine<T>,
) -> Vec<ReplayResult> {
    let all = plan.tenants.iter().zip(&plan.layout.tenants);
    let replaying = all.filter(|(tenant, _)| !tenant.application.phases_of_log().is_empty());
    let of_tenant = |(tenant, layout): (&TenantPlan, &TenantLayout)| {
        let logged = tenant.application.phases_of_log();
        let mut done = vec![ReplayedPhase::default(); logged.len()];
        for core in &tenant.resources.cores {
            let own = machine.software[core.index()].replayed();
            done.iter_mut().zip(own).for_each(|(sum, own)| *sum = sum.plus(own));
        }
        let by_engines = !tenant.resources.ports.is_empty();
        let phases: Vec<_> =
            logged.iter().zip(&done).map(|(phase, done)| result(phase, done, by_engines)).collect();
        let total = total(&phases);
        ReplayResult {
            tenant: layout.name.clone(),
            core_ghz: plan.machine.core_clock.0,
            notes: notes(&total),
            phases,
            total,
        }
    };
    replaying.map(of_tenant).collect()
}

fn result(logged: &LogPhase, done: &ReplayedPhase, by_engines: bool) -> ReplayedPhaseResult {
    let under_way = done.under_way.as_ns();
    let operations = logged.operations.iter();
    ReplayedPhaseResult {
        least_bytes: logged.least_bytes,
        from_ns: logged.from.as_ns(),
        until_ns: logged.until.as_ns(),
        descriptors: done.descriptors,
        bytes: done.bytes,
        operations: operations.map(|(&name, &count)| (name.into(), count)).collect(),
        engines_ns: by_engines.then_some(under_way),
        offloading_ns: by_engines.then(|| done.offloading.as_ns()),
        core_ns: (!by_engines).then_some(under_way),
        without_core_cost: logged.without_core_cost,
        ..ReplayedPhaseResult::default()
    }
}

fn total(phases: &[ReplayedPhaseResult]) -> ReplayedPhaseResult {
    let sum = |of: fn(&ReplayedPhaseResult) -> Option<f64>| phases.iter().map(of).sum();
    let mut operations: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in phases.iter().flat_map(|phase| &phase.operations) {
        *operations.entry(name.clone()).or_default() += count;
    }
    ReplayedPhaseResult {
        from_ns: phases.iter().map(|phase| phase.from_ns).fold(f64::INFINITY, f64::min),
        until_ns: phases.iter().map(|phase| phase.until_ns).fold(0.0, f64::max),
        descriptors: phases.iter().map(|phase| phase.descriptors).sum(),
        bytes: phases.iter().map(|phase| phase.bytes).sum(),
        operations,
        engines_ns: sum(|phase| phase.engines_ns),
        offloading_ns: sum(|phase| phase.offloading_ns),
        core_ns: sum(|phase| phase.core_ns),
        without_core_cost: phases.iter().map(|phase| phase.without_core_cost).sum(),
        ..ReplayedPhaseResult::default()
    }
}

fn notes(total: &ReplayedPhaseResult) -> Vec<String> {
    if total.without_core_cost == 0 {
        return Vec::new();
    }
    let operations = total.operations.iter();
    let without = operations.filter(|(name, _)| matches!(name.as_str(), "no-op" | "drain"));
    let named: Vec<String> = without.map(|(name, count)| format!("{count} {name}")).collect();
    vec![format!(
        "The model has no time of a core for {}: what a core does itself needs no descriptor without \
         data. The column of the core leaves them out, that of engines does not",
        named.join(" and ")
    )]
}

impl RunResult {
    /// Adds the times of a run of the same scenario without engines, and puts the comparison before the answer.
    pub(crate) fn compare_replays(&mut self, by_cores: &Self) {
        for (replay, other) in self.replays.iter_mut().zip(&by_cores.replays) {
            replay.compare(other);
        }
        if let Some(compared) = self.replays.iter().find_map(comparison_sentence) {
            self.answer = format!("{compared}. {}", self.answer);
        }
    }
}

/// The sentence that compares engines and cores over the whole log; `None` if one of the times is missing.
fn comparison_sentence(replay: &ReplayResult) -> Option<String> {
    let total = &replay.total;
    let (engines, core) = (total.engines_ns?, total.core_ns?);
    let ratio = total.core_by_engines?;
    Some(format!(
        "Engines take {:.3} ms for {}; cores that do the same themselves take {:.3} ms, {ratio:.2} \
         times as long",
        engines / 1e6,
        work_text(total),
        core / 1e6
    ))
}

/// The operations of a log in words: "the log's 560 copies with 4.59 MB".
fn work_text(total: &ReplayedPhaseResult) -> String {
    let work = match total.operations.keys().map(String::as_str).collect::<Vec<_>>()[..] {
        ["copy"] => "copies",
        ["fill"] => "fills",
        ["compare"] => "compares",
        _ => "operations",
    };
    let bytes = total.bytes as f64;
    let data = match bytes {
        bytes if bytes >= 1e9 => format!("{} GB", three_digits(bytes / 1e9)),
        bytes if bytes >= 1e6 => format!("{} MB", three_digits(bytes / 1e6)),
        bytes => format!("{} kB", three_digits(bytes / 1e3)),
    };
    let count = total.descriptors;
    if work != "operations" {
        return format!("the log's {count} {work} with {data}");
    }
    let each = total.operations.iter().map(|(name, count)| format!("{count} {name}"));
    let each: Vec<String> = each.collect();
    format!("the log's {count} operations ({}) with {data}", each.join(", "))
}
