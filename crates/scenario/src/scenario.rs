//! A scenario: what is run on which platform.
//!
//! The keys at the top of a scenario file describe the machine and its main tenant; `[[tenant]]`
//! tables add others, which inherit what they do not state.

mod application;
mod block_io;
mod check;
mod co_runner;
mod defaults;
mod key_value;
mod memory_kernel;
mod placement;
mod split;
mod tenant;

pub use application::{
    Application, ChainKeys, Filtering, L3ForwardKeys, PacketSinkKeys, PacketSourceKeys, PayloadUse,
};
pub use block_io::{BlockIoKeys, BlockOrder, CompletionKind};
pub use co_runner::{AccessPattern, CoRunnerKeys, ProbeKeys};
pub use key_value::{KeyValueKeys, Protocol, WriteRequests};
pub use memory_kernel::{MemoryKernelKeys, SliceChoice};
pub use placement::{DynamicWaysKeys, EventKeys, PlacementKeys};
pub use tenant::{
    ArrivalProcess, InitialContent, IommuPages, MAIN, MemoryNode, PageSize, Pattern, PingPongKeys,
    SizeMix, Tenant, TrafficKeys,
};

use crate::equipment::Equipment;
use crate::input::document;
use crate::input::error::InputError;
use crate::platform::{Platform, ReplacedFacts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scenario file, with the overrides of the command line in it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Scenario {
    /// Keys of the machine.
    #[serde(flatten)]
    pub machine: MachineKeys,
    /// Keys of the main tenant.
    #[serde(flatten)]
    pub main: Tenant,
    /// Tenants beside the main one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Tables<Tenant>")]
    pub tenant: Vec<Tenant>,
}

/// Keys of a scenario that hold for the whole machine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MachineKeys {
    /// What this is, in a line.
    #[serde(default)]
    pub title: String,
    /// The question that it answers.
    #[serde(default)]
    pub question: String,
    /// Name of a known platform, or path of a platform file.
    pub platform: String,
    /// Facts of the platform that are replaced, for what-if questions: key of the platform file
    /// (`llc.sets_per_slice`), and its value. `nic` and `pcie` are those of every card, also of one that
    /// a tenant names; `ssd` is that of every SSD.
    #[serde(default, skip_serializing_if = "ReplacedFacts::is_empty")]
    pub hardware: ReplacedFacts,
    /// Core clock. The platform's own by default.
    #[serde(default)]
    pub core_ghz: Option<f64>,
    /// Clock of mesh and LLC. The platform's own by default.
    #[serde(default)]
    pub uncore_ghz: Option<f64>,
    /// What runs beside the tenants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Tables<CoRunnerKeys>")]
    pub co_runner: Vec<CoRunnerKeys>,
    /// Changes while the machine runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Tables<EventKeys>")]
    pub event: Vec<EventKeys>,
    /// How long to run.
    #[serde(default)]
    pub run: RunKeys,
}

/// What a file may give as `[[key]]` or, if there is one, as `[key]`: for schemas only.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[allow(dead_code)]
enum Tables<T> {
    Several(Vec<T>),
    One(T),
}

/// How long to run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunKeys {
    /// Packets per batch of the statistics.
    #[serde(default = "defaults::batch_packets")]
    pub batch_packets: u64,
    /// Batches to run at least.
    #[serde(default = "defaults::min_batches")]
    pub min_batches: u32,
    /// Batches to run at most, however wide the intervals still are.
    #[serde(default = "defaults::max_batches")]
    pub max_batches: u32,
    /// Half width of the 95 % interval of both hit rates at which the run may stop.
    #[serde(default = "defaults::hit_rate_interval_points")]
    pub hit_rate_interval_points: f64,
    /// The same for throughput, relative.
    #[serde(default = "defaults::throughput_interval_percent")]
    pub throughput_interval_percent: f64,
}

