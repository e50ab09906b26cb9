//! Counters of a NIC and its link.

use crate::contract::sample::DeviceReading;
use crate::contract::traffic::Traffic;
use model::device::nic::card::Nic;
use model::device::nic::rx::RxCounters;
use model::fabric::Fabric;
use model::reading;
use model::reading::Reading;
use model::tracer::Tracer;
use units::Picos;

/// Counters of a NIC and its link: a reading, or the difference of two readings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NicSample {
    /// The receive port's counters.
    pub rx: RxCounters,
    /// Number of packets that left on the wire.
    pub tx_packets: u64,
    /// Bytes of the packets that left, without FCS.
    pub tx_bytes: u64,
    /// Time for which the wire out was busy: packets that are counted may leave later.
    pub wire_out_busy: Picos,
    /// Time for which the PCIe link was busy (up, down).
    pub link_busy: (Picos, Picos),
    /// Sum over the IIO entries of the NIC's socket of the time for which each was in use.
    pub iio_occupied: Picos,
}

reading!(NicSample { rx, tx_packets, tx_bytes, wire_out_busy, link_busy, iio_occupied });

impl NicSample {
    pub(super) fn read<T: Tracer>(nic: &Nic<Traffic>, fabric: &Fabric<T>, now: Picos) -> Self {
        let port = fabric.root_port(nic.root_port());
        Self {
            rx: nic.port.counters,
            tx_packets: nic.egress.packets,
            tx_bytes: nic.egress.bytes,
            wire_out_busy: nic.egress.busy_until(now),
            link_busy: port.attachment().busy_until(now),
            iio_occupied: fabric.iio(port.socket()).total_occupied(),
        }
    }
}

impl NicSample {
    /// The counters with those of another port of the card, which share the link.
    pub(super) fn with_port(&self, other: &Self) -> Self {
        let (link_busy, iio_occupied) = (self.link_busy, self.iio_occupied);
        Self { link_busy, iio_occupied, ..self.plus(other) }
    }
}

impl DeviceReading for NicSample {
    fn packets_offered(&self) -> u64 {
        self.rx.offered_packets
    }

    fn packets_received(&self) -> u64 {
        self.rx.packets
    }

    fn ring_full(&self) -> Option<Picos> {
        Some(self.rx.ring_full)
    }
}
