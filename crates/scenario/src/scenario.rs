//! A scenario: a run on a platform.
//!
//! The top-level keys of a scenario file describe the machine and its main tenant; `[[tenant]]` tables
//! add others, which inherit the keys that they do not state, but for a few that follow from platform or
//! cores.

pub(crate) mod check;
mod controller;
mod event;
mod recorded;
mod split;
mod tenant;
mod testbed;

pub use controller::{ControllerKeys, ControllerKind};
pub use event::EventKeys;
pub(crate) use split::inherits;
pub use tenant::{InitialContent, MAIN, MemoryNode, PageSize, Tenant, TenantKeys};
pub use testbed::{Testbed, TestbedSetting};

use crate::apps::Application;
use crate::co_runner::CoRunnerKeys;
use crate::devices::{DeviceKind, NamedDevices};
use crate::input::error::InputError;
use crate::input::{document, schema};
use crate::plan::inert::{StatedInert, stated_inert};
use crate::platform::{GHZ, Platform, ReplacedFacts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The load that the default of a tenant's card replaces, unless it is stated.
const OFFERED_GBPS: &str = "offered_gbps";

/// A scenario file, with the overrides of the command line applied.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Scenario {
    /// Keys of the machine.
    #[serde(flatten)]
    pub machine: MachineKeys,
    /// Keys of the main tenant.
    #[serde(flatten)]
    pub main: Tenant,
    /// Tenants besides the main one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Tables<Tenant>")]
    pub tenant: Vec<Tenant>,
    /// Keys of the file that have no effect because of keys of the command line.
    #[serde(skip)]
    pub(crate) overridden: Vec<StatedInert>,
    /// The testbed that the file names, with the settings that it takes from there.
    #[serde(skip)]
    pub testbed: Option<Testbed>,
}

/// Keys of a scenario that hold for the whole machine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MachineKeys {
    /// Description in one line.
    #[serde(default)]
    pub title: String,
    /// The question that it answers.
    #[serde(default)]
    pub question: String,
    /// Name of a known testbed, or path of its file: platform and settings that its experiments share, of
    /// which the scenario takes those that it does not state and that act on its application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::testbed")]
    pub testbed: Option<String>,
    /// Name of a known platform, or path of a platform file. The testbed's own by default.
    #[schemars(schema_with = "schema::platform")]
    pub platform: String,
    /// Replaced facts of the platform, for what-if questions: key of the platform file
    /// (`llc.sets_per_slice`), and its value. `nic` and `pcie` apply to every card, including one that
    /// a tenant names; `ssd` applies to every SSD.
    #[serde(default, skip_serializing_if = "ReplacedFacts::is_empty")]
    pub hardware: ReplacedFacts,
    /// Core clock. The platform's own by default.
    #[serde(default)]
    #[schemars(range(min = GHZ.0, max = GHZ.1))]
    pub core_ghz: Option<f64>,
    /// Clock of mesh and LLC. The platform's own by default.
    #[serde(default)]
    #[schemars(range(min = GHZ.0, max = GHZ.1))]
    pub uncore_ghz: Option<f64>,
    /// Co-runners besides the tenants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Tables<CoRunnerKeys>")]
    pub co_runner: Vec<CoRunnerKeys>,
    /// Changes while the machine runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Tables<EventKeys>")]
    pub event: Vec<EventKeys>,
    /// A controller that changes ways of the LLC by what counters say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerKeys>,
    /// How long to run.
    #[serde(default)]
    pub run: RunKeys,
}

/// A value that a file may give as `[[key]]` or, if there is only one, as `[key]`: for schemas only.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[allow(dead_code)]
enum Tables<T> {
    Several(Vec<T>),
    One(T),
}

/// How long to run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunKeys {
    /// Packets, or operations of a program that moves none, per batch of the statistics.
    #[schemars(range(min = check::BATCH_PACKETS.0, max = check::BATCH_PACKETS.1))]
    pub batch_packets: u64,
    /// Least number of batches.
    #[schemars(range(min = check::BATCHES.0, max = check::BATCHES.1))]
    pub min_batches: u32,
    /// Largest number of batches, even if the intervals are still wide.
    #[schemars(range(min = check::BATCHES.0, max = check::BATCHES.1))]
    pub max_batches: u32,
    /// Half width of the 95 % interval of both hit rates at which the run may stop.
    #[schemars(range(min = check::INTERVAL.0, max = check::INTERVAL.1))]
    pub hit_rate_interval_points: f64,
    /// Relative half width of the 95 % interval of throughput at which the run may stop, in percent.
    #[schemars(range(min = check::INTERVAL.0, max = check::INTERVAL.1))]
    pub throughput_interval_percent: f64,
    /// The result has a timeline: metrics batch by batch, with the LLC occupancy of every agent. It has one
    /// anyway if settings change during the run.
    pub timeline: bool,
}

impl Default for RunKeys {
    fn default() -> Self {
        Self {
            batch_packets: 8192,
            min_batches: 10,
            max_batches: 60,
            hit_rate_interval_points: 0.5,
            throughput_interval_percent: 0.5,
            timeline: false,
        }
    }
}

