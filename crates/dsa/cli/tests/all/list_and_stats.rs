//! Do `list` and `stats` report the runs that are under way?

use crate::runs::{Place, client, ended};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// The objects of `stats --json`.
fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect()
}

fn sum(counts: &Value) -> u64 {
    counts.as_object().expect("is an object").values().filter_map(Value::as_u64).sum()
}

#[test]
fn counts_are_those_of_the_descriptors() {
    let place = Place::new();
    let script = "$client load wq0.1 500 1 >/dev/null; $client batches wq0.0 10; $dsa stats --json";
    let found = objects(&place.script(&[], script).with(0));
    let [dedicated, shared] = &found[..] else { panic!("{found:?}") };
    assert_eq!([&shared["queue"], &dedicated["queue"]], ["wq0.1", "wq0.0"]);
    assert_eq!([&shared["accepted"], &shared["lost"], &shared["occupancy"]], [500, 0, 0]);
    assert_eq!(shared["ended_by_status"], serde_json::json!({ "0x01": 500 }));
    let done = &shared["done_by_opcode"];
    assert!(done["0x03"].as_u64() > Some(0) && done["0x04"].as_u64() > Some(0), "{done}");
    assert_eq!(sum(done), 500);
    // Ten batches of two no-ops, a fill and a copy.
    assert_eq!([&dedicated["accepted"], &dedicated["bytes"]], [10, 6000]);
    assert_eq!(
        dedicated["done_by_opcode"],
        serde_json::json!({ "0x00": 20, "0x01": 10, "0x03": 10, "0x04": 10 })
    );
}

#[test]
fn retries_and_losses_are_counted() {
    let place = Place::new();
    let counts = |work: &str| {
        let out = place.script(&[], &format!("set -e; {work} >&2; $dsa stats --json; $dsa stats"));
        let out = out.with(0);
        assert!(out.lines().any(|line| line.starts_with("wq0.1  accepted")), "{out}");
        let json: Vec<&str> = out.lines().filter(|line| line.starts_with('{')).collect();
        objects(&json.join("\n"))
    };
    let found = counts("$client dedicated-overflow wq0.0");
    assert!(found[0]["lost"].as_u64() >= Some(1), "{found:?}");
    let found = counts("$client shared-full wq0.1 >&2; $client shared-refuses wq0.1");
    assert!(found[1]["retried"].as_u64() >= Some(1), "{found:?}");
    let ends = &found[1]["ended_by_status"];
    assert_eq!([&ends["0x10"], &ends["0x11"], &ends["0x13"], &ends["0x1b"]], [1, 1, 1, 1]);
}

#[test]
fn inside_a_run_its_devices_are_not_those_of_the_machine() {
    let out = Place::new().script(&[], "$dsa list").with(0);
    assert!(out.starts_with("run ") && !out.contains("machine"), "{out}");
}

#[test]
fn runs_that_are_under_way_are_listed() {
    let place = Place::new();
    let nothing = ended(&mut place.command(&["stats", "--json"])).refused();
    assert!(nothing.contains("known runs: none"), "{nothing}");

    let mut command = place.command(&["run", "--devices", "2", "--"]);
    command.arg(client()).args(["holds", "wq1.1"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut run = command.spawn().expect("starts");
    let mut lines = BufReader::new(run.stdout.take().expect("is piped")).lines();
    assert_eq!(lines.next().expect("is said").expect("is text"), "open");

    let [directory] = &place.left()[..] else { panic!("{:?}", place.left()) };
    let number = directory.strip_prefix("skipline-dsa-").expect("is a run");
    let list = ended(&mut place.command(&["list"])).with(0);
    let own = list.lines().skip_while(|line| *line != format!("run {number}")).skip(1);
    let own: Vec<&str> = own.take_while(|line| line.starts_with("  ")).collect();
    let words = ["dsa0  enabled", "wq0.0  dedicated", "wq0.1  shared", "dsa1", "wq1.0", "wq1.1"];
    assert_eq!(own.len(), words.len(), "{list}");
    for (line, word) in own.iter().zip(words) {
        assert!(line.trim_start().starts_with(word), "{list}");
    }
    let found = objects(&ended(&mut place.command(&["stats", "--json", "--run", number])).with(0));
    let names: Vec<&Value> = found.iter().map(|object| &object["queue"]).collect();
    assert_eq!(names, ["wq0.0", "wq0.1", "wq1.0", "wq1.1"]);
    assert!(found.iter().all(|object| object["accepted"] == 0), "{found:?}");
    let other = ended(&mut place.command(&["stats", "--run", "1"])).refused();
    assert!(other.contains(number), "{other}");

    drop(run.stdin.take());
    assert!(run.wait().expect("ends").success());
    assert_eq!(place.left(), [""; 0]);
    let nothing = ended(&mut place.command(&["list"])).with(0);
    assert!(nothing.starts_with("no run") || nothing.starts_with("machine"), "{nothing}");
}
