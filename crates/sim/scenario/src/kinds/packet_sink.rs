//! The packet sink: reads the header of every packet, or all of it, and drops it.

use crate::contract::application::Packets;
use crate::contract::build::Builder;
use crate::contract::input::TenantInput;
use crate::kinds::nic::Card;
use crate::kinds::packets::{PacketApplication, PayloadUse, PollingCore};
use crate::text::error::InputError;
use model::software::Software;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use workload::app::l3_forward::{PacketSink, Payload};
use workload::app::work::Work;

/// Keys of the packet sink.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct PacketSinkKeys {
    /// Access to the payload.
    pub payload: PayloadUse,
}

/// A packet sink, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct PacketSinkPlan {
    work: Work,
    payload: Payload,
}

impl PacketApplication for PacketSinkPlan {
    const PACKETS: Packets = Packets::Received;
    const CHAINS: bool = true;
    const PREFETCHES: bool = true;
    const TABLE: Option<&'static str> = Some("packet_sink");

    type Shared = ();

    fn plan(input: &TenantInput<'_>, _card: &Card<'_>) -> Result<Self, InputError> {
        let costs = input.costs()?;
        let payload = input.table::<PacketSinkKeys>().payload.payload();
        Ok(Self { work: costs.work(&costs.packet_sink_cycles), payload })
    }

    fn share<T: Tracer>(&self, _builder: &mut Builder<'_, T>) {}

    fn software<T: Tracer>(
        &self,
        (): &(),
        core: PollingCore<'_>,
        _builder: &mut Builder<'_, T>,
    ) -> Box<dyn Software<T>> {
        let pool = Rc::clone(&core.drivers.pool);
        core.handle(PacketSink { work: self.work, payload: self.payload, pool })
    }
}
