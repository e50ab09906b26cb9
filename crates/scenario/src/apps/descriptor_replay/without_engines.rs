//! The second run of a replay that compares engines with cores: the same scenario without the engines.

use super::ReplayerName;
use crate::apps::Application;
use crate::scenario::{Scenario, Tenant};

/// The scenario with the operations of each log that is compared done by the cores alone; `None` if it
/// compares none. Keys of the engines, and changes of their settings, are left out.
pub(crate) fn without_engines(scenario: &Scenario) -> Option<Scenario> {
    let mut by_cores = scenario.clone();
    let Scenario { main, tenant, machine, .. } = &mut by_cores;
    let mut changed = Vec::new();
    for tenant in std::iter::once(main).chain(tenant) {
        if leave_to_cores(tenant) {
            changed.push(tenant.keys.name.clone());
        }
    }
    machine.event.retain(|event| !changed.contains(&event.tenant));
    (!changed.is_empty()).then_some(by_cores)
}

/// Returns whether the tenant has a log that is compared.
fn leave_to_cores(tenant: &mut Tenant) -> bool {
    let keys = tenant.tables.descriptor_replay.as_mut();
    let keys = keys.filter(|keys| keys.by == ReplayerName::Both);
    let Some(keys) = keys.filter(|_| tenant.keys.application == Application::DescriptorReplay)
    else {
        return false;
    };
    keys.by = ReplayerName::Core;
    let inert = tenant.inert();
    tenant.stated.retain(|stated| !inert.iter().any(|inert| inert.is_about(stated)));
    true
}
