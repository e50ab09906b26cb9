//! Runs every built-in scenario file, and variants of the main one, for a few batches and prints a
//! digest of each result without its wall-clock time: revisions that print the same compute the
//! same. `digests FILTER` runs those whose name contains it.

use scenario::{RecordingRequest, builtin};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

const SEED: u64 = 1;
const SHORT: [(&str, &str); 3] =
    [("run.min_batches", "10"), ("run.max_batches", "10"), ("run.batch_packets", "1024")];
const L2FWD: &str = "experiments/ddio-bench/l2fwd.toml";
/// Keys of variants, which take other ways through the model.
const VARIANTS: [&[(&str, &str)]; 12] = [
    &[("run.batch_packets", "16384")],
    &[("rx_descriptors", "256")],
    &[("packet_bytes", "60"), ("rx_descriptors", "1024")],
    &[("packet_bytes", "100"), ("ddio_ways", "8")],
    &[("cores", "4"), ("rx_descriptors", "512")],
    &[("cores", "18"), ("rx_descriptors", "64")],
    &[("ddio_ways", "0")],
    &[("nic_socket", "1")],
    &[("platform", "ice-lake-40")],
    &[("platform", "sapphire-rapids-56"), ("cores", "8")],
    &[("platform", "haswell-e5-2667v3")],
    &[("platform", "gem5-ispass20"), ("offered_gbps", "30")],
];

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    // A file without an application is an experiment, a platform or a table.
    let is_scenario =
        |file: &String| builtin::read(file).is_ok_and(|text| text.contains("\napplication = "));
    let scenarios = builtin::files().into_iter().filter(is_scenario);
    let (examples, experiments): (Vec<_>, Vec<_>) =
        scenarios.partition(|file| file.starts_with("examples/"));
    let alone = |file| (file, [].as_slice());
    let variants = VARIANTS.iter().map(|keys| (L2FWD.to_owned(), *keys));
    // Examples come and go: they stand last.
    let all = experiments.into_iter().map(alone).chain(variants);
    for (file, keys) in all.chain(examples.into_iter().map(alone)) {
        let settings: Vec<String> =
            keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let name = format!("{file} {}", settings.join(" "));
        if !name.contains(&filter) {
            continue;
        }
        let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        let overrides: Vec<(String, String)> = SHORT.iter().chain(keys).map(owned).collect();
        match digest(&file, &overrides) {
            Ok(digest) => println!("{digest:016x} {name}"),
            Err(error) => println!("{name}: {error}"),
        }
    }
}

/// A digest of the result of a run.
fn digest(file: &str, overrides: &[(String, String)]) -> Result<u64, scenario::InputError> {
    let job = scenario::job(file, overrides, SEED)?;
    let ran = job.run(RecordingRequest::default(), |_| ControlFlow::Continue(()));
    let mut result = ran.expect("the watcher lets it end");
    (result.wall_s, result.line_ops_per_s, result.real_time_factor) = (0.0, 0.0, 0.0);
    // Sentences for people are no result of the simulation either.
    result.answer.clear();
    result.notes.clear();
    let mut text = serde_json::to_string(&result).expect("a result is serialisable");
    // How metrics look to people is no result of the simulation.
    for metric in result.metrics.values() {
        let description =
            serde_json::to_string(&metric.description).expect("a description is serialisable");
        text = text.replace(&format!(",{}", description.trim_matches(['{', '}'])), "");
    }
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    Ok(hasher.finish())
}
