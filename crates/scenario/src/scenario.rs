//! A scenario: what is run on which platform. Defaults are those of the measured testbed.

mod check;

use crate::check::Check;
use crate::document;
use crate::error::InputError;
use crate::platform::Platform;
use model::traffic::WIRE_OVERHEAD_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scenario file, with the overrides of the command line in it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// What this is, in a line.
    #[serde(default)]
    pub title: String,
    /// The question that it answers.
    #[serde(default)]
    pub question: String,
    /// Name of a known platform, or path of a platform file.
    pub platform: String,
    /// What the cores run.
    #[serde(default)]
    pub application: Application,
    /// Cores in use, one receive and one send queue each.
    #[serde(default = "defaults::cores")]
    pub cores: u32,
    /// Receive descriptors per queue.
    #[serde(default = "defaults::rx_descriptors")]
    pub rx_descriptors: u32,
    /// Frame size without FCS.
    #[serde(default = "defaults::packet_bytes")]
    pub packet_bytes: u64,
    /// Offered load on the wire: FCS, preamble and gap included.
    #[serde(default = "defaults::offered_gbps")]
    pub offered_gbps: f64,
    /// Ways in which the device may allocate; 0 switches DDIO off. The platform's own by default.
    #[serde(default)]
    pub ddio_ways: Option<u32>,
    /// With DDIO off: descriptors and completions still use the platform's own ways, as ATC'20
    /// supposes of a root port that is switched off.
    #[serde(default)]
    pub ddio_keeps_descriptors: bool,
    /// With DDIO off: a DMA read takes the line out of the caches, as on parts before Ivy Bridge.
    #[serde(default)]
    pub evict_on_dma_read: bool,
    /// The socket that the NIC is attached to: 0 is the one with the forwarding cores.
    #[serde(default)]
    pub nic_socket: u32,
    /// The memory that buffers and rings lie in.
    #[serde(default)]
    pub memory_node: MemoryNode,
    /// Pages in which the IOMMU translates device addresses.
    #[serde(default)]
    pub iommu: IommuPages,
    /// Extra std::mt19937 calls per packet.
    #[serde(default)]
    pub rng_calls: u32,
    /// Core clock. The platform's own by default.
    #[serde(default)]
    pub core_ghz: Option<f64>,
    /// Clock of mesh and LLC. The platform's own by default.
    #[serde(default)]
    pub uncore_ghz: Option<f64>,
    /// CAT mask of the forwarding cores. All ways by default.
    #[serde(default)]
    pub core_way_mask: Option<u32>,
    /// Packets that a send ring holds. 256 by default, 2048 with more than two queues, as the
    /// testbed's driver chooses.
    #[serde(default)]
    pub tx_descriptors: Option<u32>,
    /// Packets that may wait before the send ring.
    #[serde(default = "defaults::internal_queue")]
    pub internal_queue: u32,
    /// Packets per receive and send burst.
    #[serde(default = "defaults::burst")]
    pub burst: u32,
    /// Buffers of the pool that all cores share.
    #[serde(default = "defaults::pool_buffers")]
    pub pool_buffers: u32,
    /// Buffers that a core keeps in its pool cache.
    #[serde(default = "defaults::pool_cache")]
    pub pool_cache: u32,
    /// Pages that driver memory is made of.
    #[serde(default)]
    pub page_size: PageSize,
    /// What the CPU has touched before time zero.
    #[serde(default)]
    pub initial_content: InitialContent,
    /// What arrives.
    #[serde(default)]
    pub traffic: TrafficKeys,
    /// What runs beside the forwarding cores.
    #[serde(default)]
    pub co_runner: Option<CoRunnerKeys>,
    /// How long to run.
    #[serde(default)]
    pub run: RunKeys,
}

/// What the cores run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Application {
    /// Run-to-completion L2 forwarder.
    #[default]
    L2Forward,
}

/// A memory node, seen from the forwarding cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryNode {
    /// DRAM of the forwarding cores' socket.
    #[default]
    Local,
    /// DRAM of the other socket.
    OtherSocket,
    /// CXL memory attached to the forwarding cores' socket.
    Cxl,
}

/// What the IOMMU does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IommuPages {
    /// Device addresses are physical.
    #[default]
    #[serde(rename = "off")]
    Off,
    /// It translates 4 KiB pages.
    #[serde(rename = "4K")]
    Base4K,
    /// It translates 2 MiB pages.
    #[serde(rename = "2M")]
    Huge2M,
    /// It translates 1 GiB pages.
    #[serde(rename = "1G")]
    Huge1G,
}

impl IommuPages {
    /// Bytes of a page, unless it is off.
    #[must_use]
    pub fn bytes(self) -> Option<u64> {
        match self {
            Self::Off => None,
            Self::Base4K => Some(4 << 10),
            Self::Huge2M => Some(2 << 20),
            Self::Huge1G => Some(1 << 30),
        }
    }
}

