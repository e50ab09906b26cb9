//! Metrics of a tenant's copy engines, summed over all instances.

use crate::contract::metric::Group::CopyEngines as Engines;
use crate::contract::metric::{Metric, Subject, named};
use crate::contract::sample::Sample;
use model::device::DeviceId;
use model::device::dsa::DsaCounters;
use model::reading::Reading;
use units::Picos;

/// A tenant's DSA instances, whose metrics are declared below.
pub(crate) struct CopyEngines {
    /// Numbers of the instances among the devices of the machine.
    pub ids: Vec<DeviceId>,
}

/// Sum of the counters of copy engines in a sample, and the time over which they counted.
pub(crate) struct CopyEnginesView {
    counters: DsaCounters,
    span: Picos,
}

impl Subject for CopyEngines {
    type View<'a> = CopyEnginesView;

    fn view<'a>(&'a self, sample: &'a Sample) -> CopyEnginesView {
        let each = self.ids.iter().map(|&id| sample.device::<DsaCounters>(id));
        CopyEnginesView {
            counters: each.fold(DsaCounters::default(), |sum, dsa| sum.plus(dsa)),
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
}

/// All metrics of copy engines.
pub(crate) const METRICS: &[Metric<CopyEngines>] = &[
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
    named(Engines, "dsa_page_faults_per_operation", "1", "Engine page faults per operation")
        .about("Translations that found a page absent.")
        .rate(|v| v.counters.page_faults as f64 / v.operations() as f64),
];
