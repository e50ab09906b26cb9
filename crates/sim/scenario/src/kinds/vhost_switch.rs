//! The virtual switch: some cores forward between the NIC and a guest, the others are the guest's.

mod build;
mod metrics;

use crate::contract::application::{ApplicationModule, Packets};
use crate::contract::application_cores::ApplicationCores;
use crate::contract::build::Builder;
use crate::contract::inert::Inert;
use crate::contract::input::TenantInput;
use crate::contract::metric::Metric;
use crate::contract::port::PortPlan;
use crate::contract::tenant::{TenantKeys, TenantMut, TenantRef};
use crate::kinds::cbdma::CbdmaKeys;
use crate::kinds::copies::{CopierName, core_copy, engines, polled_engines};
use crate::kinds::dsa::offloaders::OffloadersPlan;
use crate::kinds::dsa::{self, DsaKeys};
use crate::kinds::nic::driver::{DriverNeeds, DriverPlan};
use crate::kinds::nic::source::SourcePlan;
use crate::kinds::nic::{self, Arrivals, Card, NicKeys};
use crate::kinds::ssd::SsdKeys;
use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::key_groups::names;
use model::device::dsa::descriptor::Destination;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Cycles;
use workload::app::vhost_switch::VhostSwitchConfig;
use workload::app::vhost_switch::guest::GuestConfig;
use workload::driver::mempool::Spacing;

/// Entries of a virtqueue: QEMU allows no more.
const GUEST_DESCRIPTORS: [u32; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];
/// Queues of copy engines that a core of the switch uses in turn.
const QUEUES: (u32, u32) = (1, 8);
/// Bursts in flight of each of these queues.
const DEPTH: (u32, u32) = (1, 128);
/// Half of the cores of the largest platform with copy engines.
const GUEST_CORES: (u32, u32) = (1, 28);

/// Keys of the virtual switch. Packets go from the NIC to the guest and back.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct VhostSwitchKeys {
    /// Copier of packets: the cores of the switch, or copy engines while the cores go on.
    pub by: CopierName,
    /// Number of cores that are the guest's; the others are the switch's, each with a queue pair of
    /// the NIC and one of the guest.
    #[schemars(range(min = GUEST_CORES.0, max = GUEST_CORES.1))]
    pub guest_cores: u32,
    /// Number of entries of each queue of the guest.
    #[schemars(extend("enum" = GUEST_DESCRIPTORS))]
    pub guest_descriptors: u32,
    /// Queues of copy engines of each core of the switch, used in turn.
    #[schemars(range(min = QUEUES.0, max = QUEUES.1))]
    pub queues: u32,
    /// Number of bursts in flight of each of these queues.
    #[schemars(range(min = DEPTH.0, max = DEPTH.1))]
    pub depth: u32,
    /// Whether copies go into the DDIO ways (1) or to memory (0).
    #[schemars(range(min = 0, max = 1))]
    pub cache_control: u32,
}

impl Default for VhostSwitchKeys {
    fn default() -> Self {
        Self {
            by: CopierName::default(),
            guest_cores: 1,
            guest_descriptors: 1024,
            queues: 1,
            depth: 4,
            cache_control: 1,
        }
    }
}

impl VhostSwitchKeys {
    fn check(&self, check: &Check<'_>, cores: u32) -> Result<(), InputError> {
        let guests = self.guest_cores;
        check.whole("vhost_switch.guest_cores", guests, GUEST_CORES, "cores")?;
        if cores <= guests {
            let allowed =
                format!("allowed: more than vhost_switch.guest_cores ({guests}), the guest's own");
            return Err(check.refuse("cores", &cores, allowed));
        }
        let switches = cores - guests;
        let what = "cores, no more than cores of the switch";
        check.whole("vhost_switch.guest_cores", guests, (1, switches), what)?;
        let entries = self.guest_descriptors;
        check.one_of("vhost_switch.guest_descriptors", entries, &GUEST_DESCRIPTORS)?;
        check.whole("vhost_switch.queues", self.queues, QUEUES, "queues of a core")?;
        check.whole("vhost_switch.depth", self.depth, DEPTH, "bursts in flight")?;
        check.whole("vhost_switch.cache_control", self.cache_control, (0, 1), "")
    }
}

