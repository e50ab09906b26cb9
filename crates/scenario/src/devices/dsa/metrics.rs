//! Metrics of a tenant's copy engines, summed over all instances, and of the cores that use them.

use crate::metrics::declaration::Group::CopyEngines as Engines;
use crate::metrics::declaration::{Metric, Subject, named};
use crate::run::sample::Sample;
use model::device::DeviceId;
use model::device::dsa::DsaCounters;
use model::reading::Reading;
use model::software::OffloadTimes;
use units::Picos;

/// Copy engines.
pub struct CopyEngines {
    /// Their numbers among devices.
    pub ids: Vec<DeviceId>,
    /// The cores that use them.
    pub cores: Vec<usize>,
}

/// Copy engines in a sample.
pub struct CopyEnginesView {
    counters: DsaCounters,
    times: OffloadTimes,
    /// Time of waiting for completions, of all cores.
    waited: Picos,
    /// Time of all cores.
    core_time: Picos,
    span: Picos,
}

impl Subject for CopyEngines {
    type View<'a> = CopyEnginesView;

    fn view<'a>(&'a self, sample: &'a Sample) -> CopyEnginesView {
        let each = self.ids.iter().map(|&id| sample.device(id).of_dsa());
        let accounts = || self.cores.iter().map(|&core| &sample.software[core]);
        let times = accounts().map(|account| account.offload);
        let idle: u64 = accounts().map(|account| account.idle.0).sum();
        CopyEnginesView {
            counters: each.fold(DsaCounters::default(), |sum, dsa| sum.plus(dsa)),
            times: times.fold(OffloadTimes::default(), |sum, times| sum.plus(&times)),
            waited: Picos(idle),
            core_time: Picos(sample.span.0 * self.cores.len() as u64),
            span: sample.span,
        }
    }
}

impl CopyEnginesView {
    /// Operations done: descriptors of queues, and members in place of their batches.
    fn operations(&self) -> u64 {
        let batched = self.counters.members_completed;
        if batched > 0 { batched } else { self.counters.completed }
    }

    fn gbytes_per_s(&self, bytes: u64) -> f64 {
        bytes as f64 / self.span.as_ns()
    }

    fn share(&self, time: Picos) -> f64 {
        100.0 * time.as_ns() / self.core_time.as_ns()
    }
}

/// All metrics of copy engines.
pub const METRICS: &[Metric<CopyEngines>] = &[
    named(Engines, "dsa_gbytes_per_s", "GB/s", "Offloaded data")
        .about("Transfer sizes of the operations that the copy engines have done.")
        .headline()
        .in_timeline()
        .rate(|v| v.gbytes_per_s(v.times.bytes)),
    named(Engines, "dsa_mops", "1e6/s", "Offloaded operations")
        .about("Operations done: descriptors, or the members of batches.")
        .headline()
        .rate(|v| v.operations() as f64 / (v.span.as_seconds() * 1e6)),
    named(Engines, "dsa_read_gbytes_per_s", "GB/s", "Engine reads")
        .about("Operands that the copy engines have read.")
        .rate(|v| v.gbytes_per_s(v.counters.bytes_read)),
    named(Engines, "dsa_write_gbytes_per_s", "GB/s", "Engine writes")
        .about("Operands that the copy engines have written.")
        .rate(|v| v.gbytes_per_s(v.counters.bytes_written)),
    named(Engines, "dsa_queue_entries", "1", "Queue occupancy")
        .about("Descriptors in the work queues, on average.")
        .in_timeline()
        .rate(|v| v.counters.queue_entry_time.as_ns() / v.span.as_ns()),
    named(Engines, "dsa_translations_per_operation", "1", "Translations per operation")
        .about("Translations that an engine did not have and asked the IOMMU for.")
        .rate(|v| v.counters.translations as f64 / v.operations() as f64),
    named(Engines, "dsa_refused_percent", "percent", "Refused submissions")
        .about("ENQCMDs that a shared queue refused.")
        .rate(|v| {
            let answered = v.counters.refused + v.counters.accepted;
            100.0 * v.counters.refused as f64 / answered as f64
        }),
    named(Engines, "dsa_buffer_wait_percent", "percent", "Wait for read buffers")
        .about("Time for which an engine found no read buffer, of the time that engines had work.")
        .rate(|v| 100.0 * v.counters.buffer_wait.as_ns() / v.counters.engine_busy.as_ns()),
    named(Engines, "offload_core_time", "percent", "Core time of offloading")
        .about(
            "Time of the cores: preparing descriptors, submitting them, waiting for completions.",
        )
        .headline()
        .rate_by("phase", |v| {
            let phases =
                [("prepare", v.times.prepare), ("submit", v.times.submit), ("wait", v.waited)];
            phases.map(|(name, time)| (name.into(), v.share(time))).into_iter().collect()
        }),
];
