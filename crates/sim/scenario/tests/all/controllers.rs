//! Controllers of LLC ways, and loads that change: do settings follow the load, within their bounds?

use crate::job_of;
use scenario::RecordingRequest;
use scenario::result::{Numbers, RunResult};
use std::ops::ControlFlow;

/// A ring that two ways cannot hold, at half of the line rate.
const LEAKING: &str = "platform = \"skylake-gold-6140\"\napplication = \"l2-forward\"\n\
    cores = 2\nrx_descriptors = 4096\npacket_bytes = 1500\noffered_gbps = 50.0\nddio_ways = 2\n";
const SHORT: &str = "[run]\nbatch_packets = 2048\nmin_batches = 12\nmax_batches = 12\n";
const NEIGHBOUR: &str = "[[co_runner]]\nworking_set_bytes = 4194304\nway_mask = 0x600\n";

fn run(text: &str) -> RunResult {
    let job = job_of(text, 3).unwrap_or_else(|error| panic!("{error}"));
    job.run(RecordingRequest::default(), |_| ControlFlow::Continue(()))
        .expect("the watcher lets it end")
}

fn refusal(text: &str) -> String {
    match job_of(text, 3) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("must be refused: {text}"),
    }
}

fn value(result: &RunResult, name: &str) -> f64 {
    match result.metrics.get(name).map(|metric| &metric.value) {
        Some(Numbers::One(value)) => *value,
        other => panic!("{name}: {other:?}"),
    }
}

fn steered(kind: &str, keys: &str, rest: &str) -> String {
    format!("{LEAKING}{SHORT}{rest}[controller]\nkind = \"{kind}\"\nperiod_us = 20.0\n{keys}")
}

#[test]
fn a_ring_that_leaks_gets_more_ways_and_hits_more_often() {
    let alone = run(&format!("{LEAKING}{SHORT}"));
    for kind in ["threshold", "iat"] {
        let result = run(&steered(kind, "", ""));
        assert!(value(&result, "ddio_ways") > 2.5, "{kind}: {}", value(&result, "ddio_ways"));
        let (before, after) =
            (value(&alone, "pcie_write_hit_rate"), value(&result, "pcie_write_hit_rate"));
        assert!(after > before + 5.0, "{kind}: {before} -> {after}");
    }
}

#[test]
fn bounds_hold() {
    let result = run(&steered("threshold", "min_ways = 3\nmax_ways = 3\n", ""));
    assert!((value(&result, "ddio_ways") - 3.0).abs() < 1e-9);
}

/// One port has the same controller under either name.
#[test]
fn one_controller_for_all_ports_is_that_of_the_only_port() {
    let of_port = "[dynamic_ways]\nperiod_us = 20.0\n";
    let (one, other) =
        (run(&format!("{LEAKING}{SHORT}{of_port}")), run(&steered("threshold", "", "")));
    for name in ["pcie_write_hit_rate", "ddio_ways", "throughput_gbps", "dram_write_gbytes_per_s"] {
        assert!((value(&one, name) - value(&other, name)).abs() < 1e-12, "{name}");
    }
}

/// IAT lays a neighbour of best effort where devices write only if the others leave no room.
#[test]
fn iat_moves_a_neighbour_away_from_devices_while_there_is_room() {
    let own = "core_way_mask = 0x7\n";
    let text = |kind: &str, keys: &str| {
        steered(kind, keys, NEIGHBOUR).replace("ddio_ways = 2\n", &format!("ddio_ways = 2\n{own}"))
    };
    let work = |result: &RunResult| match &result.metrics["work_per_s_by_core"].value {
        Numbers::Parts(parts) => parts["core2"],
        Numbers::One(_) => panic!("no parts"),
    };
    // Its mask is that of the devices' ways until the controller moves it.
    let still = work(&run(&text("threshold", "")));
    let moved = work(&run(&text("iat", "best_effort = [\"co_runner.0\"]\n")));
    assert!(moved > 1.02 * still, "{still} -> {moved}");
}

#[test]
fn a_load_offers_its_mean_share() {
    let text = |load: &str| {
        format!(
            "platform = \"skylake-gold-6140\"\napplication = \"l2-forward\"\ncores = 2\n\
             packet_bytes = 1500\noffered_gbps = 20.0\n{load}\n\
             [run]\nbatch_packets = 4096\nmin_batches = 10\nmax_batches = 10\n"
        )
    };
    let steady = value(&run(&text("")), "throughput_gbps");
    let load = "traffic.load = [1.0, 0.5, 0.0, 0.5]\ntraffic.load_step_us = 20.0";
    let varying = value(&run(&text(load)), "throughput_gbps");
    assert!((varying / steady - 0.5).abs() < 0.01, "{varying} of {steady}");
}

#[test]
fn what_cannot_be_is_refused_with_the_key() {
    let with = |keys: &str| refusal(&steered("threshold", keys, ""));
    assert!(with("max_ways = 12\n").contains("controller.max_ways"));
    assert!(with("min_ways = 5\nmax_ways = 4\n").contains("no fewer than controller.min_ways"));
    assert!(with("stable_percent = 3.0\n").contains("only with controller.kind = \"iat\""));
    let names = refusal(&steered("iat", "best_effort = [\"mian\"]\n", NEIGHBOUR));
    assert!(names.contains("allowed: main, co_runner.0"), "{names}");
    let twice = refusal(&steered("threshold", "", "[dynamic_ways]\nperiod_us = 20.0\n"));
    assert!(twice.contains("[dynamic_ways]"), "{twice}");
    let event = "[[event]]\nat_us = 5.0\nddio_ways = 4\n";
    assert!(refusal(&steered("iat", "", event)).contains("an event changes ddio_ways"));
    let load = |load: &str| refusal(&format!("{LEAKING}{load}\n{SHORT}"));
    assert!(load("traffic.load = [0.0]").contains("traffic.load"));
    assert!(load("traffic.load = [1.5]").contains("from 0 to 1"));
    assert!(load("traffic.load_step_us = 5.0").contains("only together with traffic.load"));
}
