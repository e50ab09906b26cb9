//! Metrics of a tenant's SSDs, summed over all.

use crate::contract::metric::Group::Storage;
use crate::contract::metric::{Metric, Subject, named};
use crate::contract::sample::Sample;
use model::device::DeviceId;
use model::device::nvme::NvmeCounters;
use model::reading::Reading;
use units::Picos;

/// A tenant's SSDs, whose metrics are declared below.
pub(crate) struct Ssds {
    /// Numbers of the SSDs among the devices of the machine.
    pub ids: Vec<DeviceId>,
}

/// Counters of SSDs in a sample.
pub(crate) struct SsdsView {
    /// Sum of the counters of all SSDs of the tenant.
    pub counters: NvmeCounters,
    /// Simulated time over which the counters counted.
    pub span: Picos,
}

impl Subject for Ssds {
    type View<'a> = SsdsView;

    fn view<'a>(&'a self, sample: &'a Sample) -> SsdsView {
        let each = self.ids.iter().map(|&id| sample.device::<NvmeCounters>(id));
        let counters = each.fold(NvmeCounters::default(), |sum, ssd| sum.plus(ssd));
        SsdsView { counters, span: sample.span }
    }
}

/// All metrics of SSDs.
pub(crate) const METRICS: &[Metric<Ssds>] = &[
    named(Storage, "ssd_read_gbytes_per_s", "GB/s", "SSD reads")
        .about("Data that SSDs wrote into host memory.")
        .headline()
        .rate(|v| v.counters.bytes_to_host as f64 / v.span.as_ns()),
    named(Storage, "ssd_write_gbytes_per_s", "GB/s", "SSD writes")
        .about("Data that SSDs read from host memory.")
        .headline()
        .rate(|v| v.counters.bytes_from_host as f64 / v.span.as_ns()),
];
