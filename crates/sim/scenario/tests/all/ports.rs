//! Ports of one card: what they share, and what each has for itself.

use crate::job_of;
use crate::laws::cases;
use crate::random_scenarios::{Sketch, card, forwarder, line_rate_gbps, measured};
use proptest::prelude::*;
use scenario::RecordingRequest;
use scenario::result::{Numbers, RunResult};
use std::ops::ControlFlow;

const SINK: &str = r#"
platform = "skylake-gold-6140"
application = "packet-sink"
cores = 6
rx_descriptors = 256
packet_bytes = 1500
ddio_ways = 8
traffic.pattern = "random"
run.batch_packets = 2048
run.min_batches = 10
run.max_batches = 12
"#;

fn run(text: &str) -> RunResult {
    let job = job_of(text, 1).expect("it is a scenario");
    job.run(RecordingRequest::default(), |_| ControlFlow::Continue(())).expect("it makes progress")
}

fn number(result: &RunResult, name: &str) -> f64 {
    measured(result, name).expect("it is counted").0
}

#[test]
fn two_ports_with_half_the_load_equal_one_port_with_all_of_it() {
    let one = run(&format!("{SINK}offered_gbps = 40.0\n"));
    let two = run(&format!("{SINK}offered_gbps = 20.0\nports = 2\n"));
    for name in ["offered_gbps", "received_gbps", "rx_mpps"] {
        let (one, two) = (number(&one, name), number(&two, name));
        assert!((one - two).abs() < 0.01 * one, "{name}: {one} with one port, {two} with two");
    }
    let up = |result: &RunResult| match &result.metrics["pcie_utilisation"].value {
        Numbers::Parts(parts) => parts["up"],
        Numbers::One(one) => *one,
    };
    assert!((up(&one) - up(&two)).abs() < 1.0, "{} and {}", up(&one), up(&two));
    assert_eq!((number(&one, "rx_dropped"), number(&two, "rx_dropped")), (0.0, 0.0));
    assert!(number(&two, "pcie_write_hit_rate") > 99.0);
}

#[test]
fn each_port_has_its_wire_and_all_of_them_the_slot() {
    let both = run(&format!("{SINK}offered_gbps = 45.0\nports = 2\n"));
    let wires: Vec<&str> = both
        .limits
        .iter()
        .map(|limit| limit.resource.as_str())
        .filter(|it| it.contains("wire into"))
        .collect();
    assert_eq!(wires.len(), 2, "{wires:?}");
    assert!((number(&both, "received_gbps") - 90.0).abs() < 1.0);
    // 16 lanes of 8 GT/s carry some 103.7 Gbit/s of packets of 1500 bytes.
    let full = run(&format!("{SINK}offered_gbps = 95.0\nports = 2\n"));
    let received = number(&full, "received_gbps");
    assert!((80.0..108.0).contains(&received), "{received} Gbit/s");
    let narrow = run(&format!("{SINK}offered_gbps = 45.0\nports = 2\nhardware.pcie.lanes = 8\n"));
    let received = number(&narrow, "received_gbps");
    assert!((40.0..54.0).contains(&received), "{received} Gbit/s over half of the lanes");
}

#[test]
fn a_core_serves_all_ports_and_a_port_of_a_card_is_no_second_tenant() {
    let text = SINK.replace("packet-sink", "l2-forward").replace("cores = 6", "cores = 1");
    let both = run(&format!("{text}offered_gbps = 8.0\nports = 2\n"));
    assert!((number(&both, "throughput_gbps") - 16.0).abs() < 0.3);
    assert_eq!(number(&both, "rx_dropped"), 0.0);
    assert!(both.metrics.keys().all(|name| !name.starts_with("nic1")));
    // Latencies are those of both ports: about as many packets as were sent.
    assert!(both.metrics.contains_key("latency_ns"));
}