impl Default for RunKeys {
    fn default() -> Self {
        Self {
            batch_packets: defaults::batch_packets(),
            min_batches: defaults::min_batches(),
            max_batches: defaults::max_batches(),
            hit_rate_interval_points: defaults::hit_rate_interval_points(),
            throughput_interval_percent: defaults::throughput_interval_percent(),
        }
    }
}

impl Scenario {
    /// Reads a scenario from TOML; `file` is its name in messages.
    ///
    /// # Errors
    /// If the text is damaged or a key is unknown, missing or of the wrong kind.
    pub fn read(
        file: &str,
        text: &str,
        overrides: &[(String, String)],
    ) -> Result<Self, InputError> {
        for (key, _) in overrides {
            split::refuse_device_key("--set", key)?;
        }
        split::scenario(file, document::parse(file, text, overrides)?)
    }

    /// Replaced facts that the platform's file has to know: all but those of devices that have files of
    /// their own.
    #[must_use]
    pub fn platform_facts(&self) -> ReplacedFacts {
        let own_card = self.tenants().any(|tenant| tenant.nic.is_none());
        let no_ssd = self.tenants().all(|tenant| tenant.ssd.is_none());
        let is_its_own = |key: &str| match key.split('.').next() {
            Some("nic") => own_card,
            Some("ssd") => no_ssd,
            _ => true,
        };
        let own = self.machine.hardware.iter().filter(|(key, _)| is_its_own(key));
        own.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Checks every value against its range, against `platform` and against the `equipment` of each
    /// tenant, and fills in what they decide.
    ///
    /// # Errors
    /// Names the first value that is out of range or does not go with another.
    pub fn resolve(
        mut self,
        file: &str,
        platform: &Platform,
        equipment: &[Equipment],
    ) -> Result<Self, InputError> {
        let all_ways = platform.llc.all_ways_mask();
        self.machine.core_ghz.get_or_insert(platform.cpu.core_ghz.value);
        self.machine.uncore_ghz.get_or_insert(platform.cpu.uncore_ghz.value);
        for co_runner in &mut self.machine.co_runner {
            co_runner.way_mask.get_or_insert(all_ways);
        }
        let name = &self.machine.platform;
        let tenants = std::iter::once(&mut self.main).chain(&mut self.tenant);
        let mut servers = Vec::new();
        for (tenant, equipment) in tenants.zip(equipment) {
            let server = equipment.server(platform, name)?;
            let sends = server.nic.default_tx_packets(tenant.cores);
            tenant.ddio_ways.get_or_insert(server.ddio.default_ways.value);
            tenant.core_way_mask.get_or_insert(all_ways);
            tenant.tx_descriptors.get_or_insert(sends);
            tenant.nic_socket.get_or_insert(tenant.socket);
            if tenant.application == Application::PingPong {
                let PingPongKeys { message_bytes, header_bytes } = tenant.ping_pong;
                tenant.packet_bytes = message_bytes.saturating_add(header_bytes);
            }
            servers.push(server);
        }
        check::scenario(&self, file, platform, &servers)?;
        Ok(self)
    }

    /// All tenants, the main one first.
    pub fn tenants(&self) -> impl Iterator<Item = &Tenant> {
        std::iter::once(&self.main).chain(&self.tenant)
    }

    /// Whether settings change while the machine runs.
    #[must_use]
    pub fn changes_over_time(&self) -> bool {
        !self.machine.event.is_empty() || self.tenants().any(Tenant::changes_ways_itself)
    }

    /// Whether a second socket takes part.
    #[must_use]
    pub fn uses_other_socket(&self) -> bool {
        let tenant = |tenant: &Tenant| {
            let other_memory = tenant.memory_node == MemoryNode::OtherSocket;
            tenant.socket > 0 || tenant.nic_socket() > 0 || other_memory
        };
        self.tenants().any(tenant) || self.machine.co_runner.iter().any(|keys| keys.socket > 0)
    }

    /// Whether a CXL card takes part.
    #[must_use]
    pub fn uses_cxl(&self) -> bool {
        self.tenants().any(|tenant| tenant.memory_node == MemoryNode::Cxl)
    }
}
