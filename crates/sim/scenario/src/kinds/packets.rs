//! Applications whose packets go through a NIC: the trait that each implements, and their common build.

use crate::contract::application::{ApplicationModule, Packets};
use crate::contract::build::Builder;
use crate::contract::inert::Inert;
use crate::contract::input::TenantInput;
use crate::contract::port::PortPlan;
use crate::contract::tenant::{TenantMut, TenantRef};
use crate::kinds::cbdma::CbdmaKeys;
use crate::kinds::dsa::DsaKeys;
use crate::kinds::nic::driver::{DriverNeeds, DriverPlan};
use crate::kinds::nic::source::SourcePlan;
use crate::kinds::nic::{self, Arrivals, Card, NicKeys};
use crate::kinds::ssd::SsdKeys;
use crate::text::error::InputError;
use crate::text::key_groups::names;
use model::core::Core;
use model::device::DeviceQueues;
use model::device::nic::rings::QueuePair;
use model::device::queues::QueueId;
use model::software::Software;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use workload::app::l3_forward::Payload;
use workload::app::packet_loop::{Drivers, Handler, PacketLoop, PacketLoopConfig};
use workload::driver::mempool::Spacing;
use workload::host_memory::Arena;

/// An application whose packets go through a NIC, all of its configuration resolved.
pub(crate) trait PacketApplication: Sized + Clone + Debug {
    /// The direction of packets.
    const PACKETS: Packets;
    /// Whether its memory can be filled before time zero as `initial_content = "store-filled"` asks.
    const FILLS_STORE: bool = false;
    /// Name of the table of the application's keys in a scenario, if it has one.
    const TABLE: Option<&'static str> = None;
    /// Origin of the packets that arrive.
    const ARRIVALS: Arrivals = Arrivals::Keys;
    /// Whether its cores gather packets before they send them (`send_at_packets`).
    const GATHERS: bool = false;
    /// Whether its cores prefetch packets of a burst (`prefetch`).
    const PREFETCHES: bool = false;
    /// Whether it takes packets that lie in several buffers (`scatter`).
    const CHAINS: bool = false;
    /// Spacing of the buffers in the application's pool.
    const SPACING: Spacing = Spacing::OddLines;
    /// Bytes of each core, besides its queues, for the application's own use.
    const OWN_BYTES: u64 = 0;

    /// Memory that the cores of the application share.
    type Shared;

    /// Records the application's defaults of keys that the tenant does not state.
    fn fill_in(_tenant: &mut TenantMut<'_>) {}

    /// Checks the keys of its table whose ranges do not depend on the tenant's application.
    ///
    /// # Errors
    /// Names the first value that is out of range.
    fn check_table(_input: &TenantInput<'_>) -> Result<(), InputError> {
        Ok(())
    }

    /// Checks the application's keys, also against platform and devices, and resolves them.
    ///
    /// # Errors
    /// Names the first value that is out of range or contradicts another.
    fn plan(input: &TenantInput<'_>, card: &Card<'_>) -> Result<Self, InputError>;

    /// The source of the arrivals. By default it follows the keys of the NIC.
    fn source(&self, input: &TenantInput<'_>, card: &Card<'_>) -> Result<SourcePlan, InputError> {
        SourcePlan::from_keys(input, card)
    }

    /// Allocates the memory that the cores of the application share.
    fn share<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> Self::Shared;

    /// Builds the software of a core.
    fn software<T: Tracer>(
        &self,
        shared: &Self::Shared,
        core: PollingCore<'_>,
        builder: &mut Builder<'_, T>,
    ) -> Box<dyn Software<T>>;
}

/// A core whose queues are ready.
#[derive(Debug)]
pub(crate) struct PollingCore<'a> {
    /// The core that polls the queues.
    pub core: Core,
    /// Number of the core among the cores of its tenant, from 0.
    pub thread: u64,
    /// Drivers of the queues of the core, at the first port of its card.
    pub drivers: Drivers,
    /// Drivers of its queues at the other ports.
    pub other_ports: Vec<Drivers>,
    /// Parameters of the core's polling and bursts.
    pub polling: PacketLoopConfig,
    /// Memory for the application's own use on this core.
    pub arena: &'a mut Arena,
}

