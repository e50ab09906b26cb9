//! Applications whose packets go through a NIC: what such an application's file says, and what holds for
//! all of them.

use super::{ApplicationPlan, Packets};
use crate::assemble::builder::Builder;
use crate::devices::PortPlan;
use crate::devices::nic::driver::{DriverNeeds, DriverPlan};
use crate::devices::nic::source::SourcePlan;
use crate::devices::nic::{self, Card};
use crate::input::error::InputError;
use crate::plan::TenantInput;
use crate::scenario::Tenant;
use model::core::Core;
use model::device::DeviceQueues;
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
    /// Which way packets go.
    const PACKETS: Packets;
    /// Whether its memory can be filled before time zero as `initial_content = "store-filled"` asks.
    const FILLS_STORE: bool = false;
    /// How the buffers of its pool lie one behind the other.
    const SPACING: Spacing = Spacing::OddLines;
    /// Room beside the queues of each core for its own use.
    const OWN_BYTES: u64 = 0;

    /// What its cores share.
    type Shared;

    /// Records what the application decides where keys do not.
    fn fill_in(_tenant: &mut Tenant) {}

    /// Checks its keys against everything, and resolves them.
    fn of(input: &TenantInput<'_>, card: &Card<'_>) -> Result<Self, InputError>;

    /// What arrives: by default what the keys of the NIC say.
    fn source(&self, input: &TenantInput<'_>, card: &Card<'_>) -> Result<SourcePlan, InputError> {
        SourcePlan::of_keys(input, card)
    }

    /// Places what its cores share.
    fn share<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> Self::Shared;

    /// What a core runs.
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
    /// The core.
    pub core: Core,
    /// Its number among those of its tenant.
    pub thread: u64,
    /// Drivers of its queues.
    pub drivers: Drivers,
    /// How it polls them.
    pub polling: PacketLoopConfig,
    /// Room for its own use.
    pub arena: &'a mut Arena,
}

impl PollingCore<'_> {
    /// The core runs packets to completion: `handler` says what it does with each.
    pub fn handle<T: Tracer>(self, handler: impl Handler + 'static) -> Box<dyn Software<T>> {
        Box::new(PacketLoop::new(self.polling, handler, self.core, self.drivers))
    }
}

/// A packet application with its driver and its card.
#[derive(Clone, Debug)]
pub(crate) struct OverNic<A> {
    application: A,
    driver: DriverPlan,
    port: PortPlan,
}

impl<A: PacketApplication> ApplicationPlan for OverNic<A> {
    const PACKETS: Packets = A::PACKETS;
    const FILLS_STORE: bool = A::FILLS_STORE;

    fn fill_in(tenant: &mut Tenant) {
        A::fill_in(tenant);
    }

    fn of(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let card = Card::of(input)?;
        let application = A::of(input, &card)?;
        card.check(input)?;
        let needs = DriverNeeds {
            receives: A::PACKETS.are_received(),
            spacing: A::SPACING,
            own_bytes: A::OWN_BYTES,
        };
        let source = application.source(input, &card)?;
        let driver = DriverPlan::of(input, &card, needs);
        let port = nic::plan(input, &card, source)?;
        Ok(Self { application, driver, port })
    }

    fn ports(&self) -> &[PortPlan] {
        std::slice::from_ref(&self.port)
    }

    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        let pool = self.driver.pool(builder);
        let mut arena = self.driver.arena(builder);
        let shared = self.application.share(builder);
        let mut pairs = self.driver.queue_pairs(builder, &mut arena);
        let device = builder.tenant.devices[0];
        for ((queue, pair), &id) in (0..).zip(&mut pairs).zip(&builder.tenant.cores) {
            let at = (builder.machine.core(id), QueueId { device, queue }, pair);
            let drivers = self.driver.start(builder, at, &pool, &mut arena);
            let core = PollingCore {
                core: builder.machine.core(id),
                thread: u64::from(queue),
                drivers,
                polling: self.driver.polling,
                arena: &mut arena,
            };
            let software = self.application.software(&shared, core, builder);
            builder.software.insert(id, software);
        }
        builder.queues.insert(device, DeviceQueues::Nic(pairs));
    }
}

/// What happens to the lines of a packet after the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PayloadUse {
    /// Nothing: the application looks at headers.
    #[default]
    Untouched,
    /// They are read.
    Read,
}

impl PayloadUse {
    /// As the application takes it.
    pub(super) fn payload(self) -> Payload {
        match self {
            Self::Untouched => Payload::Untouched,
            Self::Read => Payload::Read,
        }
    }
}
