//! Metrics of a cache of items.

use crate::contract::application_cores::{ApplicationCores, percent};
use crate::contract::metric::Group::{CopyEngines, Cores};
use crate::contract::metric::{Metric, named};

/// Metrics of a cache of items.
pub(crate) const METRICS: &[Metric<ApplicationCores>] = &[
    named(Cores, "store_gets_per_s", "1/s", "Gets")
        .about("Items that the cache's clients read.")
        .headline()
        .rate(|v| v.per_second(v.account.store.gets)),
    named(Cores, "store_sets_per_s", "1/s", "Sets")
        .about("Items that the cache's clients wrote.")
        .headline()
        .rate(|v| v.per_second(v.account.store.sets)),
    named(CopyEngines, "offloaded_copies_percent", "percent", "Share of copies by engines")
        .about("Share of all copies that engines made.")
        .rate(|v| {
            let copies = &v.account.copies;
            percent(copies.offloaded as f64, copies.copies as f64)
        }),
    named(CopyEngines, "offloaded_bytes_percent", "percent", "Share of bytes by engines")
        .about("Share of the bytes of all copies that engines copied.")
        .rate(|v| {
            let copies = &v.account.copies;
            percent(copies.offloaded_bytes as f64, copies.bytes as f64)
        }),
];
