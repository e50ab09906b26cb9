//! Batches of a run: when there are enough, and their combined metrics.

use crate::contract::metric::Numbers;
use crate::contract::sample::{DeviceSample, Sample};
use crate::plan::layout::{Layout, TenantLayout};
use crate::run::metrics::{self, Declaration, Kind};
use crate::run::result::{Intervals, MetricResult};
use crate::run::statistics::{half_width_95, mean, warm_up};
use crate::scenario::RunKeys;
use hdrhistogram::Histogram;
use model::reading::Reading;
use model::software::DESCRIPTOR_PHASES;
use std::collections::BTreeMap;
use units::Id;

/// One batch of a run.
pub(crate) struct RunBatch {
    /// The reading of all counters at the start of the batch.
    pub(crate) before: Sample,
    /// The counts of the batch: the difference of the readings at its end and its start.
    pub(crate) sample: Sample,
    /// Latencies of each tenant, in ns: of its packets, from arrival to departure, or of its requests.
    pub(crate) latency_ns: Vec<Histogram<u64>>,
    /// Phases of each tenant's descriptors, in ns, if it offloads operations.
    pub(crate) phases_ns: Vec<Option<[Histogram<u64>; DESCRIPTOR_PHASES]>>,
    /// Latencies of each tenant, in ns, that the client at the other end of its wire measured, if there is one.
    pub(crate) one_way_ns: Vec<Option<Histogram<u64>>>,
}

impl RunBatch {
    /// Whether packets arrived and none left.
    pub(crate) fn is_stalled(&self) -> bool {
        let arrived: u64 = self.sample.devices.iter().map(DeviceSample::packets_offered).sum();
        arrived > 0 && self.sample.progress == 0
    }
}

/// A metric of the machine or its main tenant that determines warm-up and end.
struct Criterion {
    measure: fn(&Sample) -> f64,
    /// Half width of the interval at which the run may stop, for a given mean.
    wanted: fn(&RunKeys, f64) -> f64,
}

const CRITERIA: [Criterion; 3] = [
    Criterion {
        measure: |s| rate(s.counters.pcie_write_hits, s.counters.pcie_write_misses),
        wanted: |keys, _| keys.hit_rate_interval_points,
    },
    Criterion {
        measure: |s| rate(s.counters.pcie_read_hits, s.counters.pcie_read_misses),
        wanted: |keys, _| keys.hit_rate_interval_points,
    },
    Criterion {
        measure: |s| s.progress as f64 / s.span.as_ns().max(1e-3),
        wanted: |keys, mean| mean * keys.throughput_interval_percent / 100.0,
    },
];

/// Hit rate in percent. Without events it is NaN, and no run ends because of it.
fn rate(hits: u64, misses: u64) -> f64 {
    100.0 * hits as f64 / (hits + misses) as f64
}

fn series(batches: &[RunBatch], criterion: &Criterion) -> Vec<f64> {
    batches.iter().map(|batch| (criterion.measure)(&batch.sample)).collect()
}

/// Work of a tenant per nanosecond. A tenant beside the main one determines warm-up and end by it alone:
/// it may be much slower, and warm up for longer.
fn work_rates(batches: &[RunBatch], tenant: &TenantLayout) -> Vec<f64> {
    let rate = |RunBatch { sample, .. }: &RunBatch| {
        let work: u64 = tenant.cores.iter().map(|core| sample.software[core.index()].work).sum();
        work as f64 / sample.span.as_ns().max(1e-3)
    };
    batches.iter().map(rate).collect()
}

/// The number of batches at the start that belong to the warm-up of some tenant, the main one first: half
/// of them if the run has not settled.
pub(crate) fn warm_up_batches(
    batches: &[RunBatch],
    keys: &RunKeys,
    tenants: &[TenantLayout],
) -> usize {
    let cuts = CRITERIA.iter().map(|criterion| warm_up(&series(batches, criterion)));
    let beside = tenants.iter().skip(1).map(|tenant| warm_up(&work_rates(batches, tenant)));
    let settled = first_settled_batch(batches, keys).unwrap_or(batches.len() / 2);
    cuts.chain(beside).max().unwrap_or_default().max(settled)
}

/// Whether the run has settled: its measurements no longer depend on the empty start.
pub(crate) fn has_settled(batches: &[RunBatch], keys: &RunKeys) -> bool {
    first_settled_batch(batches, keys).is_some()
}

