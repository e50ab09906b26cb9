//! Every metric of every built-in scenario is in the reference, and the reference has no others.

use scenario::builtin;
use scenario::metrics::{self, latency};
use std::collections::BTreeSet;

/// Names of all metrics that runs of the built-in scenarios have, without those of their tenants.
fn measured() -> BTreeSet<String> {
    let is_scenario =
        |file: &String| builtin::read(file).is_ok_and(|text| text.contains("\napplication = "));
    let mut names = BTreeSet::new();
    for file in builtin::files().into_iter().filter(is_scenario) {
        let job = scenario::job(&file, &[], 1).expect("a built-in scenario");
        for metric in metrics::all(&job.plan().layout, 1.0) {
            assert!(metric.name.ends_with(metric.declaration.name), "{}", metric.name);
            names.insert(metric.declaration.name.to_owned());
        }
    }
    let latencies = latency::METRICS.into_iter().chain(&latency::PHASES);
    names.extend(latencies.map(|latency| latency.name.to_owned()));
    names
}

#[test]
fn the_reference_lists_what_runs_measure() {
    let listed = metrics::reference().iter().map(|entry| entry.name.to_owned()).collect();
    let measured = measured();
    assert!(measured.len() > 50, "few: {measured:?}");
    assert_eq!(measured, listed);
}
