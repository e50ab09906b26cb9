//! Stated keys of a scenario that would not change the simulated machine.

use super::{Scenario, Tenant, inherits};
use crate::contract::inert::Inert;

/// A key that a tenant states without effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatedInert {
    /// Number of the tenant, the main one first.
    pub tenant: usize,
    /// Name of the key or table.
    pub key: String,
    /// Why it has no effect.
    pub because: String,
}

/// Stated keys without effect. What the main tenant states may be for tenants that inherit it.
pub(crate) fn stated_inert(scenario: &Scenario) -> Vec<StatedInert> {
    let inert: Vec<Vec<Inert>> = scenario.tenants().map(Tenant::inert).collect();
    let why = |tenant: usize, key: &str| inert[tenant].iter().find(|inert| inert.is_about(key));
    let serves_another = |key: &str| {
        let mut others = (1..).zip(&scenario.tenant);
        others.any(|(other, tenant)| inherits(tenant, key) && why(other, key).is_none())
    };
    let mut found = Vec::new();
    for (number, tenant) in scenario.tenants().enumerate() {
        for key in &tenant.stated {
            if let Some(inert) = why(number, key)
                && (number > 0 || !serves_another(key))
            {
                let (key, because) = (key.clone(), inert.because.clone());
                found.push(StatedInert { tenant: number, key, because });
            }
        }
    }
    found
}
