//! Placement, warm buffers, ways that change during a run, limits: whole runs from scenario keys.

use model::device::DeviceId;
use model::tracer::{Found, NoTrace};
use scenario::result::{Numbers, RunResult};
use scenario::{InputError, RecordingRequest, job};
use std::ops::ControlFlow;
use units::{CoreId, Picos};

const L2FWD: &str = "experiments/ddio-bench/l2fwd.toml";

const SHORT: [(&str, &str); 4] = [
    ("run.batch_packets", "1024"),
    ("run.min_batches", "16"),
    ("run.max_batches", "16"),
    ("offered_gbps", "80"),
];

fn try_run(settings: &[(&str, &str)]) -> Result<RunResult, InputError> {
    let all = SHORT.iter().chain(settings);
    let owned: Vec<(String, String)> = all.map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let job = job(L2FWD, &owned, 1)?;
    Ok(job
        .run(RecordingRequest::default(), |_| ControlFlow::Continue(()))
        .expect("the watcher lets it end"))
}

fn run(settings: &[(&str, &str)]) -> RunResult {
    try_run(settings).expect("the scenario is valid")
}

fn value(result: &RunResult, name: &str) -> f64 {
    match result.metrics[name].value {
        Numbers::One(value) => value,
        Numbers::Parts(_) => panic!("{name} has parts"),
    }
}

fn refused(settings: &[(&str, &str)]) -> String {
    try_run(settings).expect_err("it must be refused").to_string()
}

#[test]
fn a_timeline_is_only_recorded_on_request() {
    assert!(run(&[]).timeline.is_empty());
}

#[test]
fn atc_35_an_event_changes_the_ways_while_packets_flow() {
    let result =
        run(&[("event.at_us", "1500"), ("event.ddio_ways", "0"), ("rx_descriptors", "512")]);
    let hit_rate = |place: usize| result.timeline[place].metrics["pcie_write_hit_rate"];
    let ways = |place: usize| result.timeline[place].metrics["ddio_ways"];
    let last = result.timeline.len() - 1;
    let change = result.timeline.iter().position(|point| point.until_ns > 1.5e6);
    let change = change.expect("the run is longer than that");
    assert!(change > 2 && change < last - 2, "{change} of {last}");
    assert!(hit_rate(change - 1) > 95.0 && ways(change - 1) == 2.0);
    assert!(hit_rate(last) == 0.0 && ways(last) == 0.0);
    assert_eq!(value(&result, "rx_dropped"), 0.0);
}

#[test]
fn gem5_15_dynamic_ways_follow_the_misses_of_their_port() {
    // A ring that nothing has touched yet misses as well: what counts is where the ways end.
    let last = |result: &RunResult| {
        let end = result.timeline.last().expect("ways that change have a timeline");
        end.metrics["ddio_ways"]
    };
    let leaks = run(&[("dynamic_ways.period_us", "100"), ("rx_descriptors", "4096")]);
    assert!(last(&leaks) > 4.0);
    let fits = run(&[("dynamic_ways.period_us", "100"), ("rx_descriptors", "256")]);
    assert!(last(&fits) < 2.0);
    assert!(leaks.timeline[0].metrics["ddio_ways"] <= 6.0, "never beyond its bound");
}

#[test]
fn atc_27_warm_buffers_are_hit_beyond_the_ddio_ways() {
    let cold = value(&run(&[]), "pcie_write_hit_rate");
    let warm = value(&run(&[("warm_buffers", "4096")]), "pcie_write_hit_rate");
    assert!(warm > cold + 20.0, "{cold} cold, {warm} warm");
}

#[test]
fn every_tenant_beside_another_has_the_hit_rates_of_its_own_port() {
    let settings = [("tenant.0.ddio_ways", "0"), ("rx_descriptors", "256")];
    let toml = "title = \"two\"\nplatform = \"skylake-gold-6140\"\n[[tenant]]\nname = \"low\"\n";
    let overrides: Vec<(String, String)> =
        SHORT.iter().chain(&settings).map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let scenario = scenario::Scenario::read("two.toml", toml, &overrides).expect("is valid");
    let platform = scenario::builtin::platform("two.toml", "skylake-gold-6140").expect("built in");
    let job = scenario::Job::new("two.toml", scenario, platform, "skylake-gold-6140", 1);
    let result =
        job.expect("is valid").run(RecordingRequest::default(), |_| ControlFlow::Continue(()));
    let result = result.expect("the watcher lets it end");
    assert!(value(&result, "main:pcie_write_hit_rate") > 95.0);
    assert_eq!(value(&result, "low:pcie_write_hit_rate"), 0.0);
    assert!(value(&result, "pcie_write_hit_rate") < 60.0, "all devices together");
}

#[test]
fn policies_that_do_not_go_together_are_refused_with_the_key_and_the_reason() {
    for (settings, key) in [
        (&[("placement.prefetch_hint_lines", "2")][..], "placement.prefetch_hint_lines"),
        (&[("ddio_ways", "0"), ("placement.bypass_unread", "true")], "placement.bypass_unread"),
        (&[("warm_buffers", "4097")], "warm_buffers"),
        (&[("mba_percent", "5")], "mba_percent"),
        (
            &[("dynamic_ways.min_ways", "3"), ("dynamic_ways.max_ways", "2")],
            "dynamic_ways.max_ways",
        ),
        (&[("event.at_us", "1"), ("event.ddio_ways", "12")], "event.0.ddio_ways"),
        (
            &[("event.at_us", "1"), ("event.ddio_ways", "1"), ("event.tenant", "x")],
            "event.0.tenant",
        ),
        (
            &[("event.at_us", "1"), ("event.ddio_ways", "1"), ("dynamic_ways.min_ways", "1")],
            "event.0.tenant",
        ),
        (
            &[
                ("platform", "gem5-ispass20"),
                ("offered_gbps", "30"),
                ("core_way_mask", "0xffff"),
                ("placement.inject_lines", "2"),
            ],
            "placement",
        ),
    ] {
        let message = refused(settings);
        assert!(message.contains(key), "{settings:?}: {message}");
    }
}

#[test]
fn all_lines_of_a_warm_buffer_are_in_the_caches_at_time_zero() {
    let settings = [("warm_buffers", "128"), ("packet_bytes", "1500")];
    let owned = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let mut machine = job(L2FWD, &owned, 1).expect("the scenario is valid").machine(NoTrace);
    // The card has fetched the first descriptors, of buffers that are warm too.
    let (_, buffer) = machine.queues.nic_pairs(DeviceId(0))[0].rx.posted[0];
    let lines = (0..24).map(|line| buffer.data.step(line));
    let found: Vec<Found> =
        lines.map(|line| machine.fabric.core_read(CoreId(0), line, Picos::ZERO).found).collect();
    assert!(!found.contains(&Found::Dram), "{found:?}");
}