/// Each packet's life has as many lines written as read, all of them its own, whichever port it came in at.
#[test]
fn a_packet_s_trace_is_that_of_one_packet_with_several_ports() {
    let forwarder = format!("{SINK}offered_gbps = 20.0\n").replace("packet-sink", "l2-forward");
    let second = "[[tenant]]\nname = \"second\"\napplication = \"l2-forward\"\ncores = 2\noffered_gbps = 20.0\n";
    for text in [format!("{forwarder}ports = 2\n"), format!("{forwarder}{second}")] {
        let job = job_of(&text, 1).expect("it is a scenario");
        let lines: u64 = 24;
        for number in 4000..4003 {
            let wanted = RecordingRequest { packet: Some(number), ..RecordingRequest::default() };
            let result = job.run(wanted, |_| ControlFlow::Continue(())).expect("it ends");
            let trace = result.trace.expect("it was asked for");
            let of = |operation: &str| {
                let mut found: Vec<u64> = trace
                    .iter()
                    .filter(|event| event.operation.starts_with(operation))
                    .map(|event| event.line)
                    .collect();
                found.sort_unstable();
                found
            };
            let all: Vec<u64> = (0..lines).collect();
            assert_eq!(of("DMA write"), all, "packet {number} is written once");
            assert_eq!(of("DMA read"), all, "packet {number} is sent once");
        }
    }
}

#[test]
fn where_packets_do_not_come_at_a_rate_there_is_one_port() {
    for text in [
        "application = \"packet-source\"\nports = 2\n",
        "application = \"ping-pong\"\nports = 2\n",
        "application = \"memory-kernel\"\nports = 2\n",
    ] {
        let error = job_of(&format!("platform = \"skylake-gold-6140\"\n{text}"), 1);
        let error = error.map(|_| ()).expect_err("a second port is refused").to_string();
        assert!(error.contains("`ports`"), "{error}");
    }
    let error = job_of("platform = \"skylake-gold-6140\"\nports = 5\n", 1).map(|_| ());
    assert!(error.expect_err("it is too many").to_string().contains("1 to 4 ports of a card"));
}

#[test]
fn one_port_is_what_a_scenario_has_that_says_nothing() {
    let said = serde_json::to_string(&run(&format!("{SINK}offered_gbps = 20.0\nports = 1\n")));
    let unsaid = serde_json::to_string(&run(&format!("{SINK}offered_gbps = 20.0\n")));
    let without_time = |text: &str| {
        let mut result: serde_json::Value = serde_json::from_str(text).expect("it is JSON");
        for key in ["wall_s", "line_ops_per_s", "real_time_factor"] {
            result[key] = serde_json::Value::Null;
        }
        result
    };
    let (said, unsaid) = (said.expect("it is JSON"), unsaid.expect("it is JSON"));
    assert_eq!(without_time(&said), without_time(&unsaid));
    assert!(!unsaid.contains("\"ports\""));
}

proptest! {
    #![proptest_config(cases(4, 14))]

    #[test]
    fn packets_of_all_ports_are_conserved_and_no_wire_carries_more_than_its_rate(
        sketch in forwarder(1), ports in 2..5_u32, share in 0.05..0.6_f64,
    ) {
        let rate = line_rate_gbps(&sketch, 0);
        let several = sketch
            .with_of(0, "ports", ports)
            .with_of(0, "pool_buffers", 262_143)
            .with_of(0, "offered_gbps", share * rate);
        let several: &Sketch = &several;
        let Ok(result) = several.run(1) else { return Ok(()) };
        let [offered, received, sent] = ["offered_gbps", "received_gbps", "throughput_gbps"]
            .map(|name| measured(&result, name).map_or(0.0, |(value, _)| value));
        let wires = f64::from(ports) * rate;
        prop_assert!(offered <= wires * 1.01 && received <= offered * 1.02 + 0.5, "{offered} {received}");
        prop_assert!(sent <= wires * 1.01, "{sent} Gbit/s leave over {wires}");
        prop_assert!(card(several, 0).line_rate_gbps.value > 0.0);
    }
}
