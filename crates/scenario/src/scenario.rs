//! A scenario: what is run on which platform. Defaults are those of the measured testbed.

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
        self.ddio_ways.get_or_insert(platform.ddio.default_ways.value);
        self.core_ghz.get_or_insert(platform.cpu.core_ghz.value);
        self.uncore_ghz.get_or_insert(platform.cpu.uncore_ghz.value);
        self.core_way_mask.get_or_insert((1 << platform.llc.ways.value) - 1);
        self.tx_descriptors.get_or_insert(if self.cores > 2 { 2048 } else { 256 });
        self.check(file, platform)?;
        Ok(self)
    }

    fn check(&self, file: &str, platform: &Platform) -> Result<(), InputError> {
        let ways = platform.llc.ways.value;
        let check = Check { file };
        check.whole("cores", self.cores, (1, platform.cpu.cores.value), "cores of the platform")?;
        let rings: Vec<u32> = (3..=15).map(|bits| 1 << bits).collect();
        check.one_of("rx_descriptors", self.rx_descriptors, &rings)?;
        let fits = platform.software.buffer_data_bytes.value;
        check.whole("packet_bytes", self.packet_bytes, (60, fits), "bytes that a buffer holds")?;
        check.number(
            "offered_gbps",
            self.offered_gbps,
            (1e-3, platform.nic.line_rate_gbps.value),
        )?;
        check.whole("ddio_ways", self.ddio_ways.unwrap_or(0), (0, ways), "ways of the LLC")?;
        check.whole("rng_calls", self.rng_calls, (0, 1_000_000), "calls")?;
        check.number("core_ghz", self.core_ghz.unwrap_or(1.0), (0.1, 10.0))?;
        check.number("uncore_ghz", self.uncore_ghz.unwrap_or(1.0), (0.1, 10.0))?;
        self.check_mask(&check, ways)?;
        // A ring that never fills a completion would never be freed.
        let least = platform.nic.tx_packets_per_completion.value.max(8);
        let rings: Vec<u32> = rings.into_iter().filter(|&ring| ring >= least).collect();
        check.one_of("tx_descriptors", self.tx_descriptors.unwrap_or(256), &rings)?;
        check.whole("internal_queue", self.internal_queue, (32, 65_536), "packets")?;
        check.whole("burst", self.burst, (1, 64), "packets")?;
        check.whole("pool_cache", self.pool_cache, (32, 512), "buffers, DPDK's own limit")?;
        self.check_pool(&check, platform)?;
        self.check_traffic(&check, platform)?;
        check.whole("run.batch_packets", self.run.batch_packets, (256, 1 << 24), "packets")?;
        check.whole("run.min_batches", self.run.min_batches, (10, 1000), "batches")?;
        let (min, max) = (self.run.min_batches, self.run.max_batches);
        check.whole(
            "run.max_batches",
            max,
            (min, 1000),
            "batches, no fewer than run.min_batches",
        )?;
        check.number(
            "run.hit_rate_interval_points",
            self.run.hit_rate_interval_points,
            (1e-3, 100.0),
        )?;
        check.number(
            "run.throughput_interval_percent",
            self.run.throughput_interval_percent,
            (1e-3, 100.0),
        )
    }

    fn check_mask(&self, check: &Check<'_>, ways: u32) -> Result<(), InputError> {
        let mask = self.core_way_mask.unwrap_or(1);
        let contiguous =
            mask != 0 && (mask >> mask.trailing_zeros()).wrapping_add(1).is_power_of_two();
        if contiguous && mask < 1 << ways {
            return Ok(());
        }
        let all = (1u64 << ways) - 1;
        let allowed = format!("allowed: 0x1 to {all:#x}, contiguous ways, as CAT requires");
        Err(check.refuse("core_way_mask", &format!("{mask:#x}"), allowed))
    }

    /// The pool must fill every receive ring and cache, the bursts in work, and the sent packets that
    /// no completion has reported yet; more in send rings and queues may run it dry for a while.
    fn check_pool(&self, check: &Check<'_>, platform: &Platform) -> Result<(), InputError> {
        let unreported = platform.nic.tx_packets_per_completion.value;
        let cached = self.pool_cache + self.pool_cache / 2;
        let per_core = self.rx_descriptors + cached + 2 * self.burst + 2 * unreported;
        let least = u64::from(per_core) * u64::from(self.cores);
        let why = format!(
            "buffers; receive rings, pool caches, bursts and sends take {least}: lower rx_descriptors or \
             cores, or raise pool_buffers"
        );
        check.whole("pool_buffers", u64::from(self.pool_buffers), (least, 1 << 20), &why)
    }

    fn check_traffic(&self, check: &Check<'_>, platform: &Platform) -> Result<(), InputError> {
        let traffic = &self.traffic;
        check.whole("traffic.generator_threads", traffic.generator_threads, (1, 256), "threads")?;
        check.whole("traffic.flows", traffic.flows, (1, 1 << 20), "flows")?;
        check.whole("traffic.train_packets", traffic.train_packets, (1, 1 << 20), "packets")?;
        let line_rate = platform.nic.line_rate_gbps.value;
        if let Some(gbps) = traffic.scale_to_gbps {
            if traffic.pcap.is_none() {
                let allowed =
                    "only together with traffic.pcap; set offered_gbps for synthetic traffic";
                return Err(check.refuse("traffic.scale_to_gbps", &gbps, allowed.into()));
            }
            check.number("traffic.scale_to_gbps", gbps, (1e-3, line_rate))?;
        }
        match traffic.loops {
            Some(loops) if traffic.pcap.is_none() => {
                let allowed = "only together with traffic.pcap";
                Err(check.refuse("traffic.loops", &loops, allowed.into()))
            }
            Some(loops) => check.whole("traffic.loops", loops, (1, 1_000_000), "loops"),
            None => Ok(()),
        }
    }

    /// Bytes of a synthetic packet on the wire.
    #[must_use]
    pub fn wire_bytes(&self) -> u64 {
        self.packet_bytes + WIRE_OVERHEAD_BYTES
    }
}
