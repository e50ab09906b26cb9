//! The NVMe/TCP target: its keys, and its plan from NIC, SSDs and, for digests, copy engines.

mod build;

use super::block_io::BlockOrder;
use super::copies::{core_crc, polled_engines, share_queues};
use super::{ApplicationPlan, Packets};
use crate::assemble::builder::Builder;
use crate::devices::cbdma::CbdmaKeys;
use crate::devices::dsa::offloaders::OffloadersPlan;
use crate::devices::dsa::{self, DsaKeys};
use crate::devices::nic::driver::{DriverNeeds, DriverPlan};
use crate::devices::nic::source::SourcePlan;
use crate::devices::nic::{self, Arrivals, Card};
use crate::devices::{PortPlan, ssd};
use crate::input::error::InputError;
use crate::input::key_groups::names;
use crate::metrics::application::{ApplicationCores, TARGET};
use crate::metrics::declaration::Metric;
use crate::plan::TenantInput;
use crate::plan::inert::Inert;
use crate::platform::SsdDevice;
use crate::scenario::Tenant;
use model::device::nvme::rings::PAGE_BYTES;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Cycles, Picos};
use workload::app::nvme_tcp_target::NvmeTcpTargetConfig;
use workload::app::nvme_tcp_target::answer::{Answer, REQUEST_BYTES};
use workload::app::nvme_tcp_target::replies::ReplyCosts;
use workload::app::nvme_tcp_target::storage::StorageConfig;
use workload::driver::core_mover::CoreMoverConfig;
use workload::driver::mempool::Spacing;
use workload::driver::nvme::NvmeDriverConfig;
use workload::traffic::InitiatorsConfig;

/// SSDs of a tenant.
const SSDS: (u32, u32) = (1, 16);
/// A page up to the largest command that SSDs commonly take.
const READ_BYTES: (u64, u64) = (PAGE_BYTES, 1 << 20);
/// The least that IPv4 hosts take whole, up to jumbo frames.
const MTU_BYTES: (u64, u64) = (576, 9000);
const CONNECTIONS: (u32, u32) = (1, 512);
const DEPTH: (u32, u32) = (1, 512);
/// Requests of a core in flight: fewer than the entries of an SSD's queue of 1024.
const MOST_IN_FLIGHT: u32 = 1023;
/// Digests of a core by engines in flight.
const DIGESTS: (u32, u32) = (1, 128);
const BUFFERS: (u32, u32) = (1, 1 << 14);
/// Descriptors that a receive queue has beside those of requests in flight: a driver refills 64 at a time.
const SPARE_DESCRIPTORS: u32 = 64;
const MOST_BUFFER_BYTES: u64 = 16 << 30;

/// Keys of the NVMe/TCP target. Every core has a queue pair on every SSD.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NvmeTcpTargetKeys {
    /// Who computes the data digest of an answer.
    pub digest: DigestName,
    /// Data of a request.
    #[schemars(range(min = READ_BYTES.0, max = READ_BYTES.1), extend("multipleOf" = PAGE_BYTES))]
    pub read_bytes: u64,
    /// Order of the blocks that are read from each SSD.
    pub order: BlockOrder,
    /// Connections, which cores serve in turn: no fewer than cores, and so many by default if 4 are too few.
    #[schemars(range(min = CONNECTIONS.0, max = CONNECTIONS.1))]
    pub connections: u32,
    /// Requests in flight of each connection.
    #[schemars(range(min = DEPTH.0, max = DEPTH.1))]
    pub depth: u32,
    /// SSDs, which requests use in turn.
    #[schemars(range(min = SSDS.0, max = SSDS.1))]
    pub ssds: u32,
    /// SSDs behind one root port, whose link they share.
    #[schemars(range(min = SSDS.0, max = SSDS.1))]
    pub ssds_per_root_port: u32,
    /// Buffers of each core. By default those of its requests in flight, and of answers that its card has sent
    /// and not reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = BUFFERS.0, max = BUFFERS.1))]
    pub buffers: Option<u32>,
    /// Largest IP packet.
    #[schemars(range(min = MTU_BYTES.0, max = MTU_BYTES.1))]
    pub mtu_bytes: u64,
    /// Digests in flight of each core, if engines compute them.
    #[schemars(range(min = DIGESTS.0, max = DIGESTS.1))]
    pub digests: u32,
}

/// Who computes the data digest of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DigestName {
    /// Answers have none.
    #[default]
    None,
    /// The core.
    Core,
    /// A data streaming accelerator.
    Dsa,
}

impl Default for NvmeTcpTargetKeys {
    fn default() -> Self {
        Self {
            digest: DigestName::default(),
            read_bytes: 16 << 10,
            order: BlockOrder::default(),
            connections: 4,
            depth: 8,
            ssds: 4,
            ssds_per_root_port: 1,
            buffers: None,
            mtu_bytes: 1500,
            digests: 32,
        }
    }
}

