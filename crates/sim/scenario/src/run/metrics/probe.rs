//! Metrics of processes that watch cache sets; a detection is right if a device has placed a line.

use crate::contract::arithmetic::percent;
use crate::contract::metric::Group::Probes;
use crate::contract::metric::{Metric, Subject, named};
use crate::contract::sample::Sample;
use model::counters::ProbeCounts;
use model::reading::Reading;
use units::Picos;

/// The cores whose software watches cache sets.
pub(crate) struct ProbingCores {
    /// Numbers of the cores.
    pub numbers: Vec<usize>,
}

/// Sum of the observations of all such cores, and the time over which they counted.
pub(crate) struct ProbesView {
    counts: ProbeCounts,
    span: Picos,
}

impl Subject for ProbingCores {
    type View<'a> = ProbesView;

    fn view<'a>(&'a self, sample: &'a Sample) -> ProbesView {
        let each = self.numbers.iter().map(|&core| &sample.software[core].probes);
        let counts = each.fold(ProbeCounts::default(), |sum, probes| sum.plus(probes));
        ProbesView { counts, span: sample.span }
    }
}

/// All metrics of probes.
pub(crate) const METRICS: &[Metric<ProbingCores>] = &[
    named(Probes, "probes_per_s", "1/s", "Probes")
        .about("Looks at cache sets.")
        .rate(|v| v.counts.probes() as f64 / v.span.as_seconds()),
    named(Probes, "probe_io_rate", "percent", "Probes with I/O")
        .about("Looks at sets in which a device had placed a line.")
        .rate(|v| percent(v.counts.with_io(), v.counts.without_io())),
    named(Probes, "probe_detection_rate", "percent", "Detections")
        .about("Looks that reported a device's line, rightly or not.")
        .rate(|v| {
            let detected = v.counts.true_positives + v.counts.false_positives;
            percent(detected, v.counts.probes() - detected)
        }),
    named(Probes, "probe_true_positive_rate", "percent", "True positive rate")
        .about("Looks that reported a device's line, of those where there was one.")
        .rate(|v| percent(v.counts.true_positives, v.counts.false_negatives)),
    named(Probes, "probe_false_positive_rate", "percent", "False positive rate")
        .about("Looks that reported a device's line, of those where there was none.")
        .rate(|v| percent(v.counts.false_positives, v.counts.true_negatives)),
];
