//! Figures of latency distributions, each with its interval over the batches of a run.

use crate::contract::metric::Numbers;
use crate::contract::port::GeneratorWait;
use crate::run::metrics::Declaration;
use crate::run::result::{Intervals, MetricResult};
use crate::run::statistics::{half_width, half_width_95};
use hdrhistogram::Histogram;
use model::latency_histogram::latency_histogram;
use std::collections::BTreeMap;
use units::Picos;

/// A named figure of a latency distribution.
type Figure = (&'static str, fn(&Histogram<u64>) -> f64);

/// Figures of every latency.
const FIGURES: [Figure; 10] = [
    ("min", |h| h.min() as f64),
    ("p25", |h| h.value_at_quantile(0.25) as f64),
    ("p50", |h| h.value_at_quantile(0.50) as f64),
    ("p75", |h| h.value_at_quantile(0.75) as f64),
    ("p90", |h| h.value_at_quantile(0.90) as f64),
    ("p99", |h| h.value_at_quantile(0.99) as f64),
    ("p99.9", |h| h.value_at_quantile(0.999) as f64),
    ("p99.99", |h| h.value_at_quantile(0.9999) as f64),
    ("max", |h| h.max() as f64),
    ("mean", |h| h.mean()),
];

/// The farthest tail, which takes many requests.
const FAR_TAIL: Figure = ("p99.999", |h| h.value_at_quantile(0.999_99) as f64);

/// Additional figures of a client's report.
const CLIENT_FIGURES: [Figure; 2] = [FAR_TAIL, ("sd", |h| h.stdev())];

/// The figures of a latency, in ns, from the histograms of all batches.
pub(crate) fn metric(declared: &Declaration, batches: &[&Histogram<u64>]) -> MetricResult {
    figures(declared, batches, &FIGURES)
}

/// The figures of [`metric`] and the farthest tail, the 99.999th percentile.
pub(crate) fn metric_with_far_tail(
    declared: &Declaration,
    batches: &[&Histogram<u64>],
) -> MetricResult {
    figures(declared, batches, &[FIGURES.as_slice(), &[FAR_TAIL]].concat())
}

/// The figures of [`metric`] as the generator measures them, whose packets have waited in it too.
pub(crate) fn metric_of_generator(
    declared: &Declaration,
    batches: &[&Histogram<u64>],
    wait: GeneratorWait,
) -> MetricResult {
    let spread: Vec<_> = batches.iter().map(|batch| spread_evenly(batch, wait.batch)).collect();
    let mut metric = metric(declared, &spread.iter().collect::<Vec<_>>());
    if let Numbers::Parts(values) = &mut metric.value {
        values.values_mut().for_each(|value| *value += wait.always().as_ns());
    }
    metric
}

/// The distribution of sums of a latency and a wait that has any value up to `most`, each as often. A packet's
/// place in its batch has nothing to do with its latency in the server.
fn spread_evenly(histogram: &Histogram<u64>, most: Picos) -> Histogram<u64> {
    if most == Picos::ZERO {
        return histogram.clone();
    }
    // Steps stand for all waits: percentiles are off by a two-hundredth of the longest wait.
    const STEPS: u64 = 100;
    const PICOS_PER_NS: u64 = 1000;
    let mut spread = latency_histogram();
    for value in histogram.iter_recorded() {
        for step in 0..STEPS {
            let wait_ns = most.0 / (2 * STEPS) * (2 * step + 1) / PICOS_PER_NS;
            let later = value.value_iterated_to() + wait_ns;
            spread.saturating_record_n(later, value.count_at_value());
        }
    }
    spread
}

/// The figures of [`metric`] and those of a client's report: the farthest tail, the standard deviation, and
/// the half width of the 99 % interval of the mean.
pub(crate) fn metric_of_client(
    declared: &Declaration,
    batches: &[&Histogram<u64>],
) -> MetricResult {
    let mut metric = figures(declared, batches, &[FIGURES.as_slice(), &CLIENT_FIGURES].concat());
    let means: Vec<f64> = batches.iter().map(|batch| batch.mean()).collect();
    if let (Numbers::Parts(values), Intervals::Parts(halves)) =
        (&mut metric.value, &mut metric.ci95)
    {
        let half = half_width(&means, 0.99).unwrap_or(f64::NAN);
        values.insert("mean_ci99".into(), half);
        halves.insert("mean_ci99".into(), None);
    }
    metric
}

fn figures(
    declared: &Declaration,
    batches: &[&Histogram<u64>],
    figures: &[Figure],
) -> MetricResult {
    let mut merged = latency_histogram();
    for batch in batches {
        // Histograms of equal bounds: adding cannot fail.
        let added = merged.add(*batch);
        debug_assert!(added.is_ok());
    }
    let (mut values, mut halves) = (BTreeMap::new(), BTreeMap::new());
    for (name, of) in figures {
        let series: Vec<f64> = batches.iter().map(|batch| of(batch)).collect();
        let value = if merged.is_empty() { f64::NAN } else { of(&merged) };
        values.insert((*name).to_string(), value);
        halves.insert((*name).to_string(), half_width_95(&series).filter(|_| value.is_finite()));
    }
    let (value, ci95) = (Numbers::Parts(values), Intervals::Parts(halves));
    let &Declaration { unit, description, .. } = declared;
    MetricResult { value, ci95, unit, description }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::metrics::latency::{GENERATOR, LATENCY, ONE_WAY};
    use crate::run::statistics::mean;

    fn batch(values: &[u64]) -> Histogram<u64> {
        let mut histogram = latency_histogram();
        values.iter().for_each(|&value| histogram.saturating_record(value));
        histogram
    }

    fn part(metric: &MetricResult, name: &str) -> f64 {
        match &metric.value {
            Numbers::Parts(parts) => parts[name],
            Numbers::One(_) => panic!("latencies have parts"),
        }
    }

    #[test]
    fn quantiles_are_those_of_all_batches_together() {
        let batches = [batch(&[10, 20, 30]), batch(&[40, 50, 60, 70])];
        let metric = metric(&LATENCY, &batches.iter().collect::<Vec<_>>());
        assert_eq!(part(&metric, "p50"), 40.0);
        assert_eq!((part(&metric, "min"), part(&metric, "max")), (10.0, 70.0));
    }

    fn as_generator_measures(
        batches: &[&Histogram<u64>],
        always_ns: f64,
        batch_ns: f64,
    ) -> MetricResult {
        let wait = GeneratorWait {
            queue: Picos::from_ns(always_ns / 2.0),
            path: Picos::from_ns(always_ns / 2.0),
            batch: Picos::from_ns(batch_ns),
        };
        metric_of_generator(&GENERATOR, batches, wait)
    }

    #[test]
    fn what_always_passes_moves_every_figure_and_no_interval() {
        let batches = [batch(&[10, 20, 30]), batch(&[40, 50, 60, 70])];
        let batches: Vec<_> = batches.iter().collect();
        let own = metric(&LATENCY, &batches);
        let later = as_generator_measures(&batches, 628_000.0, 0.0);
        for name in ["min", "p50", "p99", "mean"] {
            assert_eq!(part(&later, name), part(&own, name) + 628_000.0, "{name}");
        }
        assert_eq!(later.ci95, own.ci95);
    }

    #[test]
    fn packets_of_a_batch_wait_for_one_another() {
        let batches = [batch(&[400; 100])];
        let spread = as_generator_measures(&batches.iter().collect::<Vec<_>>(), 0.0, 1000.0);
        // Evenly between 400 and 1,400.
        for (name, expected) in [("min", 405.0), ("p25", 650.0), ("p50", 900.0), ("p99", 1390.0)] {
            assert!((part(&spread, name) - expected).abs() <= 10.0, "{name}: {spread:?}");
        }
        assert!((part(&spread, "mean") - 900.0).abs() < 2.0);
    }

    #[test]
    fn the_99_percent_interval_is_wider_than_the_95_percent_one() {
        let batches: Vec<_> = [30, 10, 50, 20, 40].map(|mean| batch(&[mean])).into();
        let metric = metric_of_client(&ONE_WAY, &batches.iter().collect::<Vec<_>>());
        let means: Vec<f64> = vec![30.0, 10.0, 50.0, 20.0, 40.0];
        let half_95 = half_width_95(&means).expect("enough values");
        // Quantiles of Student's t with four degrees of freedom: 4.604 and 2.776.
        assert!((part(&metric, "mean_ci99") / half_95 - 4.604 / 2.776).abs() < 1e-3);
        assert_eq!(part(&metric, "mean"), mean(&means));
    }
}
