//! A co-runner that watches the LLC, and packets that a port sends past the cache: whole runs.

use scenario::result::{Numbers, RunResult};
use scenario::{InputError, RecordingRequest, job};
use std::ops::ControlFlow;

const WATCHED: &str = "experiments/atc20/probe-scenario.toml";
const L2FWD: &str = "experiments/ddio-bench/l2fwd.toml";

fn try_run(file: &str, settings: &[(&str, &str)]) -> Result<RunResult, InputError> {
    let short = [("run.batch_packets", "512"), ("run.max_batches", "10")];
    let all = short.iter().chain(settings);
    let owned: Vec<(String, String)> = all.map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let job = job(file, &owned, 1)?;
    Ok(job
        .run(RecordingRequest::default(), |_| ControlFlow::Continue(()))
        .expect("the watcher lets it end"))
}

fn run(file: &str, settings: &[(&str, &str)]) -> RunResult {
    try_run(file, settings).expect("the scenario is valid")
}

fn value(result: &RunResult, name: &str) -> f64 {
    match result.metrics[name].value {
        Numbers::One(value) => value,
        Numbers::Parts(_) => panic!("{name} has parts"),
    }
}

fn refused(file: &str, settings: &[(&str, &str)]) -> String {
    try_run(file, settings).expect_err("it must be refused").to_string()
}

#[test]
fn atc_39_a_probe_tells_sets_that_devices_wrote_to_from_others() {
    let result = run(WATCHED, &[]);
    assert!(value(&result, "probes_per_s") > 1e5);
    assert!(value(&result, "probe_io_rate") > 1.0);
    let right = value(&result, "probe_true_positive_rate");
    let wrong = value(&result, "probe_false_positive_rate");
    assert!(right - wrong > 50.0 && wrong < 10.0, "{right} {wrong}");
}

#[test]
fn atc_39_with_ddio_off_there_is_nothing_of_devices_to_see() {
    let result = run(WATCHED, &[("ddio_ways", "0")]);
    assert_eq!(value(&result, "probe_io_rate"), 0.0);
    assert!(value(&result, "probe_detection_rate") < 10.0);
}

#[test]
fn who_has_no_probe_gets_no_metrics_of_one() {
    assert!(!run(L2FWD, &[]).metrics.contains_key("probes_per_s"));
}

#[test]
fn a_probe_needs_an_inclusive_llc_and_lines_for_every_set() {
    let elsewhere = refused(WATCHED, &[("platform", "skylake-gold-6140")]);
    assert!(
        elsewhere.contains("co_runner.0.probe") && elsewhere.contains("inclusive"),
        "{elsewhere}"
    );
    let mut file = std::fs::read_to_string(format!("../../../../{WATCHED}")).expect("it is there");
    file = file.replace("134217728", "1048576");
    let path = std::env::temp_dir().join(format!("small-probe-{}.toml", std::process::id()));
    std::fs::write(&path, file).expect("there is room");
    let small = refused(path.to_str().expect("plain name"), &[]);
    std::fs::remove_file(&path).expect("it was there");
    assert!(small.contains("working_set_bytes") && small.contains("twice the LLC"), "{small}");
}

#[test]
fn atc_38_packets_of_a_backlog_go_to_memory_and_only_those() {
    let overload = [("rx_descriptors", "4096"), ("rng_calls", "200")];
    let with = |backlog: &str| {
        let key = ("placement.bypass_when_backlogged", backlog);
        run(L2FWD, &[&overload[..], &[key]].concat())
    };
    let hit_rate = |result: &RunResult| value(result, "pcie_write_hit_rate");
    let never = run(L2FWD, &overload);
    assert_eq!(hit_rate(&with("4095")), hit_rate(&never));
    // The ring stays full: nearly every packet is behind more than 64 others.
    let always = with("64");
    assert!(hit_rate(&always) < 5.0 && hit_rate(&never) > 20.0, "{}", hit_rate(&never));
    assert!(value(&always, "dram_write_gbytes_per_s") > value(&never, "dram_write_gbytes_per_s"));
}

#[test]
fn a_backlog_that_the_ring_cannot_have_is_refused() {
    let key = "placement.bypass_when_backlogged";
    let message = refused(L2FWD, &[("rx_descriptors", "256"), (key, "256")]);
    assert!(message.contains(key) && message.contains("255"), "{message}");
    let off = refused(L2FWD, &[("ddio_ways", "0"), (key, "100")]);
    assert!(off.contains(key), "{off}");
}