/// The batch in the first half from which on queues have stopped filling: the backlog of received
/// packets that have not left changes by no more, relative to the packets received, than the allowed
/// error of throughput. Not before every entry of the receive rings has been used.
fn first_settled_batch(batches: &[RunBatch], keys: &RunKeys) -> Option<usize> {
    let last = &batches.last()?.sample;
    let mut received = 0;
    let mut settled = None;
    for (number, batch) in batches.iter().enumerate().rev() {
        received += batch.sample.devices.iter().map(DeviceSample::packets_received).sum::<u64>();
        let grown = last.backlog.abs_diff(batch.before.backlog);
        let allowed = received as f64 * keys.throughput_interval_percent / 100.0;
        let is_early = number <= batches.len() / 2;
        if is_early && batch.before.rings_used.1 == last.rings_used.0 && grown as f64 <= allowed {
            settled = Some(number);
        }
    }
    settled
}

/// Whether a run may end: every tenant has settled, and every interval is tight.
pub(crate) fn may_end(batches: &[RunBatch], keys: &RunKeys, tenants: &[TenantLayout]) -> bool {
    let rest = &batches[warm_up_batches(batches, keys, tenants)..];
    has_settled(batches, keys)
        && CRITERIA.iter().all(|criterion| is_tight(rest, keys, criterion))
        && tenants.iter().skip(1).all(|tenant| has_steady_work(rest, keys, tenant))
}

fn is_tight(measured: &[RunBatch], keys: &RunKeys, criterion: &Criterion) -> bool {
    let series = series(measured, criterion);
    // A machine whose devices move no lines has no hit rates to wait for.
    if series.iter().all(|value| value.is_nan()) {
        return true;
    }
    let wanted = (criterion.wanted)(keys, mean(&series));
    half_width_95(&series).is_some_and(|half| half <= wanted && wanted > 0.0)
}

/// Whether the 95 % interval of a tenant's work over the measured batches is no wider than
/// `run.throughput_interval_percent` allows.
pub(crate) fn has_steady_work(
    measured: &[RunBatch],
    keys: &RunKeys,
    tenant: &TenantLayout,
) -> bool {
    let rates = work_rates(measured, tenant);
    let wanted = mean(&rates) * keys.throughput_interval_percent / 100.0;
    half_width_95(&rates).is_some_and(|half| half <= wanted && wanted > 0.0)
}

/// Computes all metrics but latencies over the measured batches; `end` is the reading after the last.
pub(crate) fn combine(
    batches: &[RunBatch],
    end: &Sample,
    layout: &Layout,
    core_ghz: f64,
) -> BTreeMap<String, MetricResult> {
    let whole = end.since(&batches[0].before);
    let mut results = BTreeMap::new();
    for metric in metrics::all(layout, core_ghz) {
        let each: Vec<Numbers> =
            batches.iter().map(|batch| metric.numbers(&batch.sample)).collect();
        let estimate = |total, name: Option<&str>| {
            let series: Vec<f64> = each.iter().filter_map(|batch| batch.number(name)).collect();
            estimate(metric.kind, total, &series)
        };
        let (value, ci95) = match metric.numbers(&whole) {
            Numbers::One(total) => {
                let (value, half) = estimate(total, None);
                (Numbers::One(value), Intervals::One(half))
            }
            Numbers::Parts(totals) => {
                let (mut values, mut halves) = (BTreeMap::new(), BTreeMap::new());
                for (name, total) in totals {
                    let (value, half) = estimate(total, Some(&name));
                    values.insert(name.clone(), value);
                    halves.insert(name, half);
                }
                (Numbers::Parts(values), Intervals::Parts(halves))
            }
        };
        let &Declaration { unit, description, .. } = metric.declaration;
        results.insert(metric.name, MetricResult { value, ci95, unit, description });
    }
    results
}

/// Value and half width of a metric: `total` is its value over the whole measured time, `series`
/// those of the batches.
fn estimate(kind: Kind, total: f64, series: &[f64]) -> (f64, Option<f64>) {
    let half = half_width_95(series).filter(|half| half.is_finite());
    match kind {
        Kind::Rate => (total, half),
        Kind::Count => (total, half.map(|half| half * series.len() as f64)),
        Kind::Level => (mean(series), half),
    }
}
