//! The stable names of results. Each metric is declared once, in the file of its subject: name, unit,
//! group, label, a sentence, and its computation from a sample; those of devices are in the modules of
//! their kinds. This file only lists them: those that a run measures, and all that exist.

mod cache;
mod core;
pub mod latency;
mod machine;
mod memory;
mod offload;
mod probe;

pub use crate::contract::metric::{Declaration, Description, Group, Kind, Measured};

use crate::contract::application_cores::ApplicationCores;
use crate::contract::metric::{Entry, Numbers, Scope, entries, entry, measured};
use crate::contract::sample::Sample;
use crate::contract::tenant::MAIN;
use crate::kinds::root_port::metrics as root_port;
use crate::kinds::{Application, DeviceClass};
use crate::plan::layout::Layout;
use std::collections::{BTreeMap, BTreeSet};
use units::Id;

/// All metrics of a run but its latencies, which come from histograms: first those of the machine, then those
/// of each tenant.
#[must_use]
pub fn all(layout: &Layout, core_ghz: f64) -> Vec<Measured> {
    let machine = || machine::MachineAgents { agents: layout.agent_names() };
    let mut metrics: Vec<Measured> = measured(cache::METRICS, "", machine()).collect();
    metrics.extend(measured(memory::METRICS, "", machine()));
    metrics.extend(measured(core::METRICS, "", machine()));
    if !layout.probes.is_empty() {
        let numbers = layout.probes.iter().map(|core| core.index()).collect();
        metrics.extend(measured(probe::METRICS, "", probe::ProbingCores { numbers }));
    }
    for (number, tenant) in layout.tenants.iter().enumerate() {
        metrics.extend(core_metrics(layout, number, core_ghz));
        let cores = tenant.cores.iter().map(|core| core.index()).collect();
        let own = ApplicationCores { cores };
        let of_application = tenant.application.metrics();
        metrics.extend(measured(of_application, &prefix(&tenant.name), own));
        if tenant.moves_data {
            let cores = tenant.cores.iter().map(|core| core.index()).collect();
            let movers = offload::Movers { cores };
            metrics.extend(measured(offload::METRICS, &prefix(&tenant.name), movers));
        }
        for kind in DeviceClass::ALL {
            let devices = layout.devices_of_kind(number, kind);
            metrics.extend(kind.tenant_metrics(&prefix(&tenant.name), &devices));
        }
        metrics.extend(root_port_metrics(layout, number));
    }
    metrics
}

fn core_metrics(
    layout: &Layout,
    number: usize,
    core_ghz: f64,
) -> impl Iterator<Item = Measured> + use<> {
    let tenant = &layout.tenants[number];
    let numbers = tenant.cores.iter().map(|core| core.index()).collect();
    let devices = layout.devices_of(number).collect();
    let cores = core::TenantCores { numbers, devices, core_ghz };
    measured(core::TENANT_METRICS, &prefix(&tenant.name), cores)
}

/// The hit rates of the main tenant's root ports carry its name, also where it is the only tenant: the
/// plain names stand for all devices together.
fn root_port_metrics(layout: &Layout, number: usize) -> Vec<Measured> {
    let numbers: Vec<usize> = layout.ports_of(number).map(Id::index).collect();
    let Some(&first) = numbers.first() else { return Vec::new() };
    let tenant = &layout.tenants[number];
    let ports = || root_port::RootPorts { first, numbers: numbers.clone() };
    let mut metrics: Vec<Measured> =
        measured(root_port::METRICS, &prefix(&tenant.name), ports()).collect();
    metrics.extend(measured(root_port::SHARED_METRICS, &format!("{}:", tenant.name), ports()));
    let named = layout.engine_ports_of(number);
    if !named.is_empty() {
        let engines = root_port::EnginePorts { named };
        metrics.extend(measured(root_port::ENGINE_METRICS, &prefix(&tenant.name), engines));
    }
    metrics
}

/// Prefix of the names of a tenant's metrics: the tenant's name and a colon, empty for the main tenant.
#[must_use]
pub(crate) fn prefix(tenant: &str) -> String {
    if tenant == MAIN { String::new() } else { format!("{tenant}:") }
}

/// The metrics of a batch that timelines show. A number of a metric with several is called `METRIC.NAME`, as in
/// tables.
#[must_use]
pub(crate) fn timeline(layout: &Layout, core_ghz: f64, sample: &Sample) -> BTreeMap<String, f64> {
    let shown = all(layout, core_ghz).into_iter().filter(|metric| metric.declaration.in_timeline);
    let numbers = |metric: Measured| match metric.numbers(sample) {
        Numbers::One(number) => vec![(metric.name, number)],
        Numbers::Parts(parts) => {
            let part = |(part, number)| (format!("{}.{part}", metric.name), number);
            parts.into_iter().map(part).collect()
        }
    };
    shown.flat_map(numbers).collect()
}

/// The reference of all metrics that exist, each name once, in the order of the tables.
#[must_use]
pub fn reference() -> Vec<Entry> {
    use Scope::{Machine, Tenant};
    let latencies = latency::METRICS
        .into_iter()
        .chain(&latency::PHASES)
        .map(|declaration| entry(declaration, None, Some("figure"), Tenant));
    let mut entries: Vec<Entry> = entries(cache::METRICS, Machine)
        .chain(entries(root_port::METRICS, Tenant))
        .chain(entries(root_port::SHARED_METRICS, Tenant))
        .chain(entries(root_port::ENGINE_METRICS, Tenant))
        .chain(DeviceClass::ALL.into_iter().flat_map(DeviceClass::metrics))
        .chain(entries(memory::METRICS, Machine))
        .chain(entries(core::TENANT_METRICS, Tenant))
        .chain(entries(core::METRICS, Machine))
        .chain(entries(offload::METRICS, Tenant))
        .chain(Application::ALL.into_iter().flat_map(|own| entries(own.metrics(), Tenant)))
        .chain(entries(probe::METRICS, Machine))
        .chain(latencies)
        .collect();
    let mut named = BTreeSet::new();
    entries.retain(|entry| named.insert(entry.name));
    entries.sort_by_key(|entry| entry.description.group);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_tells_people_what_it_is() {
        for entry in reference() {
            let name = entry.name;
            assert!(!entry.unit.is_empty() && !entry.description.label.is_empty(), "{name}");
            assert!(entry.about.len() > 15 && entry.about.ends_with('.'), "{name}");
        }
    }

    #[test]
    fn no_two_metrics_of_a_group_have_the_same_label() {
        let mut seen = BTreeSet::new();
        for entry in reference() {
            let Description { group, label, .. } = entry.description;
            assert!(seen.insert((group, label)), "{label}");
        }
    }

    #[test]
    fn a_name_is_declared_once() {
        let names: BTreeSet<&str> = reference().iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), reference().len());
    }
}
