//! What devices have counted and measured, by kind.

use super::nic::sample::NicSample;
use super::nic::source::Traffic;
use hdrhistogram::Histogram;
use model::device::Device;
use model::device::cbdma::CbdmaCounters;
use model::device::dsa::DsaCounters;
use model::device::nvme::NvmeCounters;
use model::fabric::Fabric;
use model::reading::Reading;
use model::tracer::Tracer;
use units::Picos;

/// What a device has counted: a reading, or the difference of two.
#[derive(Clone, Copy, Debug)]
pub enum DeviceSample {
    /// A CBDMA.
    Cbdma(CbdmaCounters),
    /// A copy engine.
    Dsa(DsaCounters),
    /// A network card and its link.
    Nic(NicSample),
    /// An SSD.
    Ssd(NvmeCounters),
}

impl DeviceSample {
    /// Reads a device.
    pub(crate) fn read<T: Tracer>(
        device: &Device<Traffic>,
        fabric: &Fabric<T>,
        now: Picos,
    ) -> Self {
        match device {
            Device::Cbdma(cbdma) => Self::Cbdma(cbdma.counters_at(now)),
            Device::Dsa(dsa) => Self::Dsa(dsa.counters_at(now)),
            Device::Nic(nic) => Self::Nic(NicSample::read(nic, fabric, now)),
            Device::Nvme(ssd) => Self::Ssd(ssd.counters),
        }
    }

    /// Packets that arrived at it.
    pub(crate) fn packets_offered(&self) -> u64 {
        if let Self::Nic(nic) = self { nic.rx.offered_packets } else { 0 }
    }

    /// Packets that it wrote into host memory.
    pub(crate) fn packets_received(&self) -> u64 {
        if let Self::Nic(nic) = self { nic.rx.packets } else { 0 }
    }

    /// Time for which a receive ring of it was full, if it has any.
    pub(crate) fn ring_full(&self) -> Option<Picos> {
        if let Self::Nic(nic) = self { Some(nic.rx.ring_full) } else { None }
    }

    /// # Panics
    /// As [`Self::of_ssd`]: if it is a reading of another kind of device, which is our own fault.
    pub(super) fn of_nic(&self) -> &NicSample {
        let Self::Nic(nic) = self else { panic!("a reading of a NIC was expected: {self:?}") };
        nic
    }

    pub(super) fn of_cbdma(&self) -> &CbdmaCounters {
        let Self::Cbdma(cbdma) = self else {
            panic!("a reading of a CBDMA was expected: {self:?}")
        };
        cbdma
    }

    pub(super) fn of_dsa(&self) -> &DsaCounters {
        let Self::Dsa(dsa) = self else { panic!("a reading of a DSA was expected: {self:?}") };
        dsa
    }

    pub(super) fn of_ssd(&self) -> &NvmeCounters {
        let Self::Ssd(ssd) = self else { panic!("a reading of an SSD was expected: {self:?}") };
        ssd
    }
}

/// # Panics
/// If these are readings of different devices, which is our own fault.
impl Reading for DeviceSample {
    fn since(&self, earlier: &Self) -> Self {
        match self {
            Self::Cbdma(cbdma) => Self::Cbdma(cbdma.since(earlier.of_cbdma())),
            Self::Dsa(dsa) => Self::Dsa(dsa.since(earlier.of_dsa())),
            Self::Nic(nic) => Self::Nic(nic.since(earlier.of_nic())),
            Self::Ssd(ssd) => Self::Ssd(ssd.since(earlier.of_ssd())),
        }
    }

    fn plus(&self, later: &Self) -> Self {
        match self {
            Self::Cbdma(cbdma) => Self::Cbdma(cbdma.plus(later.of_cbdma())),
            Self::Dsa(dsa) => Self::Dsa(dsa.plus(later.of_dsa())),
            Self::Nic(nic) => Self::Nic(nic.plus(later.of_nic())),
            Self::Ssd(ssd) => Self::Ssd(ssd.plus(later.of_ssd())),
        }
    }
}

/// Latencies since the last call of a device's packets, or of requests that several of them answer, if it
/// measures them.
pub(crate) fn take_latencies(device: &mut Device<Traffic>) -> Option<Histogram<u64>> {
    let nic = device.as_nic_mut()?;
    let of_packets = nic.egress.take_latencies();
    Some(nic.port.source_mut().take_request_latencies().unwrap_or(of_packets))
}

/// Latencies since the last call, as the client at the other end of the wire measured them.
pub(crate) fn take_one_way_latencies(device: &mut Device<Traffic>) -> Option<Histogram<u64>> {
    device.as_nic_mut()?.port.source_mut().take_one_way_latencies()
}

/// Packets that have arrived at a device, if it has a wire.
pub(crate) fn packets_offered(device: &Device<Traffic>) -> Option<u64> {
    device.as_nic().map(|nic| nic.port.counters.offered_packets)
}
