//! The packet source: builds and sends packets at the rate that its send ring takes.

use crate::contract::application::Packets;
use crate::contract::build::Builder;
use crate::contract::input::TenantInput;
use crate::kinds::nic::source::SourcePlan;
use crate::kinds::nic::{Arrivals, Card, NicKeys};
use crate::kinds::packets::{PacketApplication, PollingCore};
use crate::text::error::InputError;
use model::software::Software;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Cycles;
use workload::app::packet_generator::{PacketGenerator, PacketGeneratorConfig};

/// Keys of the packet source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct PacketSourceKeys {
    /// Whether cores write whole packets, or only their first line.
    pub writes_payload: bool,
}

impl Default for PacketSourceKeys {
    fn default() -> Self {
        Self { writes_payload: true }
    }
}

/// A packet source, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct PacketSourcePlan {
    config: PacketGeneratorConfig,
}

impl PacketApplication for PacketSourcePlan {
    const PACKETS: Packets = Packets::Sent;
    const TABLE: Option<&'static str> = Some("packet_source");
    const ARRIVALS: Arrivals = Arrivals::None;

    type Shared = ();

    fn plan(input: &TenantInput<'_>, card: &Card<'_>) -> Result<Self, InputError> {
        let (keys, costs) = (input.table::<NicKeys>(), input.costs()?);
        let config = PacketGeneratorConfig {
            burst: keys.burst as usize,
            packet_bytes: keys.packet_bytes,
            writes_payload: input.table::<PacketSourceKeys>().writes_payload,
            work: costs.work(&costs.packet_source_cycles),
            poll_cycles: Cycles(card.software.poll_cycles.value),
        };
        Ok(Self { config })
    }

    fn source(&self, _input: &TenantInput<'_>, _card: &Card<'_>) -> Result<SourcePlan, InputError> {
        Ok(SourcePlan::Silence)
    }

    fn share<T: Tracer>(&self, _builder: &mut Builder<'_, T>) {}

    fn software<T: Tracer>(
        &self,
        (): &(),
        core: PollingCore<'_>,
        _builder: &mut Builder<'_, T>,
    ) -> Box<dyn Software<T>> {
        let drivers = core.drivers;
        let (pool, tx, queue) = (drivers.pool, drivers.tx, drivers.queue);
        Box::new(PacketGenerator::new(self.config, core.core, pool, tx, queue))
    }
}
