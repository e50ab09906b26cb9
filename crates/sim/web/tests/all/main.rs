//! Tests of what pages receive: the same results as those of a run as a whole, and refusals in words.

use scenario::{RecordingRequest, job};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use web::{ExplorerSession, facts};

const L2FWD: &str = "experiments/ddio-bench/l2fwd.toml";
const SHORT: [(&str, &str); 3] =
    [("run.batch_packets", "512"), ("run.min_batches", "10"), ("run.max_batches", "10")];
/// Values that a wall clock decides.
const TIMES: [&str; 3] = ["wall_s", "line_ops_per_s", "real_time_factor"];

fn request(file: &str, settings: &[(&str, &str)]) -> Value {
    json!({ "file": file, "settings": settings, "seed": 1 })
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).expect("is JSON")
}

/// Runs a request in steps of `budget_ms`; returns the answer to it, and all reports.
fn stepped(request: &Value, budget_ms: f64) -> (Value, Vec<Value>) {
    let mut session = ExplorerSession::default();
    let answer = read(&session.start(&request.to_string()));
    let mut reports = Vec::new();
    while session.is_under_way() {
        reports.push(read(&session.advance(budget_ms)));
    }
    (answer, reports)
}

fn without_times(mut result: Value) -> Value {
    let keys = result.as_object_mut().expect("is a table");
    TIMES.iter().for_each(|key| keys[*key] = Value::Null);
    result
}

/// The result of the whole run, as the command prints it.
fn whole(file: &str, settings: &[(&str, &str)]) -> Value {
    let owned = |(key, value): &(&str, &str)| ((*key).to_string(), (*value).to_string());
    let settings: Vec<_> = settings.iter().map(owned).collect();
    let job = job(file, &settings, 1).expect("is valid");
    let ran = job.run(RecordingRequest::default(), |_| ControlFlow::Continue(()));
    // As pages read it: numbers that go through a text are not read to the last digit.
    read(&serde_json::to_string(&ran.expect("makes progress")).expect("is a table"))
}

#[test]
fn steps_of_any_length_end_with_the_result_of_the_whole_run() {
    let expected = without_times(whole(L2FWD, &SHORT));
    for budget_ms in [3.0, 40.0, 1e6] {
        let (answer, reports) = stepped(&request(L2FWD, &SHORT), budget_ms);
        assert_eq!(answer["platform"]["llc_ways"], 11);
        let last = reports.last().expect("has steps");
        assert_eq!(last["state"], "ended", "{budget_ms}");
        let text = read(last["text"].as_str().expect("is a text"));
        assert_eq!(without_times(text), expected, "{budget_ms}");
        assert_eq!(without_times(last["result"].clone()), expected, "{budget_ms}");
    }
}

#[test]
fn the_first_batch_is_reported_with_what_the_cache_holds() {
    let mut session = ExplorerSession::default();
    session.start(&request(L2FWD, &SHORT).to_string());
    let steps = std::iter::from_fn(|| session.is_under_way().then(|| session.advance(3.0)));
    let first = steps.map(|report| read(&report)).find(|report| report["result"].is_object());
    let first = first.expect("is reported");
    assert_eq!(first["result"]["batches"], 1);
    let llc = &first["llc"];
    let ways = llc["sockets"][0].as_array().expect("is a list");
    let agents = llc["agents"].as_array().expect("is a list").len();
    let room = llc["lines_of_way"].as_u64().expect("is a number");
    for way in ways {
        let agents_in_way = way.as_array().expect("is a list");
        assert_eq!(agents_in_way.len(), agents);
        let lines = agents_in_way.iter().flat_map(|pair| pair.as_array().expect("is a pair"));
        assert!(lines.map(|count| count.as_u64().expect("is a number")).sum::<u64>() <= room);
    }
    let occupancy = &first["result"]["metrics"]["llc_occupancy_bytes"]["value"];
    assert!(occupancy["nic0"].as_f64().expect("is a number") > 0.0);
    // Two ways by default, the highest of the eleven.
    assert_eq!(llc["io_way_masks"], json!([0x600]));
}

#[test]
fn engines_and_cores_are_compared_as_in_the_whole_run() {
    let file = "examples/descriptor-replay.toml";
    let (_, reports) = stepped(&request(file, &[]), 5.0);
    let last = reports.last().expect("has steps");
    assert_eq!(without_times(last["result"].clone()), without_times(whole(file, &[])));
}

#[test]
fn a_refusal_names_its_key_and_leaves_nothing_under_way() {
    for (settings, key, told) in [
        (vec![("cores", "0")], json!("cores"), "allowed: 1"),
        (vec![("coers", "1")], json!("coers"), "did you mean `cores`?"),
        (vec![("platform", "epyc")], json!("platform"), "not modelled yet"),
    ] {
        let mut session = ExplorerSession::default();
        let answer = read(&session.start(&request(L2FWD, &settings).to_string()));
        assert_eq!((&answer["state"], &answer["error"]["key"]), (&json!("refused"), &key));
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains(told)));
        assert!(!session.is_under_way());
        assert_eq!(read(&session.advance(1.0))["state"], "refused");
    }
    assert_eq!(read(&ExplorerSession::default().start("{}"))["state"], "refused");
}

#[test]
fn an_exported_text_gives_the_same_scenario() {
    let settings = [("rx_descriptors", "512"), ("traffic.flows", "16"), ("cores", "2")];
    let text = read(&facts::changed_text(&request(L2FWD, &settings).to_string()));
    let own = json!({ "file": "own.toml", "text": text["text"], "seed": 1 });
    let checked = |request: &Value| read(&facts::checked(&request.to_string()))["scenario"].clone();
    assert_eq!(checked(&own), checked(&request(L2FWD, &settings)));
}

#[test]
fn facts_are_found_by_name() {
    assert!(facts::by_name("catalogue", "").is_some_and(|text| text.contains("ice-lake-40")));
    assert!(facts::by_name("schema", "scenario").is_some_and(|text| text.contains("ddio_ways")));
    assert!(facts::by_name("metrics", "").is_some_and(|text| text.contains("pcie_write_hit_rate")));
    assert!(facts::by_name("file", L2FWD).is_some());
    let experiment = facts::by_name("toml_file", "experiments/ddio-bench/ddio-tune.toml");
    assert!(experiment.is_some_and(|text| text.contains("fit_points")));
    assert_eq!(facts::by_name("weather", ""), None);
    assert_eq!(facts::by_name("file", "elsewhere.toml"), None);
}