impl NvmeTcpTargetKeys {
    fn check(&self, input: &TenantInput<'_>, card: &Card<'_>) -> Result<(), InputError> {
        let check = &input.check;
        let bytes = self.read_bytes;
        check.whole("nvme_tcp_target.read_bytes", bytes, READ_BYTES, "bytes")?;
        if !bytes.is_multiple_of(PAGE_BYTES) {
            let allowed = format!("allowed: multiples of {PAGE_BYTES} bytes");
            return Err(check.refuse("nvme_tcp_target.read_bytes", &bytes, allowed));
        }
        check.whole("nvme_tcp_target.ssds", self.ssds, SSDS, "SSDs")?;
        let together = self.ssds_per_root_port;
        check.whole("nvme_tcp_target.ssds_per_root_port", together, SSDS, "SSDs")?;
        check.whole("nvme_tcp_target.mtu_bytes", self.mtu_bytes, MTU_BYTES, "bytes")?;
        check.whole("nvme_tcp_target.digests", self.digests, DIGESTS, "digests in flight")?;
        self.check_in_flight(input)?;
        let unreported = card.nic.tx_packets_per_completion.value;
        let what = "buffers, more than answers that the card has sent and not reported";
        let cores = input.tenant.keys.cores;
        let buffers = self.buffers(cores, unreported);
        check.whole("nvme_tcp_target.buffers", buffers, (unreported, BUFFERS.1), what)?;
        let all = u64::from(buffers) * u64::from(cores) * bytes;
        let what = "bytes of the buffers of all cores";
        check.whole("nvme_tcp_target.buffers", all, (0, MOST_BUFFER_BYTES), what)
    }

    /// Requests in flight find descriptors in the receive queue, and entries in an SSD's queue.
    fn check_in_flight(&self, input: &TenantInput<'_>) -> Result<(), InputError> {
        let (check, cores) = (&input.check, input.tenant.keys.cores);
        let allowed = (cores, CONNECTIONS.1);
        let what = "connections, one for each core at least";
        check.whole("nvme_tcp_target.connections", self.connections, allowed, what)?;
        check.whole("nvme_tcp_target.depth", self.depth, DEPTH, "requests in flight")?;
        let of_core = self.connections.div_ceil(cores);
        let what = format!(
            "requests in flight of each of {of_core} connections, {MOST_IN_FLIGHT} of a core"
        );
        check.whole("nvme_tcp_target.depth", self.depth, (1, MOST_IN_FLIGHT / of_core), &what)?;
        let in_flight = self.in_flight(cores);
        let least = in_flight + SPARE_DESCRIPTORS;
        let descriptors = input.tenant.devices.nic.rx_descriptors;
        if descriptors < least {
            let allowed = format!(
                "allowed: {least} and more, because a core has {in_flight} requests in flight"
            );
            return Err(check.refuse("rx_descriptors", &descriptors, allowed));
        }
        Ok(())
    }

    /// Requests in flight of each of so many cores, of that with the most connections.
    fn in_flight(&self, cores: u32) -> u32 {
        self.connections.div_ceil(cores) * self.depth
    }

    /// Buffers of each of so many cores, whose card reports so many packets at once.
    fn buffers(&self, cores: u32, unreported: u32) -> u32 {
        self.buffers.unwrap_or(self.in_flight(cores) + unreported)
    }
}

/// Who computes digests, fully resolved.
#[derive(Clone, Debug)]
enum DigestPlan {
    None,
    Core(CoreMoverConfig),
    Engines(Box<OffloadersPlan>),
}

/// A target, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct NvmeTcpTargetPlan {
    driver: DriverPlan,
    target: NvmeTcpTargetConfig,
    answer: Answer,
    costs: ReplyCosts,
    /// The seed is that of the tenant: each core adds its own.
    storage: StorageConfig,
    ssds: usize,
    ssd_driver: NvmeDriverConfig,
    digest: DigestPlan,
    /// Buffers of each core.
    buffers: u32,
    page_bytes: u64,
    /// The NIC's, those of SSDs, those of copy engines.
    ports: Vec<PortPlan>,
}

impl ApplicationPlan for NvmeTcpTargetPlan {
    const PACKETS: Packets = Packets::Forwarded;
    const TABLE: Option<&'static str> = Some("nvme_tcp_target");
    const METRICS: &'static [Metric<ApplicationCores>] = TARGET;

    fn inert(tenant: &Tenant) -> Vec<Inert> {
        let mut inert = nic::inert(&tenant.devices.nic, Self::PACKETS, Arrivals::OfInitiators);
        inert.extend(Inert::all(names::<CbdmaKeys>(), "nvme-tcp-target uses no CBDMA"));
        let because = match tenant.tables.nvme_tcp_target.digest {
            DigestName::Dsa => {
                inert.extend(dsa::inert(tenant));
                return inert;
            }
            DigestName::Core => "the cores compute digests themselves",
            DigestName::None => "answers have no digest",
        };
        inert.extend(Inert::all(names::<DsaKeys>(), because));
        inert.extend(Inert::all(["nvme_tcp_target.digests"], because));
        inert
    }

