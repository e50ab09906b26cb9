//! Runs a built-in scenario file for a few batches and prints one of its metrics: `metric FILE METRIC
//! KEY=VALUE...`. It shows whether a change, or a setting, takes effect.

use scenario::{RecordingRequest, job};
use std::ops::ControlFlow;

const SEED: u64 = 1;
const SHORT: [(&str, &str); 3] =
    [("run.min_batches", "10"), ("run.max_batches", "10"), ("run.batch_packets", "1024")];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, metric, settings @ ..] = arguments.as_slice() else {
        panic!("the arguments are FILE METRIC KEY=VALUE...")
    };
    let settings = settings.iter().map(|setting| {
        setting.split_once('=').unwrap_or_else(|| panic!("`{setting}` is not KEY=VALUE"))
    });
    let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let overrides: Vec<(String, String)> = SHORT.into_iter().chain(settings).map(owned).collect();
    let job = job(file, &overrides, SEED).unwrap_or_else(|error| panic!("{error}"));
    let result =
        job.run(RecordingRequest::default(), |_| ControlFlow::Continue(())).expect("it ends");
    let metric = result.metrics.get(metric.as_str()).expect("the result has this metric");
    println!("{:?}", metric.value);
}
