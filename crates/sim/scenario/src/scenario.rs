//! A scenario: a run on a platform.
//!
//! The top-level keys of a scenario file describe the machine and its main tenant; `[[tenant]]` tables
//! add others, which inherit the keys that they do not state, but for a few that follow from platform or
//! cores.

mod controller;
mod event;
pub(crate) mod inert;
mod recorded;
mod run_keys;
mod split;
mod tenant;
mod testbed;
pub(crate) mod version;

pub(crate) use controller::ControllerKeys;
pub(crate) use controller::{ControllerKind, io_ways};
pub(crate) use event::EventKeys;
pub(crate) use event::check as check_events;
pub(crate) use run_keys::RunKeys;
pub(crate) use split::inherits;
pub(crate) use tenant::Tenant;
pub use testbed::Testbed;
pub use testbed::named_testbed;

use crate::contract::input::Defaults;
use crate::contract::tenant::MemoryNode;
use crate::facts::named_devices::NamedDevices;
use crate::facts::platform::{GHZ, Platform, ReplacedFacts};
use crate::facts::schema;
use crate::kinds::co_runner::CoRunnerKeys;
use crate::kinds::{DeviceClass, fill_in_devices};
use crate::text::document;
use crate::text::error::InputError;
use inert::{StatedInert, stated_inert};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testbed::TestbedFiles;

/// A scenario file, with the overrides of the command line applied.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Scenario {
    /// Keys of the machine.
    #[serde(flatten)]
    pub(crate) machine: MachineKeys,
    /// Keys of the main tenant.
    #[serde(flatten)]
    pub(crate) main: Tenant,
    /// Tenants besides the main one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Tables<Tenant>")]
    pub(crate) tenant: Vec<Tenant>,
    /// Keys of the file that have no effect because of keys of the command line.
    #[serde(skip)]
    pub(crate) overridden: Vec<StatedInert>,
    /// The testbed that the file names, with the settings that it takes from there.
    #[serde(skip)]
    pub testbed: Option<Testbed>,
}

/// Keys of a scenario that hold for the whole machine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineKeys {
    /// Description in one line.
    #[serde(default)]
    pub title: String,
    /// The question that it answers.
    #[serde(default)]
    pub question: String,
    /// Name of a known testbed, or path of its file: platform and settings that its experiments share, of
    /// which the scenario takes those that it does not state and that act on its application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "testbed::schema")]
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
        let mut own = document::parse(file, text)?;
        version::take(file, &mut own)?;
        let mut testbeds = TestbedFiles::default();
        if overrides.is_empty() {
            return testbed::scenario(file, own, &mut testbeds);
        }
        let mut changed = own.clone();
        document::apply_overrides(&mut changed, overrides)?;
        let mut scenario = testbed::scenario(file, changed, &mut testbeds)?;
        let alone = testbed::scenario(file, own, &mut testbeds).ok();
        scenario.overridden = overridden(&scenario, alone.as_ref(), overrides);
        Ok(scenario)
    }

    /// Name of the platform, or path of its file.
    #[must_use]
    pub fn platform_name(&self) -> &str {
        &self.machine.platform
    }

    /// Replaced facts that the platform's file must know: all except those of devices that have files
    /// of their own.
    #[must_use]
    pub fn platform_facts(&self) -> ReplacedFacts {
        let named = |kind: DeviceClass| {
            self.tenants().map(move |tenant| kind.named(tenant.view()).is_some())
        };
        let is_its_own = |key: &str| {
            let table = key.split('.').next();
            match DeviceClass::ALL.into_iter().find(|kind| table == Some(kind.key())) {
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
        let main_stated = self.main.stated.clone();
        let tenants = std::iter::once(&mut self.main).chain(&mut self.tenant);
        for (tenant, named) in tenants.zip(named) {
            tenant.keys.core_way_mask.get_or_insert(all_ways);
            let application = tenant.application();
            let defaults = Defaults { platform, named, main_stated: &main_stated };
            let mut tenant = tenant.view_mut();
            fill_in_devices(&mut tenant, &defaults);
            application.fill_in(&mut tenant);
        }
    }

    /// Notes on keys of the file for the reader of a result.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> + '_ {
        self.overridden.iter().map(|StatedInert { key, because, .. }| {
            format!("What the file states of {key} has no effect: {because}")
        })
    }

    /// The devices that each tenant names, as their files describe them; `file` is the scenario's.
    ///
    /// # Errors
    /// If a device is unknown, or its file is invalid.
    pub fn named_devices(&self, file: &str) -> Result<Vec<NamedDevices>, InputError> {
        let replaced = &self.machine.hardware;
        self.tenants().map(|tenant| tenant.kinds.devices.read_named(file, replaced)).collect()
    }

    /// The scenario with the operations of each log that is compared done by the cores alone; `None` if it
    /// compares none. Keys of the engines, and changes of their settings, are left out.
    pub(crate) fn without_engines(&self) -> Option<Self> {
        let mut by_cores = self.clone();
        let mut changed = Vec::new();
        for tenant in std::iter::once(&mut by_cores.main).chain(&mut by_cores.tenant) {
            if tenant.leave_to_cores() {
                changed.push(tenant.keys.name.clone());
            }
        }
        by_cores.machine.event.retain(|event| !changed.contains(&event.tenant));
        (!changed.is_empty()).then_some(by_cores)
    }

    /// All tenants, the main one first.
    pub(crate) fn tenants(&self) -> impl Iterator<Item = &Tenant> {
        std::iter::once(&self.main).chain(&self.tenant)
    }

    /// Whether the result shows metrics over time: if asked for, or if settings change during the run.
    #[must_use]
    pub(crate) fn has_timeline(&self) -> bool {
        self.machine.run.timeline
            || !self.machine.event.is_empty()
            || self.machine.controller.is_some()
            || self.tenants().any(|tenant| tenant.kinds.devices.port.changes_ways_itself())
    }

    /// Whether a second socket is used.
    #[must_use]
    pub(crate) fn uses_other_socket(&self) -> bool {
        let tenant = |tenant: &Tenant| {
            let (keys, port) = (&tenant.keys, &tenant.kinds.devices.port);
            let other_memory = tenant.memory_nodes().contains(&MemoryNode::OtherSocket);
            keys.socket > 0 || port.socket(keys.socket) > 0 || other_memory
        };
        self.tenants().any(tenant) || self.machine.co_runner.iter().any(|keys| keys.socket > 0)
    }

    /// Whether a CXL card is used.
    #[must_use]
    pub(crate) fn uses_cxl(&self) -> bool {
        self.tenants().any(|tenant| tenant.memory_nodes().contains(&MemoryNode::Cxl))
    }
}

/// The text of a scenario file with `overrides` in it, without comments if there are any; `file` is its name
/// in messages.
///
/// # Errors
/// If the text is not TOML, or an override passes through a value that is not a table.
pub fn changed_text(
    file: &str,
    text: &str,
    overrides: &[(String, String)],
) -> Result<String, InputError> {
    if overrides.is_empty() {
        return Ok(text.into());
    }
    let mut table = document::parse(file, text)?;
    document::apply_overrides(&mut table, overrides)?;
    toml::to_string(&table)
        .map_err(|error| InputError::Syntax { file: file.into(), reason: error.to_string() })
}

/// Keys of the file that have no effect beside `overrides`, and would have in the file `alone`, if that is
/// a scenario without them.
fn overridden(
    scenario: &Scenario,
    alone: Option<&Scenario>,
    overrides: &[(String, String)],
) -> Vec<StatedInert> {
    let alone = alone.map(stated_inert).unwrap_or_default();
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