    /// Its packets are capsules; each core has a connection; cores share the queues of engines.
    fn fill_in(tenant: &mut Tenant) {
        if !tenant.stated.contains("nvme_tcp_target.connections") {
            let connections = &mut tenant.tables.nvme_tcp_target.connections;
            *connections = tenant.keys.cores.max(*connections);
        }
        tenant.devices.nic.packet_bytes = REQUEST_BYTES;
        if tenant.tables.nvme_tcp_target.digest == DigestName::Dsa {
            share_queues(tenant);
        }
    }

    fn of(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let keys = &input.tenant.tables.nvme_tcp_target;
        let device = ssd::named(input)?;
        let card = Card::of(input)?;
        keys.check(input, &card)?;
        // Each connection has a rule that steers it to the queue of its core.
        let mut steered = input.tenant.clone();
        steered.devices.nic.traffic.flow_rules = keys.connections;
        let input = &TenantInput { tenant: &steered, ..input.clone() };
        card.check(input)?;
        let needs = DriverNeeds { receives: true, spacing: Spacing::OddLines, own_bytes: 0 };
        let driver = DriverPlan::of(input, &card, needs);
        let answer = Answer {
            read_bytes: keys.read_bytes,
            has_digest: keys.digest != DigestName::None,
            mtu_bytes: keys.mtu_bytes,
        };
        let source = SourcePlan::Initiators(initiators(input, &card, answer)?);
        let digest = digest(input)?;
        let (ssds, cores) = (keys.ssds as usize, input.tenant.keys.cores as usize);
        let mut ports = vec![nic::plan(input, &card, source)?];
        ports.extend(ssd::plan(input, device, &vec![cores; ssds], keys.ssds_per_root_port)?);
        if let DigestPlan::Engines(engines) = &digest {
            ports.extend(engines.ports.iter().cloned());
        }
        let (costs, unreported) = (input.costs()?, card.nic.tx_packets_per_completion.value);
        Ok(Self {
            target: NvmeTcpTargetConfig {
                polling: driver.polling,
                read_bytes: keys.read_bytes,
                round: Cycles(costs.nvme_tcp_round_cycles.value),
                request: Cycles(costs.nvme_tcp_request_cycles.value),
                digest: Cycles(costs.nvme_tcp_digest_cycles.value),
            },
            costs: ReplyCosts {
                answer: Cycles(costs.nvme_tcp_answer_cycles.value),
                unit: Cycles(costs.nvme_tcp_unit_cycles.value),
                page: Cycles(costs.nvme_tcp_page_cycles.value),
            },
            storage: storage(keys, device, input.seed),
            ssd_driver: ssd::driver(
                device,
                keys.in_flight(input.tenant.keys.cores),
                keys.read_bytes,
            ),
            buffers: keys.buffers(input.tenant.keys.cores, unreported),
            page_bytes: input.tenant.keys.page_size.bytes(),
            driver,
            answer,
            ssds,
            digest,
            ports,
        })
    }

    fn ports(&self) -> &[PortPlan] {
        &self.ports
    }

    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        self.build_on(builder);
    }
}

fn initiators(
    input: &TenantInput<'_>,
    card: &Card<'_>,
    answer: Answer,
) -> Result<InitiatorsConfig, InputError> {
    let keys = &input.tenant.tables.nvme_tcp_target;
    Ok(InitiatorsConfig {
        connections: keys.connections,
        depth: keys.depth,
        request_bytes: REQUEST_BYTES,
        segments: answer.segments(),
        turnaround: Picos::from_ns(input.costs()?.nvme_tcp_initiator_ns.value),
        line_rate_gbps: card.nic.line_rate_gbps.value,
    })
}

fn digest(input: &TenantInput<'_>) -> Result<DigestPlan, InputError> {
    let keys = &input.tenant.tables.nvme_tcp_target;
    Ok(match keys.digest {
        DigestName::None => DigestPlan::None,
        DigestName::Core => DigestPlan::Core(core_crc(input)?),
        DigestName::Dsa => {
            let shape = (keys.digests, 1);
            let wanted = polled_engines("nvme_tcp_target.digest", ("cores", 1), shape);
            DigestPlan::Engines(Box::new(OffloadersPlan::of(input, &wanted)?))
        }
    })
}

fn storage(keys: &NvmeTcpTargetKeys, device: &SsdDevice, seed: u64) -> StorageConfig {
    StorageConfig {
        read_bytes: keys.read_bytes,
        pattern: keys.order.pattern(),
        span_bytes: device.ssd.capacity_bytes(),
        seed,
    }
}
