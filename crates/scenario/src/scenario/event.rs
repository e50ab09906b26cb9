//! Changes of a tenant's root ports while the machine runs.

use super::{MAIN, Scenario};
use crate::devices::root_port::PortKeys;
use crate::input::check::Check;
use crate::input::error::InputError;
use crate::platform::{MOST_LLC_WAYS, Platform};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Up to a quarter of an hour.
const AT_US: (f64, f64) = (0.0, 1e9);

/// A change while the machine runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventKeys {
    /// Simulated time of the change.
    #[schemars(range(min = AT_US.0, max = AT_US.1))]
    pub at_us: f64,
    /// The tenant whose root port is changed.
    #[serde(default = "main_name")]
    pub tenant: String,
    /// Ways in which the device may allocate from then on; 0 switches DDIO off.
    #[schemars(range(min = 0, max = MOST_LLC_WAYS))]
    pub ddio_ways: u32,
    /// With DDIO off: descriptors and completions still use the platform's own ways.
    #[serde(default)]
    pub ddio_keeps_descriptors: bool,
}

fn main_name() -> String {
    MAIN.into()
}

impl EventKeys {
    /// The keys of a root port after the event.
    pub(crate) fn changed(&self, port: &PortKeys) -> PortKeys {
        PortKeys {
            ddio_ways: Some(self.ddio_ways),
            ddio_keeps_descriptors: self.ddio_keeps_descriptors,
            ..port.clone()
        }
    }
}

/// Checks the events of a scenario.
pub(crate) fn check(
    scenario: &Scenario,
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    let ways = platform.llc.ways.value;
    for (number, event) in scenario.machine.event.iter().enumerate() {
        let key = |name: &str| format!("event.{number}.{name}");
        check.number(&key("at_us"), event.at_us, AT_US)?;
        check.whole(&key("ddio_ways"), event.ddio_ways, (0, ways), "ways of the LLC")?;
        let Some(tenant) = scenario.tenants().find(|tenant| tenant.keys.name == event.tenant)
        else {
            let names: Vec<&str> =
                scenario.tenants().map(|tenant| tenant.keys.name.as_str()).collect();
            let allowed = format!("allowed: {}", names.join(", "));
            return Err(check.refuse(&key("tenant"), &event.tenant, allowed));
        };
        if tenant.devices.port.changes_ways_itself() {
            let allowed = "this tenant has [dynamic_ways]: one of the two decides".into();
            return Err(check.refuse(&key("tenant"), &event.tenant, allowed));
        }
        if event.ddio_keeps_descriptors && event.ddio_ways > 0 {
            let allowed = "only with ddio_ways = 0".into();
            return Err(check.refuse(&key("ddio_keeps_descriptors"), &true, allowed));
        }
        if platform.root_complex_buffer.is_some() {
            let allowed = "a platform with a [root_complex_buffer] keeps its policy".into();
            return Err(check.refuse(&key("ddio_ways"), &event.ddio_ways, allowed));
        }
    }
    Ok(())
}
