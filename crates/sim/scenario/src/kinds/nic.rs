//! A NIC: its keys with their defaults, the card that serves a tenant, and the device of the machine.
//!
//! [`traffic`] and [`source`] are its arrivals, [`driver`] is the software half of its queues,
//! [`check`] has the ranges of keys.

mod capture;
mod check;
pub(crate) mod driver;
mod generator;
mod inert;
mod limits;
mod metrics;
mod pool;
mod prefetch;
mod sample;
pub(crate) mod source;
mod traffic;

pub(crate) use inert::{Arrivals, inert_chains, inert_gathering, inert_keys, inert_prefetch};
pub(crate) use traffic::{ArrivalProcess, Pattern, SizeMix, TrafficKeys};

use crate::contract::device::DeviceModule;
use crate::contract::input::{Defaults, TenantInput};
use crate::contract::limit::Limit;
use crate::contract::metric::Metric;
use crate::contract::port::GeneratorWait;
use crate::contract::port::{DevicePlace, PortPlan};
use crate::contract::tenant::{TenantMut, TenantRef};
use crate::contract::traffic::Traffic;
use crate::facts::platform::{
    MOST_BUFFER_DATA_BYTES, MOST_LINE_RATE_GBPS, MOST_RX_DESCRIPTORS, NicFacts, PcieFacts,
    SoftwareFacts,
};
use crate::facts::schema;
use crate::kinds::root_port::{self, PortKeys};
use crate::text::error::InputError;
use facts::Kind;
use hdrhistogram::Histogram;
use metrics::TenantNic;
use model::device::DeviceId;
use model::device::nic::NicConfig;
use model::device::nic::card::Nic;
use model::fabric::Fabric;
use model::root_complex::attachment::AttachmentConfig;
use model::root_complex::pcie_link::PcieLinkConfig;
use model::tracer::Tracer;
use pool::PoolPlacementName;
use prefetch::PrefetchKeys;
use sample::NicSample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use source::SourcePlan;
use std::borrow::Cow;
use traffic::LEAST_GBPS;
use units::narrow::fit;
use units::{LINE_BYTES, Picos};

/// Key of the offered load. The line rate bounds its default.
const OFFERED_GBPS: &str = "offered_gbps";

