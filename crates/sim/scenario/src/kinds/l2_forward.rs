//! The L2 forwarder: swaps addresses and writes its annotation into the buffer's private area.

use crate::contract::application::Packets;
use crate::contract::build::Builder;
use crate::contract::input::TenantInput;
use crate::kinds::nic::Card;
use crate::kinds::packets::{PacketApplication, PollingCore};
use crate::text::error::InputError;
use model::software::Software;
use model::tracer::Tracer;
use std::rc::Rc;
use units::Cycles;
use workload::app::l2_forward::L2Forward;

/// An L2 forwarder, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct L2ForwardPlan {
    cycles_per_packet: Cycles,
    annotation_lines: u64,
}

impl PacketApplication for L2ForwardPlan {
    const PACKETS: Packets = Packets::Forwarded;
    const CHAINS: bool = true;
    const PREFETCHES: bool = true;
    const GATHERS: bool = true;

    type Shared = ();

    fn plan(_input: &TenantInput<'_>, card: &Card<'_>) -> Result<Self, InputError> {
        Ok(Self {
            cycles_per_packet: Cycles(card.software.l2_forward_cycles_per_packet.value),
            annotation_lines: u64::from(card.software.annotation_lines.value),
        })
    }

    fn share<T: Tracer>(&self, _builder: &mut Builder<'_, T>) {}

    fn software<T: Tracer>(
        &self,
        (): &(),
        core: PollingCore<'_>,
        _builder: &mut Builder<'_, T>,
    ) -> Box<dyn Software<T>> {
        let pool = Rc::clone(&core.drivers.pool);
        let Self { cycles_per_packet, annotation_lines } = *self;
        core.handle(L2Forward { cycles_per_packet, annotation_lines, pool })
    }
}
