//! The L2 forwarder: swaps addresses and writes its annotation into the buffer's private area.

use super::Packets;
use super::packets::{PacketApplication, PollingCore};
use crate::assemble::builder::Builder;
use crate::devices::nic::Card;
use crate::input::error::InputError;
use crate::plan::TenantInput;
use model::software::Software;
use model::tracer::Tracer;
use std::rc::Rc;
use units::Cycles;
use workload::app::l2_forward::L2Forward;

/// An L2 forwarder.
#[derive(Clone, Debug)]
pub(crate) struct L2ForwardPlan {
    cycles_per_packet: Cycles,
    annotation_lines: u64,
}

impl PacketApplication for L2ForwardPlan {
    const PACKETS: Packets = Packets::Forwarded;

    type Shared = ();

    fn of(_input: &TenantInput<'_>, card: &Card<'_>) -> Result<Self, InputError> {
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
