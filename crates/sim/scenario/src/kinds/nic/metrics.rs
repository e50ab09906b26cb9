//! Metrics of a tenant's NIC: its wire, its PCIe link, its packets.

use super::sample::NicSample;
use crate::contract::arithmetic::{per_microsecond, percent, wire_gbps};
use crate::contract::metric::Group::{Link, Packets};
use crate::contract::metric::{Metric, Subject, named};
use crate::contract::sample::Sample;
use model::device::DeviceId;
use units::Picos;

/// A tenant's NIC, whose metrics are declared below.
pub(crate) struct TenantNic {
    /// The numbers of the NIC's ports among the devices of the machine.
    pub ids: Vec<DeviceId>,
}

/// Counters of a NIC in a sample, and the time over which they counted.
pub(crate) struct NicView {
    /// Counters of all ports of the NIC together, and of its link.
    pub nic: NicSample,
    /// Number of the NIC's ports.
    pub ports: u64,
    /// Simulated time over which the counters counted.
    pub span: Picos,
}

impl Subject for TenantNic {
    type View<'a> = NicView;

    fn view<'a>(&'a self, sample: &'a Sample) -> NicView {
        let mut each = self.ids.iter().map(|&id| *sample.device::<NicSample>(id));
        let first = each.next().unwrap_or_default();
        let nic = each.fold(first, |sum, port| sum.with_port(&port));
        NicView { nic, ports: self.ids.len() as u64, span: sample.span }
    }
}

impl NicView {
    fn share(&self, busy: Picos) -> f64 {
        100.0 * busy.as_ns() / self.span.as_ns()
    }
}

/// All metrics of a NIC.
pub(crate) const METRICS: &[Metric<TenantNic>] = &[
    named(Link, "offered_gbps", "Gbit/s", "Offered, on the wire")
        .about("Frames that arrived on the wire, with FCS, preamble and gap.")
        .rate(|v| wire_gbps(v.nic.rx.offered_packets, v.nic.rx.offered_bytes, v.span)),
    named(Link, "received_gbps", "Gbit/s", "Received, on the wire")
        .about("Frames written into host memory, as on the wire, with FCS, preamble and gap.")
        .rate(|v| wire_gbps(v.nic.rx.packets, v.nic.rx.bytes, v.span)),
    named(Link, "throughput_gbps", "Gbit/s", "Sent, on the wire")
        .about("Frames sent, with FCS, preamble and gap.")
        .headline()
        .in_timeline()
        .rate(|v| wire_gbps(v.nic.tx_packets, v.nic.tx_bytes, v.span)),
    named(Link, "pcie_utilisation", "percent", "PCIe link utilisation")
        .about("Time for which the NIC's link was busy: up to the host, down to the NIC.")
        .rate_by("direction", |v| {
            let (up, down) = v.nic.link_busy;
            vec![("up".into(), v.share(up)), ("down".into(), v.share(down))]
        }),
    named(Link, "iio_occupancy_lines", "lines", "IIO occupancy")
        .about("IIO entries of the NIC's socket in use by writes and reads, the mean over time.")
        .rate(|v| v.nic.iio_occupied.as_ns() / v.span.as_ns()),
    named(Link, "pause_frames", "frames", "PAUSE frames")
        .about("PAUSE frames that the NIC sent, those that end a pause included.")
        .count(|v| v.nic.rx.pause_frames as f64),
    named(Link, "paused", "percent", "Paused")
        .about("Time for which PAUSE frames kept the wire silent; of several ports the mean.")
        .rate(|v| v.share(Picos(v.nic.rx.paused.0 / v.ports))),
    named(Packets, "rx_mpps", "Mpps", "Packets received, rate")
        .about("Packets written into host memory.")
        .rate(|v| per_microsecond(v.nic.rx.packets, v.span)),
    named(Packets, "tx_mpps", "Mpps", "Packets sent, rate")
        .about("Packets that left on the wire.")
        .rate(|v| per_microsecond(v.nic.tx_packets, v.span)),
    named(Packets, "rx_packets", "packets", "Packets received")
        .about("Packets written into host memory.")
        .count(|v| v.nic.rx.packets as f64),
    named(Packets, "rx_bytes", "bytes", "Bytes received")
        .about("Bytes of packets written into host memory, without FCS.")
        .count(|v| v.nic.rx.bytes as f64),
    named(Packets, "tx_packets", "packets", "Packets sent")
        .about("Packets that left on the wire.")
        .count(|v| v.nic.tx_packets as f64),
    named(Packets, "tx_bytes", "bytes", "Bytes sent")
        .about("Bytes of packets that left on the wire, without FCS.")
        .count(|v| v.nic.tx_bytes as f64),
    named(Packets, "rx_dropped", "packets", "Packets dropped")
        .about("Packets that the NIC dropped on arrival.")
        .headline()
        .count(|v| v.nic.rx.dropped() as f64),
    named(Packets, "rx_loss_rate", "percent", "Packets dropped, share of those that arrived")
        .about("Packets that the NIC dropped on arrival, of all that arrived.")
        .rate(|v| percent(v.nic.rx.dropped(), v.nic.rx.packets)),
    named(Packets, "rx_dropped_by_cause", "packets", "Packets dropped by cause")
        .about(
            "Dropped because no descriptor (rx_out_of_buffer) or no buffer space (rx_discards_phy) \
             was left.",
        )
        .count_by("cause", |v| {
            vec![
                ("no_descriptor".into(), v.nic.rx.dropped_no_descriptor as f64),
                ("buffer_full".into(), v.nic.rx.dropped_buffer_full as f64),
            ]
        }),
];
