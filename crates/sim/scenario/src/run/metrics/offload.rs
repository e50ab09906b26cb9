//! Metrics of cores that move data, by copy engines or by themselves: the same for all movers.

use crate::contract::metric::Group::CopyEngines as Engines;
use crate::contract::metric::{Metric, Subject, named};
use crate::contract::sample::Sample;
use model::reading::Reading;
use model::software::OffloadTimes;
use units::Picos;

/// Cores that move data.
pub(crate) struct Movers {
    /// Numbers of the cores.
    pub cores: Vec<usize>,
}

/// Counts of cores that move data in a sample.
pub(crate) struct MoversView {
    times: OffloadTimes,
    /// Number of operations done.
    work: u64,
    /// Sum of the times of all cores.
    core_time: Picos,
    span: Picos,
}

impl Subject for Movers {
    type View<'a> = MoversView;

    fn view<'a>(&'a self, sample: &'a Sample) -> MoversView {
        let accounts = || self.cores.iter().map(|&core| &sample.software[core]);
        let times = accounts().map(|account| account.offload);
        MoversView {
            times: times.fold(OffloadTimes::default(), |sum, times| sum.plus(&times)),
            work: accounts().map(|account| account.work).sum(),
            core_time: Picos(sample.span.0 * self.cores.len() as u64),
            span: sample.span,
        }
    }
}

impl MoversView {
    fn share(&self, time: Picos) -> f64 {
        100.0 * time.as_ns() / self.core_time.as_ns()
    }
}

/// All metrics of cores that move data.
pub(crate) const METRICS: &[Metric<Movers>] = &[
    named(Engines, "offload_gbytes_per_s", "GB/s", "Data moved")
        .about("Transfer sizes of the operations done, by engines or by cores.")
        .headline()
        .in_timeline()
        .rate(|v| v.times.bytes as f64 / v.span.as_ns()),
    named(Engines, "offload_mops", "1e6/s", "Data operations")
        .about("Operations done, by engines or by cores; the members of batches one by one.")
        .headline()
        .rate(|v| v.work as f64 / (v.span.as_seconds() * 1e6)),
    named(Engines, "offload_core_time", "percent", "Core time of data operations")
        .about("Time of the cores, by phase; `work` is data that they move themselves.")
        .headline()
        .rate_by("phase", |v| {
            let it = &v.times;
            let phases = [
                ("allocate", it.allocate),
                ("touch", it.touch),
                ("prepare", it.prepare),
                ("lock", it.lock),
                ("submit", it.submit),
                ("wait", it.wait),
                ("work", it.work),
            ];
            phases.map(|(name, time)| (name.into(), v.share(time))).into_iter().collect()
        }),
    named(Engines, "offload_asleep_percent", "percent", "Core time asleep")
        .about("Share of waiting that cores spend in UMWAIT, or asleep until an interrupt.")
        .rate(|v| v.share(v.times.asleep)),
    named(Engines, "offload_retries_per_operation", "1", "Retries per operation")
        .about("Submissions that a shared queue refused, and that were repeated.")
        .rate(|v| v.times.retries as f64 / v.work as f64),
    named(Engines, "offload_page_faults_per_operation", "1", "Core page faults per operation")
        .about("Page faults of cores on the data of operations.")
        .rate(|v| v.times.page_faults as f64 / v.work as f64),
    named(Engines, "offload_failed_per_operation", "1", "Ended early, per operation")
        .about("Descriptors that ended at an absent page, or batches with such a member.")
        .rate(|v| v.times.failed as f64 / v.work as f64),
];