/// A memory kernel on cores after the forwarding ones.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CoRunnerKeys {
    /// How many cores run it, each with a working set of its own.
    #[serde(default = "defaults::cores")]
    pub cores: u32,
    /// Working set of each.
    pub working_set_bytes: u64,
    /// Order in which it is touched.
    #[serde(default)]
    pub pattern: AccessPattern,
    /// Share of stores.
    #[serde(default)]
    pub store_percent: u32,
    /// Work between two accesses.
    #[serde(default = "defaults::cycles_per_access")]
    pub cycles_per_access: f64,
    /// CAT mask of these cores. All ways by default.
    #[serde(default)]
    pub way_mask: Option<u32>,
}

/// Order in which a working set is touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessPattern {
    /// Any line, independent of the last.
    #[default]
    Random,
    /// One line after another.
    Sequential,
    /// Any line, known only when the last has arrived.
    PointerChase,
}

/// A page size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PageSize {
    /// 2 MiB huge pages.
    #[default]
    #[serde(rename = "2M")]
    Huge2M,
    /// 1 GiB huge pages.
    #[serde(rename = "1G")]
    Huge1G,
}

impl PageSize {
    /// In bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Huge2M => 2 << 20,
            Self::Huge1G => 1 << 30,
        }
    }
}

/// What is in the caches before time zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitialContent {
    /// What building the buffer pool and the rings leaves.
    #[default]
    PoolBuilt,
    /// The same, after the pages were zeroed one after another.
    PagesZeroed,
    /// Nothing.
    Empty,
}

/// Traffic keys.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TrafficKeys {
    /// How synthetic packets are arranged.
    #[serde(default)]
    pub pattern: Pattern,
    /// Trains: threads of the generator.
    #[serde(default = "defaults::generator_threads")]
    pub generator_threads: u32,
    /// Flows, per thread for trains.
    #[serde(default = "defaults::flows")]
    pub flows: u32,
    /// Trains: packets of a flow one after another.
    #[serde(default = "defaults::train_packets")]
    pub train_packets: u32,
    /// A pcap or pcapng file to replay instead.
    #[serde(default)]
    pub pcap: Option<String>,
    /// Scale the capture's times to this rate on the wire.
    #[serde(default)]
    pub scale_to_gbps: Option<f64>,
    /// End after the capture has been replayed this many times, instead of at a tight interval.
    #[serde(default)]
    pub loops: Option<u64>,
}

impl Default for TrafficKeys {
    fn default() -> Self {
        Self {
            pattern: Pattern::default(),
            generator_threads: defaults::generator_threads(),
            flows: defaults::flows(),
            train_packets: defaults::train_packets(),
            pcap: None,
            scale_to_gbps: None,
            loops: None,
        }
    }
}

/// How synthetic packets are arranged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Trains of one flow each from several threads, as the measured testbed's generator.
    #[default]
    Trains,
    /// One packet of each flow in turn.
    Fixed,
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

/// Values of the measured testbed, and of an affordable run.
mod defaults {
    pub fn cores() -> u32 {
        1
    }
    pub fn rx_descriptors() -> u32 {
        4096
    }
    pub fn packet_bytes() -> u64 {
        1500
    }
    pub fn offered_gbps() -> f64 {
        99.3
    }
    pub fn internal_queue() -> u32 {
        1024
    }
    pub fn burst() -> u32 {
        32
    }
    pub fn pool_buffers() -> u32 {
        65_535
    }
    pub fn pool_cache() -> u32 {
        256
    }
    pub fn generator_threads() -> u32 {
        4
    }
    pub fn flows() -> u32 {
        4096
    }
    pub fn cycles_per_access() -> f64 {
        1.0
    }
    pub fn train_packets() -> u32 {
        128
    }
    pub fn batch_packets() -> u64 {
        8192
    }
    pub fn min_batches() -> u32 {
        10
    }
    pub fn max_batches() -> u32 {
        60
    }
    pub fn hit_rate_interval_points() -> f64 {
        0.5
    }
    pub fn throughput_interval_percent() -> f64 {
        0.5
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
        document::interpret(file, document::parse(file, text, overrides)?)
    }

    /// Checks every value against its range and against `platform`, and fills in what the platform
    /// decides.
    ///
    /// # Errors
    /// Names the first value that is out of range or does not go with another.
    pub fn resolve(mut self, file: &str, platform: &Platform) -> Result<Self, InputError> {
        let server = platform.packet_server(&self.platform)?;
        let all_ways = platform.llc.all_ways_mask();
        self.ddio_ways.get_or_insert(server.ddio.default_ways.value);
        self.core_ghz.get_or_insert(platform.cpu.core_ghz.value);
        self.uncore_ghz.get_or_insert(platform.cpu.uncore_ghz.value);
        self.core_way_mask.get_or_insert(all_ways);
        self.tx_descriptors.get_or_insert(if self.cores > 2 { 2048 } else { 256 });
        if let Some(co_runner) = &mut self.co_runner {
            co_runner.way_mask.get_or_insert(all_ways);
        }
        check::scenario(&self, &Check { file }, platform, &server)?;
        Ok(self)
    }

    /// Cores in use, forwarding or not.
    #[must_use]
    pub fn all_cores(&self) -> u32 {
        self.cores + self.co_runner.as_ref().map_or(0, |co_runner| co_runner.cores)
    }

    /// Bytes of a synthetic packet on the wire.
    #[must_use]
    pub fn wire_bytes(&self) -> u64 {
        self.packet_bytes + WIRE_OVERHEAD_BYTES
    }
}
