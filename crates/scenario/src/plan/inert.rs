//! Keys of a scenario that would not change the simulated machine. A scenario that states one is refused.

use crate::input::error::InputError;
use crate::scenario::{Scenario, Tenant, inherits};

/// A key, or a table with all its keys, that has no effect on a tenant, and why.
#[derive(Clone, Debug)]
pub(crate) struct Inert {
    /// The key.
    pub key: String,
    /// What decides in its stead, or what the tenant lacks.
    pub because: String,
}

impl Inert {
    /// Several keys for the same reason.
    pub fn all<K: Into<String>>(
        keys: impl IntoIterator<Item = K>,
        because: &str,
    ) -> impl Iterator<Item = Self> {
        keys.into_iter().map(move |key| Self { key: key.into(), because: because.into() })
    }

    /// Whether a stated key is this one, or in this table.
    pub fn is_about(&self, stated: &str) -> bool {
        let rest = stated.strip_prefix(self.key.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// A key that a tenant states without effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatedInert {
    /// The tenant, the main one first.
    pub tenant: usize,
    /// The key.
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

/// Refuses stated keys without effect, but not those of a file that keys of the command line override.
pub(super) fn check(scenario: &Scenario, file: &str) -> Result<(), InputError> {
    check_hardware(scenario, file)?;
    let mut found = stated_inert(scenario).into_iter();
    match found.find(|found| !scenario.overridden.contains(found)) {
        None => Ok(()),
        Some(found) => {
            let tenant = scenario.tenants().nth(found.tenant).map(|it| it.keys.name.as_str());
            let file = match (found.tenant, tenant) {
                (1.., Some(name)) => format!("{file}, tenant `{name}`"),
                _ => file.to_owned(),
            };
            Err(without_effect(&file, &found.key, &found.because))
        }
    }
}

/// Refuses replaced facts that keys of the scenario override.
fn check_hardware(scenario: &Scenario, file: &str) -> Result<(), InputError> {
    let machine = &scenario.machine;
    let with_buffers = |tenant: &Tenant| tenant.devices.nic.buffer_bytes.is_some();
    let overridden = [
        ("cpu.core_ghz", machine.core_ghz.is_some(), "core_ghz"),
        ("cpu.uncore_ghz", machine.uncore_ghz.is_some(), "uncore_ghz"),
        (
            "ddio.default_ways",
            scenario.tenants().all(|tenant| tenant.stated.contains("ddio_ways")),
            "ddio_ways",
        ),
        ("software.buffer_data_bytes", scenario.tenants().all(with_buffers), "buffer_bytes"),
    ];
    for (fact, is_overridden, by) in overridden {
        if is_overridden && machine.hardware.contains_key(fact) {
            let because = format!("the scenario states {by}");
            return Err(without_effect(file, &format!("hardware.{fact}"), &because));
        }
    }
    Ok(())
}

fn without_effect(file: &str, key: &str, because: &str) -> InputError {
    let reason = format!("would have no effect: {because}; leave it out");
    InputError::WrongValue { file: file.into(), key: key.into(), reason }
}
