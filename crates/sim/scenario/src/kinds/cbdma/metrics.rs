//! Metrics of a tenant's channels of a CBDMA, summed over all of them.

use crate::contract::metric::Group::CopyEngines as Engines;
use crate::contract::metric::{Metric, Subject, named};
use crate::contract::sample::Sample;
use model::device::DeviceId;
use model::device::cbdma::CbdmaCounters;
use units::Picos;

/// A tenant's CBDMA, whose metrics are declared below.
pub(crate) struct CopyChannels {
    /// The CBDMA's number among the devices of the machine.
    pub id: DeviceId,
}

/// Counters of a CBDMA in a sample, and the time over which they counted.
pub(crate) struct CopyChannelsView {
    counters: CbdmaCounters,
    span: Picos,
}

impl Subject for CopyChannels {
    type View<'a> = CopyChannelsView;

    fn view<'a>(&'a self, sample: &'a Sample) -> CopyChannelsView {
        CopyChannelsView { counters: *sample.device::<CbdmaCounters>(self.id), span: sample.span }
    }
}

impl CopyChannelsView {
    fn gbytes_per_s(&self, bytes: u64) -> f64 {
        bytes as f64 / self.span.as_ns()
    }

    fn per_s(&self, count: u64) -> f64 {
        count as f64 / self.span.as_seconds()
    }
}

/// All metrics of a CBDMA.
pub(crate) const METRICS: &[Metric<CopyChannels>] = &[
    named(Engines, "cbdma_gbytes_per_s", "GB/s", "CBDMA writes")
        .about("Data that the channels have written: that of copies and fills.")
        .headline()
        .in_timeline()
        .rate(|v| v.gbytes_per_s(v.counters.bytes_written)),
    named(Engines, "cbdma_read_gbytes_per_s", "GB/s", "CBDMA reads")
        .about("Data that the channels have read.")
        .rate(|v| v.gbytes_per_s(v.counters.bytes_read)),
    named(Engines, "cbdma_mops", "1e6/s", "CBDMA descriptors")
        .about("Descriptors that the channels have completed.")
        .headline()
        .rate(|v| v.per_s(v.counters.completed) / 1e6),
    named(Engines, "cbdma_channels_busy", "1", "Busy channels")
        .about("Channels with a descriptor that has not completed, on average.")
        .in_timeline()
        .rate(|v| v.counters.channel_busy.as_ns() / v.span.as_ns()),
    named(Engines, "cbdma_line_wait_percent", "percent", "Wait for lines under way")
        .about(
            "Time for which a channel had as many lines under way as it can, of the time that \
             channels were busy.",
        )
        .rate(|v| 100.0 * v.counters.line_wait.as_ns() / v.counters.channel_busy.as_ns()),
];
