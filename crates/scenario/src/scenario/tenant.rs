//! A tenant: an application on its cores, with a NIC and traffic of its own. Defaults are those of
//! the measured testbed.

use super::application::{Application, ChainKeys, L3ForwardKeys, PacketSinkKeys, PacketSourceKeys};
use super::placement::{DynamicWaysKeys, PlacementKeys};
use super::{BlockIoKeys, KeyValueKeys, MemoryKernelKeys, defaults};
use model::traffic::WIRE_OVERHEAD_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the tenant that the top-level keys describe.
pub const MAIN: &str = "main";

/// An application on its cores, with a NIC and traffic of its own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Tenant {
    /// Name in results: the metrics of all tenants but the main one begin with it.
    #[serde(default = "main_name")]
    pub name: String,
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
    /// The NIC sends PAUSE when its internal buffer runs full, and packets wait there for descriptors.
    #[serde(default)]
    pub flow_control: bool,
    /// With DDIO off: descriptors and completions still use the platform's own ways, as ATC'20
    /// supposes of a root port that is switched off.
    #[serde(default)]
    pub ddio_keeps_descriptors: bool,
    /// With DDIO off: a DMA read takes the line out of the caches, as on parts before Ivy Bridge.
    #[serde(default)]
    pub evict_on_dma_read: bool,
    /// The socket that the cores belong to.
    #[serde(default)]
    pub socket: u32,
    /// The socket that the NIC is attached to. That of the cores by default.
    #[serde(default)]
    pub nic_socket: Option<u32>,
    /// The memory that buffers and rings lie in.
    #[serde(default)]
    pub memory_node: MemoryNode,
    /// Pages in which the IOMMU translates device addresses.
    #[serde(default)]
    pub iommu: IommuPages,
    /// Extra std::mt19937 calls per packet.
    #[serde(default)]
    pub rng_calls: u32,
    /// CAT mask of the forwarding cores. All ways by default.
    #[serde(default)]
    pub core_way_mask: Option<u32>,
    /// Packets that a send ring holds. What the NIC's driver chooses by default.
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
    /// Its NIC in place of the platform's: a known one, or path of a device file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<String>,
    /// Kind of its SSDs: a known one (`skipline platforms` has a list), or path of a device file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssd: Option<String>,
    /// Block I/O.
    #[serde(default)]
    pub block_io: BlockIoKeys,
    /// Posted buffers of each queue whose data lines a core has written before time zero.
    #[serde(default)]
    pub warm_buffers: u32,
    /// Memory bandwidth that the cores may use, of what they would use (Intel MBA).
    #[serde(default = "defaults::mba_percent")]
    pub mba_percent: u32,
    /// Where packets go beyond what DDIO does by itself.
    #[serde(default)]
    pub placement: PlacementKeys,
    /// A controller that changes the number of ways by demand.
    #[serde(default)]
    pub dynamic_ways: Option<DynamicWaysKeys>,
    /// What arrives.
    #[serde(default)]
    pub traffic: TrafficKeys,
    /// Application ping-pong: what goes to and fro.
    #[serde(default)]
    pub ping_pong: PingPongKeys,
    /// Keys of the L3 forwarder.
    #[serde(default)]
    pub l3_forward: L3ForwardKeys,
    /// Keys of the packet sink.
    #[serde(default)]
    pub packet_sink: PacketSinkKeys,
    /// Keys of the packet source.
    #[serde(default)]
    pub packet_source: PacketSourceKeys,
    /// Keys of the stateful chain.
    #[serde(default)]
    pub chain: ChainKeys,
    /// Keys of the key-value store.
    #[serde(default)]
    pub key_value: KeyValueKeys,
    /// Keys of the memory kernel, which it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_kernel: Option<MemoryKernelKeys>,
}

pub(super) fn main_name() -> String {
    MAIN.into()
}

impl Tenant {
    /// Bytes of a synthetic packet on the wire.
    #[must_use]
    pub fn wire_bytes(&self) -> u64 {
        self.packet_bytes + WIRE_OVERHEAD_BYTES
    }

    /// The socket that its NIC is attached to.
    #[must_use]
    pub fn nic_socket(&self) -> u32 {
        self.nic_socket.unwrap_or(self.socket)
    }

    /// Whether a controller changes its number of ways.
    #[must_use]
    pub fn changes_ways_itself(&self) -> bool {
        self.dynamic_ways.as_ref().is_some_and(|keys| keys.enabled)
    }
}

/// Keys of a ping-pong test.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PingPongKeys {
    /// Size of a message.
    #[serde(default = "defaults::message_bytes")]
    pub message_bytes: u64,
    /// Headers before it: Ethernet, IPv4 and UDP by default.
    #[serde(default = "defaults::header_bytes")]
    pub header_bytes: u64,
}

impl Default for PingPongKeys {
    fn default() -> Self {
        let (message_bytes, header_bytes) = (defaults::message_bytes(), defaults::header_bytes());
        Self { message_bytes, header_bytes }
    }
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
    /// The same as pool-built, after a key-value store was filled item by item.
    StoreFilled,
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
    /// Exact-match rules in the NIC: so many flows, from the first on, go to the queues in turn; the
    /// others are left to RSS.
    #[serde(default)]
    pub flow_rules: u32,
    /// Trains: packets of a flow one after another.
    #[serde(default = "defaults::train_packets")]
    pub train_packets: u32,
    /// Trains: packets that a thread sends before the next thread's turn comes.
    #[serde(default = "defaults::turn_packets")]
    pub turn_packets: u32,
    /// Random: sizes of packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizeMix>,
    /// Random: when packets come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalProcess>,
    /// Random, arrivals on and off: packets of a burst. 32 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_packets: Option<u32>,
    /// Random: popularity of flows, the exponent of Zipf's law. 0, all alike, by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_zipf: Option<f64>,
    /// A pcap or pcapng file to replay instead, seen from the scenario's folder if it is there.
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
            flow_rules: 0,
            train_packets: defaults::train_packets(),
            turn_packets: defaults::turn_packets(),
            sizes: None,
            arrivals: None,
            burst_packets: None,
            flow_zipf: None,
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
    /// Each packet of a flow drawn at random, with sizes and arrivals of their own.
    Random,
}

/// Sizes of random packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SizeMix {
    /// All of packet_bytes.
    #[default]
    Fixed,
    /// 60, 590 and 1514 B as 7 : 4 : 1.
    Imix,
    /// As on a campus: 26.9 % under 100 B, 11.8 % from 100 to 500 B, the rest full-sized.
    Campus,
}

/// When random packets come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalProcess {
    /// Evenly spaced.
    #[default]
    Even,
    /// With independent exponential gaps.
    Poisson,
    /// In bursts of burst_packets at line rate.
    OnOff,
    /// At line rate, whatever is offered.
    BackToBack,
}