impl PollingCore<'_> {
    /// Builds software that runs packets to completion: `handler` processes each.
    pub(crate) fn handle<T: Tracer>(self, handler: impl Handler + 'static) -> Box<dyn Software<T>> {
        let ports = std::iter::once(self.drivers).chain(self.other_ports).collect();
        Box::new(PacketLoop::with_ports(self.polling, handler, self.core, ports))
    }
}

/// A packet application with its driver and its card.
#[derive(Clone, Debug)]
pub(crate) struct NicApplication<A> {
    application: A,
    driver: DriverPlan,
    port: PortPlan,
}

impl<A: PacketApplication> ApplicationModule for NicApplication<A> {
    const PACKETS: Packets = A::PACKETS;
    const FILLS_STORE: bool = A::FILLS_STORE;
    const TABLE: Option<&'static str> = A::TABLE;

    fn inert(tenant: TenantRef<'_>) -> Vec<Inert> {
        let keys = tenant.table::<NicKeys>();
        let mut inert = nic::inert_keys(keys, A::PACKETS, A::ARRIVALS);
        inert.extend(nic::inert_gathering(keys, A::GATHERS));
        inert.extend(nic::inert_prefetch(keys, A::PREFETCHES));
        inert.extend(nic::inert_chains(A::CHAINS));
        let because = format!("{} uses no SSD", tenant.application());
        inert.extend(Inert::all(names::<SsdKeys>(), &because));
        let engines = names::<DsaKeys>().into_iter().chain(names::<CbdmaKeys>());
        inert.extend(Inert::all(engines, "packets are moved by their card"));
        inert
    }

    fn fill_in(tenant: &mut TenantMut<'_>) {
        A::fill_in(tenant);
    }

    fn check_table(input: &TenantInput<'_>) -> Result<(), InputError> {
        A::check_table(input)
    }

    fn plan(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let card = Card::for_tenant(input)?;
        let application = A::plan(input, &card)?;
        card.check(input)?;
        let needs = DriverNeeds {
            receives: A::PACKETS.are_received(),
            gathers: A::GATHERS,
            spacing: A::SPACING,
            own_bytes: A::OWN_BYTES,
        };
        let source = application.source(input, &card)?;
        let driver = DriverPlan::resolve(input, &card, needs);
        let port = nic::plan(input, &card, &source)?;
        Ok(Self { application, driver, port })
    }

    fn ports(&self) -> &[PortPlan] {
        std::slice::from_ref(&self.port)
    }

    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        let pool = self.driver.pool(builder);
        let mut arena = self.driver.arena(builder);
        let shared = self.application.share(builder);
        let ports = &builder.tenant.devices;
        let mut pairs: Vec<Vec<QueuePair>> =
            ports.iter().map(|_| self.driver.queue_pairs(builder, &mut arena)).collect();
        for (queue, &id) in (0..).zip(&builder.tenant.cores) {
            let mut of_ports = Vec::new();
            for (&device, pairs) in ports.iter().zip(&mut pairs) {
                let pair = &mut pairs[usize::from(queue)];
                let at = (builder.machine.core(id), QueueId { device, queue }, pair);
                of_ports.push(self.driver.start(builder, at, &pool, &mut arena));
            }
            let mut of_ports = of_ports.into_iter();
            let Some(drivers) = of_ports.next() else { continue };
            let core = PollingCore {
                core: builder.machine.core(id),
                thread: u64::from(queue),
                drivers,
                other_ports: of_ports.collect(),
                polling: self.driver.polling,
                arena: &mut arena,
            };
            let software = self.application.software(&shared, core, builder);
            builder.software.insert(id, software);
        }
        for (&device, pairs) in ports.iter().zip(pairs) {
            builder.queues.insert(device, DeviceQueues::Nic(pairs));
        }
    }
}

/// Access to the lines of a packet after the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PayloadUse {
    /// None: the application reads headers only.
    #[default]
    Untouched,
    /// The core reads the payload.
    Read,
}

impl PayloadUse {
    /// Converts the key to the parameter of the application.
    pub(super) fn payload(self) -> Payload {
        match self {
            Self::Untouched => Payload::Untouched,
            Self::Read => Payload::Read,
        }
    }
}