/// Keys of a tenant's NIC, its driver and its arrivals.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct NicKeys {
    /// Its NIC instead of the platform's: a known one, or path of a device file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::nic")]
    pub nic: Option<String>,
    /// Ports of the card in use. They share its slot; each has its wire with the offered load, and a receive
    /// and a send queue of every core, which polls the ports in turn.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = check::PORTS.0, max = check::PORTS.1))]
    pub ports: u32,
    /// Receive descriptors per queue.
    #[schemars(extend("enum" = check::RINGS))]
    pub rx_descriptors: u32,
    /// Frame size without FCS. Frames of more than 2048 bytes need larger buffers (buffer_bytes), or several
    /// (scatter).
    #[schemars(range(min = check::LEAST_PACKET_BYTES, max = MOST_BUFFER_DATA_BYTES))]
    pub packet_bytes: u64,
    /// Bytes for packet data in a buffer of the pool, headroom apart. The driver's choice by default:
    /// 2048 (DPDK) on most platforms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = check::BUFFER_BYTES.0, max = check::BUFFER_BYTES.1))]
    pub buffer_bytes: Option<u64>,
    /// Whether a packet that is longer than a buffer takes several, each with a descriptor of its own: at
    /// most 8, chained by their mbufs (DPDK's scattered receive and multi-segment send).
    #[serde(skip_serializing_if = "is_off")]
    pub scatter: bool,
    /// Offered load on the wire of each port, including FCS, preamble and gap. By default no more than the
    /// card's line rate.
    #[schemars(range(min = LEAST_GBPS, max = MOST_LINE_RATE_GBPS))]
    pub offered_gbps: f64,
    /// The NIC sends PAUSE when its internal buffer fills up, and packets wait there for descriptors.
    pub flow_control: bool,
    /// Extra std::mt19937 calls per packet.
    #[schemars(range(min = check::RNG_CALLS.0, max = check::RNG_CALLS.1))]
    pub rng_calls: u32,
    /// Packets that a send ring holds. The driver's choice by default.
    #[schemars(extend("enum" = schema::or_none(&check::RINGS)))]
    pub tx_descriptors: Option<u32>,
    /// Number of packets that may wait before the send ring.
    #[schemars(range(min = check::INTERNAL_QUEUE.0, max = check::INTERNAL_QUEUE.1))]
    pub internal_queue: u32,
    /// Number of packets per receive and send burst.
    #[schemars(range(min = check::BURST.0, max = check::BURST.1))]
    pub burst: u32,
    /// Number of processed packets that must wait before a core sends them. The core sends fewer only
    /// from time to time (send_rest_after_polls).
    #[schemars(range(min = check::SEND_AT_PACKETS.0, max = check::SEND_AT_PACKETS.1))]
    pub send_at_packets: u32,
    /// Number of polls of a core after which it sends the packets that still wait, however few.
    #[schemars(range(min = check::SEND_REST_AFTER_POLLS.0, max = check::SEND_REST_AFTER_POLLS.1))]
    pub send_rest_after_polls: u32,
    /// Number of buffers of the pool that all cores share.
    #[schemars(range(min = check::LEAST_POOL_BUFFERS, max = check::MOST_POOL_BUFFERS))]
    pub pool_buffers: u32,
    /// Number of buffers that a core keeps in its pool cache. 0 is a pool without caches, as threads have it
    /// that the pool does not know.
    #[schemars(range(min = check::POOL_CACHE.0, max = check::POOL_CACHE.1))]
    pub pool_cache: u32,
    /// Most buffers that a driver takes from the pool, or returns, in one call: 1 is a driver that takes and
    /// frees them singly. By default a call has all that are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = check::CALL_BUFFERS.0, max = check::CALL_BUFFERS.1))]
    pub pool_call_buffers: Option<u32>,
    /// Whether calls on the pool's ring, which all cores share, cost cycles of their own and the lines of its
    /// heads and tails. By default only where `pool_cache` is below 32: with larger caches such calls are
    /// rare, and the cycles that applications take for each packet include them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool_ring_costs: Option<bool>,
    /// Where the buffers of the pool are in memory. Odd-lines by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool_placement: Option<PoolPlacementName>,
    /// Bytes of a buffer before packet data, a multiple of a line. 128 by default. Where `pool_placement`
    /// aligns buffers, they are a part of `buffer_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = check::HEADROOM_BYTES.0, max = check::HEADROOM_BYTES.1), extend("multipleOf" = LINE_BYTES))]
    pub headroom_bytes: Option<u64>,
    /// Posted buffers of each queue whose data lines a core has written before time zero.
    #[schemars(range(min = 0, max = MOST_RX_DESCRIPTORS))]
    pub warm_buffers: u32,
    /// Software prefetches of received packets.
    #[serde(skip_serializing_if = "PrefetchKeys::is_default")]
    pub prefetch: PrefetchKeys,
    /// The packets that arrive.
    pub traffic: TrafficKeys,
}

impl Default for NicKeys {
    fn default() -> Self {
        Self {
            nic: None,
            ports: 1,
            rx_descriptors: 4096,
            packet_bytes: 1500,
            buffer_bytes: None,
            scatter: false,
            offered_gbps: 99.3,
            flow_control: false,
            rng_calls: 0,
            tx_descriptors: None,
            internal_queue: 1024,
            burst: 32,
            send_at_packets: 1,
            send_rest_after_polls: 4096,
            pool_buffers: 65_535,
            pool_cache: 256,
            pool_call_buffers: None,
            pool_ring_costs: None,
            pool_placement: None,
            headroom_bytes: None,
            warm_buffers: 0,
            prefetch: PrefetchKeys::default(),
            traffic: TrafficKeys::default(),
        }
    }
}

