//! Metrics of a storage target.

use crate::contract::application_cores::{ApplicationCores, percent};
use crate::contract::metric::Group::Storage;
use crate::contract::metric::{Metric, named};

/// Metrics of a storage target.
pub(crate) const METRICS: &[Metric<ApplicationCores>] = &[
    named(Storage, "target_reads_per_s", "1/s", "Reads answered")
        .about("Requests of initiators that the target has answered.")
        .headline()
        .rate(|v| v.per_second(v.account.work)),
    named(Storage, "target_gbytes_per_s", "GB/s", "Data of answers")
        .about("Data of the reads that the target has answered, without headers.")
        .headline()
        .in_timeline()
        .rate(|v| v.account.target.answered_bytes as f64 / v.span.as_ns()),
    named(Storage, "target_core_time", "percent", "Core time of the target")
        .about("Time of its cores by what they do; the rest is idle.")
        .headline()
        .rate_by("part", |v| {
            let it = &v.account.target;
            let parts = [
                ("requests", it.requesting),
                ("completions", it.completing),
                ("digests", it.digesting),
                ("answers", it.sending),
            ];
            let all = v.core_time.as_ns();
            parts.map(|(name, time)| (name.into(), percent(time.as_ns(), all))).into()
        }),
];
