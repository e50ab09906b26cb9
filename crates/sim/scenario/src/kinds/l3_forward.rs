//! The L3 forwarder: looks up a routing table that all cores share and rewrites headers.

use crate::contract::application::Packets;
use crate::contract::build::Builder;
use crate::contract::input::TenantInput;
use crate::kinds::nic::Card;
use crate::kinds::packets::{PacketApplication, PayloadUse, PollingCore};
use crate::text::check::Check;
use crate::text::error::InputError;
use model::software::Software;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use workload::app::l3_forward::{L3Forward, Payload, ROUTE_BYTES};
use workload::app::work::Work;
use workload::host_memory::Region;

const NETWORKS: (u32, u32) = (1, 1 << 24);

/// Keys of the L3 forwarder.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct L3ForwardKeys {
    /// Consecutive /24 networks over which destinations are spread.
    #[schemars(range(min = NETWORKS.0, max = NETWORKS.1))]
    pub networks: u32,
    /// Access to the payload.
    pub payload: PayloadUse,
}

impl Default for L3ForwardKeys {
    fn default() -> Self {
        Self { networks: 256, payload: PayloadUse::default() }
    }
}

impl L3ForwardKeys {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("l3_forward.networks", self.networks, NETWORKS, "/24 networks")
    }
}

/// An L3 forwarder, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct L3ForwardPlan {
    work: Work,
    payload: Payload,
    networks: u64,
}

impl PacketApplication for L3ForwardPlan {
    const PACKETS: Packets = Packets::Forwarded;
    const CHAINS: bool = true;
    const PREFETCHES: bool = true;
    const GATHERS: bool = true;
    const TABLE: Option<&'static str> = Some("l3_forward");

    /// The routing table, which all cores share.
    type Shared = Region;

    fn check_table(input: &TenantInput<'_>) -> Result<(), InputError> {
        input.table::<L3ForwardKeys>().check(&input.check)
    }

    fn plan(input: &TenantInput<'_>, _card: &Card<'_>) -> Result<Self, InputError> {
        let (keys, costs) = (input.table::<L3ForwardKeys>(), input.costs()?);
        Ok(Self {
            work: costs.work(&costs.l3_forward_cycles),
            payload: keys.payload.payload(),
            networks: u64::from(keys.networks),
        })
    }

    fn share<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> Region {
        builder.memory.region(self.networks * ROUTE_BYTES)
    }

    fn software<T: Tracer>(
        &self,
        routes: &Region,
        core: PollingCore<'_>,
        _builder: &mut Builder<'_, T>,
    ) -> Box<dyn Software<T>> {
        let pool = Rc::clone(&core.drivers.pool);
        let table = (routes.clone(), self.networks);
        core.handle(L3Forward::new(self.work, self.payload, table, pool))
    }
}
