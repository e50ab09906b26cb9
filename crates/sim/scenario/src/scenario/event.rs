//! Changes of a tenant's root ports and copy engines while the machine runs.

use super::{Scenario, Tenant};
use crate::contract::input::DeviceChange;
use crate::contract::tenant::MAIN;
use crate::facts::platform::{MOST_LLC_WAYS, Platform};
use crate::kinds::root_port::PortKeys;
use crate::text::check::Check;
use crate::text::error::InputError;
use model::device::dsa::QUEUE_ENTRIES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

/// Up to a quarter of an hour.
const AT_US: (f64, f64) = (0.0, 1e9);
const CACHE_CONTROL: (u32, u32) = (0, 1);
const THRESHOLD: (u32, u32) = (1, QUEUE_ENTRIES);

/// A change while the machine runs: of DDIO ways, of cache control, or of thresholds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EventKeys {
    /// Simulated time of the change.
    #[schemars(range(min = AT_US.0, max = AT_US.1))]
    pub at_us: f64,
    /// The tenant whose devices are changed.
    #[serde(default = "main_name")]
    pub tenant: String,
    /// Ways in which the device may allocate from then on; 0 switches DDIO off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MOST_LLC_WAYS))]
    pub ddio_ways: Option<u32>,
    /// With DDIO off: descriptors and completions still use the platform's own ways.
    #[serde(default)]
    pub ddio_keeps_descriptors: bool,
    /// Cache control of descriptors that the tenant's cores prepare from then on: destinations go into the
    /// DDIO ways (1) or to memory (0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = CACHE_CONTROL.0, max = CACHE_CONTROL.1))]
    pub cache_control: Option<u32>,
    /// Threshold of every shared queue of the tenant's copy engines from then on. Nothing else of a queue
    /// may change while it is enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = THRESHOLD.0, max = THRESHOLD.1))]
    pub threshold: Option<u32>,
}

fn main_name() -> String {
    MAIN.into()
}

impl EventKeys {
    /// Simulated time of the event.
    pub(crate) fn at(&self) -> Picos {
        Picos::from_ns(self.at_us * 1e3)
    }

    /// Its change of devices beside their root ports.
    pub(crate) fn device_change(&self) -> DeviceChange {
        let Self { cache_control, threshold, .. } = *self;
        DeviceChange { at: self.at(), cache_control, threshold }
    }

    /// The keys of a root port after the event, if it changes them.
    pub(crate) fn changed(&self, port: &PortKeys) -> Option<PortKeys> {
        self.ddio_ways.map(|ways| PortKeys {
            ddio_ways: Some(ways),
            ddio_keeps_descriptors: self.ddio_keeps_descriptors,
            ..port.clone()
        })
    }
}

/// Checks the events of a scenario.
/// # Errors
/// Names the first value that is out of range or contradicts another.
pub(crate) fn check(
    scenario: &Scenario,
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    for (number, event) in scenario.machine.event.iter().enumerate() {
        let event = NumberedEvent { number, event, check };
        check.number(&event.key("at_us"), event.event.at_us, AT_US)?;
        let Some(tenant) = scenario.tenants().find(|it| it.keys.name == event.event.tenant) else {
            let names: Vec<&str> =
                scenario.tenants().map(|tenant| tenant.keys.name.as_str()).collect();
            let allowed = format!("allowed: {}", names.join(", "));
            return Err(check.refuse(&event.key("tenant"), &event.event.tenant, allowed));
        };
        event.check_ways(tenant, platform)?;
        event.check_engines(tenant)?;
        let changes = [event.event.ddio_ways, event.event.cache_control, event.event.threshold];
        if changes.iter().all(Option::is_none) {
            let allowed = "changes nothing: state ddio_ways, cache_control or threshold".into();
            return Err(check.refuse(&event.key("at_us"), &event.event.at_us, allowed));
        }
    }
    Ok(())
}

/// An event with its number in the file.
struct NumberedEvent<'s> {
    number: usize,
    event: &'s EventKeys,
    check: &'s Check<'s>,
}

impl NumberedEvent<'_> {
    fn key(&self, name: &str) -> String {
        format!("event.{}.{name}", self.number)
    }

    fn check_ways(&self, tenant: &Tenant, platform: &Platform) -> Result<(), InputError> {
        let (event, check) = (self.event, self.check);
        if event.ddio_keeps_descriptors && event.ddio_ways != Some(0) {
            let allowed = "only with ddio_ways = 0".into();
            return Err(check.refuse(&self.key("ddio_keeps_descriptors"), &true, allowed));
        }
        let Some(ways) = event.ddio_ways else { return Ok(()) };
        let most = platform.llc.ways.value;
        check.whole(&self.key("ddio_ways"), ways, (0, most), "ways of the LLC")?;
        if tenant.kinds.devices.port.changes_ways_itself() {
            let allowed = "this tenant has [dynamic_ways]: one of the two decides".into();
            return Err(check.refuse(&self.key("tenant"), &event.tenant, allowed));
        }
        if platform.root_complex_buffer.is_some() {
            let allowed = "a platform with a [root_complex_buffer] keeps its policy".into();
            return Err(check.refuse(&self.key("ddio_ways"), &ways, allowed));
        }
        Ok(())
    }

    /// An event cannot change a setting on which the key of the tenant does not act.
    fn check_engines(&self, tenant: &Tenant) -> Result<(), InputError> {
        let check = self.check;
        if let Some(cache_control) = self.event.cache_control {
            let key = self.key("cache_control");
            check.whole(&key, cache_control, CACHE_CONTROL, "")?;
            if let Some(because) = tenant.why_inert("offload.cache_control") {
                return Err(check.refuse(&key, &cache_control, format!("refused: {because}")));
            }
        }
        let Some(threshold) = self.event.threshold else { return Ok(()) };
        let key = self.key("threshold");
        check.whole(&key, threshold, THRESHOLD, "entries")?;
        if let Some(because) = tenant.why_inert("dsa.instances") {
            return Err(check.refuse(&key, &threshold, format!("refused: {because}")));
        }
        match tenant.kinds.devices.dsa.dsa.smallest_shared() {
            Some(entries) => {
                let what = "entries, no more than the smallest shared queue has";
                check.whole(&key, threshold, (1, entries), what)
            }
            None => {
                let allowed = "refused: no queue is shared, and a dedicated one refuses nothing";
                Err(check.refuse(&key, &threshold, allowed.into()))
            }
        }
    }
}