impl NicKeys {
    /// Bytes of a buffer before packet data.
    fn headroom_bytes(&self) -> u64 {
        self.headroom_bytes.unwrap_or(pool::DEFAULT_HEADROOM_BYTES)
    }

    /// Packets that a send ring holds when `nic` has `queues` queues.
    fn tx_packets(&self, nic: &NicFacts, queues: u32) -> u32 {
        self.tx_descriptors.unwrap_or_else(|| nic.default_tx_packets(queues))
    }
}

/// The card that serves a tenant, in its slot, and the costs of packet software on that machine.
#[derive(Clone, Debug)]
pub(crate) struct Card<'a> {
    /// The card and its driver.
    pub nic: &'a NicFacts,
    /// The card's PCIe link in its slot.
    pub pcie: Cow<'a, PcieFacts>,
    /// Costs of packet software.
    pub software: &'a SoftwareFacts,
    /// Bytes for packet data in a buffer of the tenant's pool.
    pub buffer_bytes: u64,
}

impl<'a> Card<'a> {
    /// The card that serves a tenant: the one that it names, or else the platform's own.
    ///
    /// # Errors
    /// Names the table that the platform lacks.
    pub(crate) fn for_tenant(input: &TenantInput<'a>) -> Result<Self, InputError> {
        root_port::facts(input)?;
        let platform = input.platform;
        let (nic, pcie) = match &input.named.nic {
            Some(device) => (&device.nic, Cow::Owned(device.link_in(platform.slot_rate()))),
            None => {
                let pcie = input.facts("pcie", platform.pcie.as_ref())?;
                (input.facts("nic", platform.nic.as_ref())?, Cow::Borrowed(pcie))
            }
        };
        let software = input.facts("software", platform.software.as_ref())?;
        let keys = input.table::<NicKeys>();
        let stated = keys.buffer_bytes.unwrap_or(software.buffer_data_bytes.value);
        let buffer_bytes = pool::data_bytes(keys, stated);
        Ok(Self { nic, pcie, software, buffer_bytes })
    }

    /// Checks the keys of the tenant whose packets go through the card.
    ///
    /// # Errors
    /// Names the first value that is out of range.
    pub(crate) fn check(&self, input: &TenantInput<'_>) -> Result<(), InputError> {
        check::check_card_keys(input, self)
    }

    /// Bytes of the largest packet that buffers hold: one, or several where `scatter` chains them.
    pub(super) fn most_packet_bytes(&self, keys: &NicKeys) -> u64 {
        self.buffer_bytes * if keys.scatter { check::MOST_CHAINED } else { 1 }
    }

    fn link(&self) -> PcieLinkConfig {
        let pcie = &self.pcie;
        PcieLinkConfig {
            lanes: pcie.lanes.value,
            gtransfers_per_s: pcie.gtransfers_per_s.value,
            max_payload_bytes: pcie.max_payload_bytes.value,
            max_read_request_bytes: pcie.max_read_request_bytes.value,
            data_link_interval_bytes: pcie.data_link_interval_bytes.value,
            propagation_ns: pcie.propagation_ns.value,
        }
    }
}

/// A NIC, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct NicPlan {
    config: NicConfig,
    source: SourcePlan,
    /// Receive and send queues.
    queues: u32,
    flow_rules: u32,
    generator_wait: Option<GeneratorWait>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's interface