/// A virtual switch with its guest, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct VhostSwitchPlan {
    driver: DriverPlan,
    switch: VhostSwitchConfig,
    guest: GuestConfig,
    guest_cores: usize,
    guest_descriptors: u32,
    /// Bytes of a buffer of the guest, its header's line apart.
    buffer_bytes: u64,
    engines: Option<OffloadersPlan>,
    destination: Destination,
    /// Root ports of the NIC, then of the copy engines.
    ports: Vec<PortPlan>,
}

impl ApplicationModule for VhostSwitchPlan {
    const PACKETS: Packets = Packets::Forwarded;
    const TABLE: Option<&'static str> = Some("vhost_switch");
    const METRICS: &'static [Metric<ApplicationCores>] = metrics::METRICS;

    fn inert(tenant: TenantRef<'_>) -> Vec<Inert> {
        let keys = tenant.table::<NicKeys>();
        let mut inert = nic::inert_keys(keys, Self::PACKETS, Arrivals::Keys);
        inert.extend(Inert::all(["ports"], "the switch serves one port"));
        inert.extend(nic::inert_gathering(keys, false));
        inert.extend(nic::inert_prefetch(keys, false));
        inert.extend(nic::inert_chains(false));
        inert.extend(Inert::all(names::<SsdKeys>(), "vhost-switch uses no SSD"));
        inert.extend(Inert::all(names::<CbdmaKeys>(), "vhost-switch uses no CBDMA"));
        match tenant.table::<VhostSwitchKeys>().by {
            CopierName::Core => {
                let because = "the cores copy themselves";
                inert.extend(Inert::all(names::<DsaKeys>(), because));
                let of_engines = ["queues", "depth", "cache_control"];
                let of_engines = of_engines.map(|key| format!("vhost_switch.{key}"));
                inert.extend(Inert::all(of_engines, because));
            }
            CopierName::Dsa => inert.extend(dsa::inert_keys(tenant)),
        }
        inert
    }

    /// Raises the number of cores, unless the tenant states it: switch and guest have two cores at least.
    fn fill_in(tenant: &mut TenantMut<'_>) {
        let guests = tenant.table::<VhostSwitchKeys>().guest_cores;
        if !tenant.stated.contains("cores") && tenant.keys.cores <= guests {
            tenant.keys.cores = 2 * guests.min(GUEST_CORES.1);
        }
    }

    fn plan(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let keys = input.table::<VhostSwitchKeys>();
        keys.check(&input.check, input.tenant.keys.cores)?;
        // Queues of NIC and engines belong to the cores of the switch.
        let cores = input.tenant.keys.cores - keys.guest_cores;
        let of_switch = TenantKeys { cores, ..input.tenant.keys.clone() };
        let tenant = TenantRef { keys: &of_switch, ..input.tenant };
        let input = &TenantInput { tenant, ..input.clone() };
        let card = Card::for_tenant(input)?;
        card.check(input)?;
        let source = SourcePlan::from_keys(input, &card)?;
        let needs = DriverNeeds {
            receives: true,
            gathers: false,
            spacing: Spacing::OddLines,
            own_bytes: 0,
        };
        let driver = DriverPlan::resolve(input, &card, needs);
        // Of a file whose application the command line replaces the key stays.
        let ports = input.table::<NicKeys>().ports;
        input.check.whole("ports", ports, (1, 1), "port of a virtual switch")?;
        let mut ports = vec![nic::plan(input, &card, &source)?];
        let shape = (keys.depth, input.table::<NicKeys>().burst);
        let engine_needs =
            polled_engines("vhost_switch.by", ("vhost_switch.queues", keys.queues), shape);
        let engines = engines(input, keys.by, &engine_needs)?;
        ports.extend(engines.iter().flat_map(|it| it.ports.clone()));
        let (costs, copy, polling) = (input.costs()?, core_copy(input)?, driver.polling);
        Ok(Self {
            switch: VhostSwitchConfig {
                polling,
                enqueue: Cycles(costs.vhost_enqueue_cycles.value),
                dequeue: Cycles(costs.vhost_dequeue_cycles.value),
                track: Cycles(costs.vhost_track_cycles.value),
                copy_call: copy.call,
                copy_line: copy.line,
            },
            guest: GuestConfig {
                burst: polling.burst,
                work: Cycles(costs.vhost_guest_cycles.value),
                poll: polling.poll_cycles,
            },
            driver,
            guest_cores: keys.guest_cores as usize,
            guest_descriptors: keys.guest_descriptors,
            buffer_bytes: card.buffer_bytes,
            engines,
            destination: match keys.cache_control {
                0 => Destination::Memory,
                _ => Destination::Cache,
            },
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
