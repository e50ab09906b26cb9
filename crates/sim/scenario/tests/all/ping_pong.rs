//! Whole runs of the ping-pong test: would they fail if the model were wrong?

use model::tracer::NoTrace;
use scenario::result::{Numbers, RunResult};
use scenario::{Job, RecordingRequest, job};
use std::ops::ControlFlow;
use units::Picos;

const ECHO: &str = "experiments/blog/echo.toml";

fn echo(overrides: &[(&str, &str)]) -> Result<Job, String> {
    let owned: Vec<(String, String)> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    job(ECHO, &owned, 7).map_err(|error| error.to_string())
}

fn run(overrides: &[(&str, &str)]) -> RunResult {
    let short =
        [("run.batch_packets", "1024"), ("run.min_batches", "10"), ("run.max_batches", "10")];
    let all: Vec<(&str, &str)> = short.iter().chain(overrides).copied().collect();
    let job = echo(&all).expect("the scenario is valid");
    job.run(RecordingRequest::default(), |_| ControlFlow::Continue(()))
        .expect("the watcher lets it end")
}

fn value(result: &RunResult, name: &str) -> f64 {
    match result.metrics[name].value {
        Numbers::One(value) => value,
        Numbers::Parts(_) => panic!("{name} has parts"),
    }
}

fn part(result: &RunResult, name: &str, part: &str) -> f64 {
    match &result.metrics[name].value {
        Numbers::Parts(parts) => parts[part],
        Numbers::One(_) => panic!("{name} has no parts"),
    }
}

#[test]
fn every_request_is_answered_and_one_is_under_way() {
    let mut machine = echo(&[]).expect("valid").machine(NoTrace);
    machine.run(5_000, Picos::NEVER);
    let rx = machine.devices[0].as_nic().expect("a NIC").port.counters;
    let account = machine.software[0].account(machine.now());
    assert_eq!((rx.packets, rx.offered_packets), (5_000, 5_000));
    assert_eq!((account.packets_consumed, account.work), (5_000, 5_000));
    assert_eq!(machine.devices[0].as_nic().expect("a NIC").egress.packets, 5_000);
}

#[test]
fn every_buffer_is_in_the_pool_a_ring_or_a_packet() {
    let mut machine = echo(&[]).expect("valid").machine(NoTrace);
    for messages in [1, 63, 64, 65, 500, 3_000] {
        machine.run(messages, Picos::NEVER);
        let account = machine.software[0].account(machine.now());
        let held = account.packets_in_work + account.packets_in_ring;
        let elsewhere = machine.levels().buffers_posted + machine.levels().packets_unseen;
        assert_eq!(account.buffers_free + held + elsewhere, 1_024, "after {messages}");
    }
}

#[test]
fn with_ddio_no_load_of_a_message_misses_the_llc() {
    let quiet = [("hardware.ping_pong.interrupt_cold_lines", "0")];
    let result = run(&quiet);
    assert_eq!(value(&result, "llc_load_miss_ratio"), 0.0);
    assert!(part(&result, "l2_load_misses_per_s", "core0") > 2.0 * value(&result, "work_per_s"));
}

#[test]
fn without_ddio_event_and_message_come_from_memory() {
    let result = run(&[("ddio_ways", "0")]);
    let misses = part(&result, "llc_misses_per_s", "core0") / value(&result, "work_per_s");
    // Event, first line of the headers, and what the prefetchers fetch too late: six lines at most.
    assert!((2.0..6.0).contains(&misses), "{misses}");
    assert_eq!(value(&result, "pcie_write_hit_rate"), 0.0);
}

#[test]
fn without_ddio_a_round_trip_takes_two_dependent_memory_accesses_more() {
    let median = |overrides: &[(&str, &str)]| part(&run(overrides), "one_way_latency_ns", "p50");
    let gap_ns = median(&[("ddio_ways", "0")]) - median(&[]);
    // A load takes 87.6 ns from memory and some 16 ns from the LLC: half of twice the difference,
    // and no third one.
    assert!((55.0..100.0).contains(&gap_ns), "{gap_ns}");
}

#[test]
fn a_server_that_works_longer_answers_later_by_that() {
    let median = |cycles: &str| {
        part(&run(&[("hardware.ping_pong.answer_cycles", cycles)]), "one_way_latency_ns", "p50")
    };
    // 4290 cycles are a microsecond, of which latency sees half.
    let difference_ns = median("4790") - median("500");
    assert!((difference_ns - 500.0).abs() < 10.0, "{difference_ns}");
}

#[test]
fn polls_in_vain_count_as_instructions() {
    let ipc = |instructions: &str| {
        value(&run(&[("hardware.ping_pong.poll_instructions", instructions)]), "ipc")
    };
    let (without, with) = (ipc("0"), ipc("60"));
    let idle = part(&run(&[]), "time_in_regime", "idle") / 100.0;
    // 60 instructions in 30 cycles, for as long as the core polls.
    assert!((with - without - 2.0 * idle).abs() < 0.05, "{without} {with} {idle}");
}

#[test]
fn interrupts_delay_as_many_messages_as_their_rate_says() {
    let off = ("hardware.ping_pong.client_delays", "[]");
    let rate = |hz: &str| {
        let result = run(&[off, ("hardware.ping_pong.interrupt_hz", hz)]);
        part(&result, "one_way_latency_ns", "max")
    };
    // In 53 ms, one per 100 s is none, and 1000 per s are some of which one hits a message.
    assert!(rate("0.01") < 2_900.0, "{}", rate("0.01"));
    assert!(rate("1000") > 3_200.0, "{}", rate("1000"));
}

#[test]
fn the_report_has_its_interval_and_its_tail() {
    let result = run(&[]);
    let latency = |name: &str| part(&result, "one_way_latency_ns", name);
    assert!(latency("mean_ci99") > 0.0 && latency("mean_ci99") < 10.0);
    assert!(latency("p99.999") <= latency("max") && latency("p99.999") >= latency("p99.99"));
    assert!(latency("sd") > 0.0);
}

#[test]
fn what_a_ping_pong_test_cannot_do_is_refused_with_the_reason() {
    let refused = [
        (("cores", "2"), "one message in flight"),
        (("platform", "skylake-gold-6140"), "[ping_pong] table"),
        (("ping_pong.message_bytes", "4"), "ping_pong.message_bytes"),
        (("ping_pong.message_bytes", "9000"), "ping_pong.message_bytes"),
        (("hardware.ping_pong.interrupt_hz", "0"), "ping_pong.interrupt_hz"),
    ];
    for (setting, reason) in refused {
        let message = echo(&[setting]).expect_err("it is refused");
        assert!(message.contains(reason), "{message}");
    }
}