fn is_one(ports: &u32) -> bool {
    *ports == 1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's interface
fn is_off(key: &bool) -> bool {
    !key
}

/// Plans the root port of `card`, at which the packets of `source` arrive; at each further port of the card
/// others of the same kind do.
///
/// # Errors
/// If the platform lacks a table that root ports need, or a second port cannot have such a source.
pub(crate) fn plan(
    input: &TenantInput<'_>,
    card: &Card<'_>,
    source: &SourcePlan,
) -> Result<PortPlan, InputError> {
    let (nic, port) = (input.table::<NicKeys>(), input.table::<PortKeys>());
    let mut config = card.nic.config(nic.flow_control);
    config.bypass_backlog = port.placement.bypass_when_backlogged;
    let (queues, flow_rules) = (input.tenant.keys.cores, nic.traffic.flow_rules);
    let generator_wait = generator::wait(nic);
    let mut ports = Vec::new();
    for port in 0..nic.ports {
        let Some(source) = source.for_port(port) else {
            let allowed = "only where packets arrive at a rate, as keys of the NIC state it";
            return Err(input.check.refuse("ports", &nic.ports, allowed.into()));
        };
        let config = config.clone();
        ports.push(NicPlan { config, source, queues, flow_rules, generator_wait });
    }
    root_port::plan(input, AttachmentConfig::Pcie(card.link()), ports)
}

impl DeviceModule for NicPlan {
    const KEY: &'static str = "nic";
    const FILES: Option<Kind> = Some(Kind::Nic);
    const IS_PART_OF_PLATFORM: bool = true;
    const HAS_PORTS: bool = true;
    const METRICS: &'static [Metric<TenantNic>] = metrics::METRICS;

    type Device = Nic<Traffic>;
    type Reading = NicSample;
    type Subject = TenantNic;

    fn subject(ids: &[DeviceId]) -> TenantNic {
        TenantNic { ids: ids.to_vec() }
    }

    fn named(tenant: TenantRef<'_>) -> Option<&String> {
        tenant.table::<NicKeys>().nic.as_ref()
    }

    /// Records the size of the send ring, and a load within the line rate.
    fn fill_in(tenant: &mut TenantMut<'_>, defaults: &Defaults<'_>) {
        let own = defaults.named.nic.as_ref().map(|device| &device.nic);
        let Some(nic) = own.or(defaults.platform.nic.as_ref()) else { return };
        let (queues, states_load) = (tenant.keys.cores, defaults.has_stated(tenant, OFFERED_GBPS));
        let keys = tenant.table::<NicKeys>();
        keys.tx_descriptors = Some(keys.tx_packets(nic, queues));
        if !states_load {
            keys.offered_gbps = keys.offered_gbps.min(nic.line_rate_gbps.value);
        }
    }

    fn check(input: &TenantInput<'_>) -> Result<(), InputError> {
        check::check_tenant(input)
    }

    fn build(&self, place: &DevicePlace) -> Nic<Traffic> {
        let mut nic = Nic::new(place.port, &self.config, self.source.build(), self.queues as usize);
        let queue_of = |rule: u32| Some(fit(rule % self.queues));
        nic.port.steering_mut().set_rules((0..self.flow_rules).map(queue_of).collect());
        nic
    }

    fn read<T: Tracer>(nic: &Nic<Traffic>, fabric: &Fabric<T>, now: Picos) -> NicSample {
        NicSample::read(nic, fabric, now)
    }

    /// Limits of a card: the wire in each direction, and its own pace.
    fn limits(&self, counted: &NicSample) -> Vec<Limit> {
        limits::limits(self, counted)
    }

    fn note(&self) -> Option<String> {
        self.source.note().or_else(|| self.generator_wait.map(generator::note))
    }

    fn packets_to_replay(&self) -> Option<u64> {
        self.source.packets_to_replay()
    }

    fn generator_wait(&self) -> Option<GeneratorWait> {
        self.generator_wait
    }

    fn packets_offered(nic: &Nic<Traffic>) -> Option<u64> {
        Some(nic.port.counters.offered_packets)
    }

    fn take_latencies(nic: &mut Nic<Traffic>) -> Option<Histogram<u64>> {
        let of_packets = nic.egress.take_latencies();
        Some(nic.port.source_mut().take_request_latencies().unwrap_or(of_packets))
    }

    fn take_one_way_latencies(nic: &mut Nic<Traffic>) -> Option<Histogram<u64>> {
        nic.port.source_mut().take_one_way_latencies()
    }
}
