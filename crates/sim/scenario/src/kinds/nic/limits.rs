//! Limits of a card: how long its wire and its pipelines were busy.

use super::NicPlan;
use super::sample::NicSample;
use crate::contract::limit::{Limit, LimitKind};
use model::device::nic::rx::RxCounters;
use units::{Bytes, Picos, WIRE_OVERHEAD_BYTES};

/// The busy times of a card: of the wire in each direction, and of its receive and send pipelines.
pub(super) fn limits(plan: &NicPlan, counted: &NicSample) -> Vec<Limit> {
    let (rx, config) = (&counted.rx, &plan.config);
    let (arrived, left) =
        ((rx.offered_packets, rx.offered_bytes), (counted.tx_packets, counted.tx_bytes));
    let on_wire = |(packets, bytes)| Bytes(bytes + packets * WIRE_OVERHEAD_BYTES);
    // A frame counts when its end has arrived: the first one may have begun to arrive before.
    let whole = config.line_rate.time_for(on_wire(arrived));
    let wire_in = whole.saturating_sub(Picos(whole.0 / arrived.0.max(1)));
    let wire_out = counted.wire_out_busy;
    // Packets are counted when they are complete in the card, of which some leave later.
    let handed_over = config.tx_rate.time_for(on_wire(left));
    let taken = plan.pace_time((rx.packets, rx.bytes)).max(plan.dropping_time(rx));
    let sent = plan.pace_time(left);
    let sent = Picos::from_ns(sent.as_ns() * wire_out.as_ns() / handed_over.as_ns().max(1.0));
    vec![
        Limit::new(LimitKind::WireIn, "the wire into {}", wire_in),
        Limit::new(LimitKind::WireOut, "the wire out of {}", wire_out),
        Limit::new(LimitKind::ReceivePipeline, "the receive pipeline of {}", taken),
        Limit::new(LimitKind::SendPipeline, "the send pipeline of {}", sent),
    ]
}

impl NicPlan {
    /// The time that the port needs for its packets at the rate of a port that drops, one before each of
    /// them at most.
    fn dropping_time(&self, rx: &RxCounters) -> Picos {
        Picos(rx.packets.min(rx.dropped()) * self.config.dropping_gap.0)
    }

    /// The time that port and queues need for packets of their mean size.
    fn pace_time(&self, (packets, bytes): (u64, u64)) -> Picos {
        if packets == 0 {
            return Picos::ZERO;
        }
        let each = self.config.port_pace.time_for(Bytes(bytes / packets));
        let of_queue = Picos(self.config.queue_packet_gap.0 / u64::from(self.queues));
        Picos(packets * each.max(of_queue).0)
    }
}