impl Scenario {
    /// Reads a scenario from TOML; `file` is its name in messages.
    ///
    /// # Errors
    /// If the text is invalid or a key is unknown, missing or of the wrong kind.
    pub fn read(
        file: &str,
        text: &str,
        overrides: &[(String, String)],
    ) -> Result<Self, InputError> {
        for (key, _) in overrides {
            split::refuse_device_key("--set", key)?;
        }
        let mut scenario = testbed::scenario(file, document::parse(file, text, overrides)?)?;
        if !overrides.is_empty() {
            scenario.overridden = overridden(&scenario, file, text, overrides);
        }
        Ok(scenario)
    }

    /// Replaced facts that the platform's file must know: all except those of devices that have files
    /// of their own.
    #[must_use]
    pub fn platform_facts(&self) -> ReplacedFacts {
        let named = |kind| self.tenants().map(move |tenant| tenant.devices.named(kind).is_some());
        let is_its_own = |key: &str| {
            let table = key.split('.').next();
            match DeviceKind::ALL.into_iter().find(|kind| table == Some(kind.key())) {
                Some(kind) if kind.is_part_of_platform() => !named(kind).all(|it_is| it_is),
                Some(kind) => !named(kind).any(|it_is| it_is),
                None => true,
            }
        };
        let own = self.machine.hardware.iter().filter(|(key, _)| is_its_own(key));
        own.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Records the defaults by platform, devices and applications of keys that are not stated. `named`
    /// has an entry per tenant.
    pub(crate) fn fill_in(&mut self, platform: &Platform, named: &[NamedDevices]) {
        let all_ways = platform.llc.all_ways_mask();
        self.machine.core_ghz.get_or_insert(platform.cpu.core_ghz.value);
        self.machine.uncore_ghz.get_or_insert(platform.cpu.uncore_ghz.value);
        for co_runner in &mut self.machine.co_runner {
            co_runner.way_mask.get_or_insert(all_ways);
        }
        // Tenants inherit what the main one states.
        let main_states_load = self.main.stated.contains(OFFERED_GBPS);
        let tenants = std::iter::once(&mut self.main).chain(&mut self.tenant);
        for (tenant, named) in tenants.zip(named) {
            tenant.keys.core_way_mask.get_or_insert(all_ways);
            let (socket, cores) = (tenant.keys.socket, tenant.keys.cores);
            let states_load = main_states_load || tenant.stated.contains(OFFERED_GBPS);
            tenant.devices.fill_in(platform, named, (socket, cores), states_load);
            Application::fill_in(tenant);
        }
    }

    /// What people should know of keys of the file.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> + '_ {
        self.overridden.iter().map(|StatedInert { key, because, .. }| {
            format!("What the file states of {key} has no effect: {because}")
        })
    }

    /// All tenants, the main one first.
    pub fn tenants(&self) -> impl Iterator<Item = &Tenant> {
        std::iter::once(&self.main).chain(&self.tenant)
    }

    /// Whether the result shows metrics over time: if asked for, or if settings change during the run.
    #[must_use]
    pub fn has_timeline(&self) -> bool {
        self.machine.run.timeline
            || !self.machine.event.is_empty()
            || self.machine.controller.is_some()
            || self.tenants().any(|tenant| tenant.devices.port.changes_ways_itself())
    }

    /// Whether a second socket is used.
    #[must_use]
    pub fn uses_other_socket(&self) -> bool {
        let tenant = |tenant: &Tenant| {
            let (keys, port) = (&tenant.keys, &tenant.devices.port);
            let other_memory = tenant.memory_nodes().contains(&MemoryNode::OtherSocket);
            keys.socket > 0 || port.socket(keys.socket) > 0 || other_memory
        };
        self.tenants().any(tenant) || self.machine.co_runner.iter().any(|keys| keys.socket > 0)
    }

    /// Whether a CXL card is used.
    #[must_use]
    pub fn uses_cxl(&self) -> bool {
        self.tenants().any(|tenant| tenant.memory_nodes().contains(&MemoryNode::Cxl))
    }
}

/// Keys of the file that have no effect beside `overrides`, and would have without them.
fn overridden(
    scenario: &Scenario,
    file: &str,
    text: &str,
    overrides: &[(String, String)],
) -> Vec<StatedInert> {
    let alone = document::parse(file, text, &[]).and_then(|table| testbed::scenario(file, table));
    let alone = alone.map(|alone| stated_inert(&alone)).unwrap_or_default();
    let is_override = |found: &StatedInert| {
        let place = found.tenant.checked_sub(1).map(|number| format!("tenant.{number}."));
        let name = format!("{}{}", place.unwrap_or_default(), found.key);
        overrides.iter().any(|(key, _)| *key == name)
    };
    let of_the_file = |found: &StatedInert| {
        let is_inert_anyway =
            alone.iter().any(|it| (it.tenant, &it.key) == (found.tenant, &found.key));
        !is_inert_anyway && !is_override(found)
    };
    stated_inert(scenario).into_iter().filter(of_the_file).collect()
}
