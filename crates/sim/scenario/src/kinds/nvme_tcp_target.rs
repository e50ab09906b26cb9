//! The NVMe/TCP target: its plan from keys, NIC, SSDs and, for digests, copy engines.

mod build;
mod keys;
mod metrics;

pub(crate) use keys::NvmeTcpTargetKeys;

use crate::contract::application::{ApplicationModule, Packets};
use crate::contract::application_cores::ApplicationCores;
use crate::contract::build::Builder;
use crate::contract::inert::Inert;
use crate::contract::input::TenantInput;
use crate::contract::metric::Metric;
use crate::contract::port::PortPlan;
use crate::contract::tenant::{ReplacedTable, TenantMut, TenantRef};
use crate::facts::platform::SsdDevice;
use crate::kinds::cbdma::CbdmaKeys;
use crate::kinds::copies::{core_crc, polled_engines, share_queues};
use crate::kinds::dsa::offloaders::OffloadersPlan;
use crate::kinds::dsa::{self, DsaKeys};
use crate::kinds::nic::driver::{DriverNeeds, DriverPlan};
use crate::kinds::nic::source::SourcePlan;
use crate::kinds::nic::{self, Arrivals, Card, NicKeys};
use crate::kinds::ssd;
use crate::text::error::InputError;
use crate::text::key_groups::names;
use keys::DigestName;
use model::tracer::Tracer;
use units::{Cycles, Picos};
use workload::app::nvme_tcp_target::NvmeTcpTargetConfig;
use workload::app::nvme_tcp_target::answer::{REQUEST_BYTES, TargetAnswer};
use workload::app::nvme_tcp_target::replies::ReplyCosts;
use workload::app::nvme_tcp_target::storage::StorageConfig;
use workload::driver::core_mover::CoreMoverConfig;
use workload::driver::mempool::Spacing;
use workload::driver::nvme::NvmeDriverConfig;
use workload::traffic::InitiatorsConfig;

/// The key that asks for digests.
const DIGEST: &str = "nvme_tcp_target.digest";

/// Computation of digests, fully resolved.
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
    answer: TargetAnswer,
    costs: ReplyCosts,
    /// The seed is the tenant's. Each core adds its number to it.
    storage: StorageConfig,
    ssds: usize,
    ssd_driver: NvmeDriverConfig,
    digest: DigestPlan,
    /// Buffers of each core.
    buffers: u32,
    page_bytes: u64,
    /// Root ports of the NIC, of the SSDs, and of the copy engines, in this order.
    ports: Vec<PortPlan>,
}

impl ApplicationModule for NvmeTcpTargetPlan {
    const PACKETS: Packets = Packets::Forwarded;
    const TABLE: Option<&'static str> = Some("nvme_tcp_target");
    const METRICS: &'static [Metric<ApplicationCores>] = metrics::METRICS;

    fn inert(tenant: TenantRef<'_>) -> Vec<Inert> {
        let keys = tenant.table::<NicKeys>();
        let mut inert = nic::inert_keys(keys, Self::PACKETS, Arrivals::Initiators);
        inert.extend(nic::inert_gathering(keys, false));
        inert.extend(nic::inert_prefetch(keys, false));
        inert.extend(nic::inert_chains(false));
        inert.extend(Inert::all(names::<CbdmaKeys>(), "nvme-tcp-target uses no CBDMA"));
        let because = match tenant.table::<NvmeTcpTargetKeys>().digest {
            DigestName::Dsa => {
                inert.extend(dsa::inert_keys(tenant));
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
    fn fill_in(tenant: &mut TenantMut<'_>) {
        if !tenant.stated.contains("nvme_tcp_target.connections") {
            let cores = tenant.keys.cores;
            let connections = &mut tenant.table::<NvmeTcpTargetKeys>().connections;
            *connections = cores.max(*connections);
        }
        tenant.table::<NicKeys>().packet_bytes = REQUEST_BYTES;
        if tenant.table::<NvmeTcpTargetKeys>().digest == DigestName::Dsa {
            share_queues(tenant);
        }
    }

    fn plan(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let keys = input.table::<NvmeTcpTargetKeys>();
        let device = ssd::named_device(input)?;
        let card = Card::for_tenant(input)?;
        keys.check(input, &card)?;
        // Each connection has a rule that steers it to the queue of its core.
        let mut nic = input.table::<NicKeys>().clone();
        nic.traffic.flow_rules = keys.connections;
        let steered = ReplacedTable { table: nic, others: input.tenant.tables };
        let tenant = TenantRef { tables: &steered, ..input.tenant };
        let input = &TenantInput { tenant, ..input.clone() };
        card.check(input)?;
        let needs = DriverNeeds {
            receives: true,
            gathers: false,
            spacing: Spacing::OddLines,
            own_bytes: 0,
        };
        let driver = DriverPlan::resolve(input, &card, needs);
        let answer = TargetAnswer {
            read_bytes: keys.read_bytes,
            has_digest: keys.digest != DigestName::None,
            mtu_bytes: keys.mtu_bytes,
        };
        let source = SourcePlan::Initiators(initiators(input, &card, answer)?);
        let digest = digest(input)?;
        let (ssds, cores) = (keys.ssds as usize, input.tenant.keys.cores as usize);
        let mut ports = vec![nic::plan(input, &card, &source)?];
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
    answer: TargetAnswer,
) -> Result<InitiatorsConfig, InputError> {
    let keys = input.table::<NvmeTcpTargetKeys>();
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
    let keys = input.table::<NvmeTcpTargetKeys>();
    Ok(match keys.digest {
        DigestName::None => DigestPlan::None,
        DigestName::Core => DigestPlan::Core(core_crc(input, DIGEST, "core")?),
        DigestName::Dsa => {
            let shape = (keys.digests, 1);
            let engine_needs = polled_engines(DIGEST, ("cores", 1), shape);
            DigestPlan::Engines(Box::new(OffloadersPlan::resolve(input, &engine_needs)?))
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
