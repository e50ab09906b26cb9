//! Whole runs of the packet applications: would they fail if the applications were wrong?

use model::tracer::NoTrace;
use scenario::result::{Numbers, RunResult};
use scenario::{Job, RecordingRequest, ScenarioMachine, job};
use std::ops::ControlFlow;
use units::Picos;

const L3: &str = "experiments/atc20/header-only-app.toml";
const CHAIN: &str = "experiments/atc20/chain-app.toml";
const RECEIVER: &str = "experiments/ispass20/receiver.toml";
const SENDER: &str = "experiments/ispass20/sender.toml";

fn scenario(file: &str, overrides: &[(&str, &str)]) -> Job {
    let owned: Vec<(String, String)> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    job(file, &owned, 7).expect("the scenario is valid")
}

/// The machine after so much of its goal has been done.
fn ran(file: &str, overrides: &[(&str, &str)], progress: u64) -> ScenarioMachine<NoTrace> {
    let mut machine = scenario(file, overrides).machine(NoTrace);
    assert!(machine.run(progress, Picos::NEVER), "it goes on");
    machine
}

fn run(file: &str, overrides: &[(&str, &str)]) -> RunResult {
    let short = [("run.batch_packets", "2048")];
    let all: Vec<_> = short.iter().chain(overrides).copied().collect();
    let result =
        scenario(file, &all).run(RecordingRequest::default(), |_| ControlFlow::Continue(()));
    result.expect("the watcher lets it end")
}

fn value(result: &RunResult, name: &str) -> f64 {
    match result.metrics[name].value {
        Numbers::One(value) => value,
        Numbers::Parts(_) => panic!("{name} has parts"),
    }
}

fn refusal(file: &str, overrides: &[(&str, &str)]) -> String {
    let owned: Vec<(String, String)> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    job(file, &owned, 7).expect_err("is refused").to_string()
}

/// Packets received = sent + ended + in flight, and every buffer is somewhere.
fn assert_conserved(machine: &ScenarioMachine<NoTrace>, pool_buffers: usize, what: &str) {
    let rx = machine.devices[0].as_nic().expect("a NIC").port.counters;
    let accounts: Vec<_> =
        machine.software.iter().map(|software| software.account(machine.now())).collect();
    let consumed: u64 = accounts.iter().map(|account| account.packets_consumed).sum();
    let in_work: usize = accounts.iter().map(|account| account.packets_in_work).sum();
    let in_ring: usize = accounts.iter().map(|account| account.packets_in_ring).sum();
    let unseen = machine.levels().packets_unseen;
    let in_flight = in_work + unseen + machine.levels().packets_to_send;
    let sent = machine.devices[0].as_nic().expect("a NIC").egress.packets;
    assert_eq!(rx.packets, sent + consumed + in_flight as u64, "{what}");
    let held = machine.levels().buffers_posted + unseen + in_work + in_ring;
    assert_eq!(accounts[0].buffers_free + held, pool_buffers, "{what}");
}

#[test]
fn packets_that_are_received_are_sent_consumed_or_in_flight() {
    for cores in ["1", "3"] {
        let few = [("cores", cores), ("rx_descriptors", "512")];
        assert_conserved(&ran(L3, &few, 20_000), 65_535, "l3-forward");
        assert_conserved(&ran(CHAIN, &few, 20_000), 65_535, "chain");
    }
    for progress in [1, 777, 20_000] {
        assert_conserved(&ran(RECEIVER, &[], progress), 2_180, "packet-sink");
    }
}

#[test]
fn a_sink_sends_nothing_and_its_work_is_what_it_has_freed() {
    let machine = ran(RECEIVER, &[], 10_000);
    assert_eq!(machine.devices[0].as_nic().expect("a NIC").egress.packets, 0);
    let accounts = machine.software.iter().map(|software| software.account(machine.now()));
    let (work, consumed) = accounts
        .map(|account| (account.work, account.packets_consumed))
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(work >= 10_000 && work - consumed < 2 * 32, "{work} {consumed}");
}

#[test]
fn a_sender_receives_nothing_and_keeps_its_buffers() {
    let machine = ran(SENDER, &[], 10_000);
    assert_eq!(machine.devices[0].as_nic().expect("a NIC").port.counters.offered_packets, 0);
    let accounts: Vec<_> =
        machine.software.iter().map(|software| software.account(machine.now())).collect();
    let built: u64 = accounts.iter().map(|account| account.work).sum();
    let waiting: usize = accounts.iter().map(|account| account.packets_in_work).sum();
    let in_ring: usize = accounts.iter().map(|account| account.packets_in_ring).sum();
    assert_eq!(accounts[0].buffers_free + waiting + in_ring, 2_048);
    let in_queues = machine.levels().packets_to_send as u64;
    assert!(built >= 10_000 + in_queues, "{built} built, {in_queues} in queues");
    assert_eq!(
        machine.devices[0].as_nic().expect("a NIC").egress.bytes,
        machine.devices[0].as_nic().expect("a NIC").egress.packets * 1514
    );
}

/// Reads of the cores per packet that L1D and L2 do not serve.
fn l2_misses_per_packet(result: &RunResult) -> f64 {
    let Numbers::Parts(misses) = &result.metrics["l2_misses_per_s"].value else {
        panic!("has parts")
    };
    misses.values().sum::<f64>() / value(result, "work_per_s")
}

#[test]
fn reading_the_payload_costs_a_line_for_each_of_its_lines() {
    // 1514 B are 24 lines: a sink that reads them all misses 23 more of them in its private caches.
    // All buffers in use fit an L2, which the node does not have: nothing else is pushed out by the payload.
    let few = [
        ("offered_gbps", "10"),
        ("rx_descriptors", "64"),
        ("pool_cache", "64"),
        ("hardware.l2.sets", "2048"),
        ("hardware.l2.ways", "8"),
    ];
    let headers = run(RECEIVER, &few);
    let read = [("packet_sink.payload", "read")];
    let all = run(RECEIVER, &few.iter().chain(&read).copied().collect::<Vec<_>>());
    let more = l2_misses_per_packet(&all) - l2_misses_per_packet(&headers);
    assert!((more - 23.0).abs() < 0.5, "{more} lines");
}

#[test]
fn without_ddio_a_receiver_s_packets_go_to_dram_and_only_their_headers_come_back() {
    let off = run(RECEIVER, &[("ddio_ways", "0")]);
    let received = value(&off, "rx_mpps") * 1514.0 / 1e3;
    let (written, read) =
        (value(&off, "dram_write_gbytes_per_s"), value(&off, "dram_read_gbytes_per_s"));
    assert!((written / received - 1.0).abs() < 0.1, "{written} GB/s written of {received}");
    assert!(read > 0.0 && read < received / 3.0, "{read} GB/s read of {received}");
    let on = run(RECEIVER, &[("ddio_ways", "8"), ("hardware.llc.sets_per_slice", "32768")]);
    assert!(value(&on, "dram_write_gbytes_per_s") < 0.05 * received);
}

#[test]
fn forwarding_is_slower_without_ddio() {
    // A small ring and small packets: the core is the bottleneck, and it waits for DRAM.
    let small = [("packet_bytes", "256"), ("rx_descriptors", "512")];
    let of_one_size = [small[0], small[1], ("traffic.sizes", "fixed")];
    for (file, keys) in [(L3, &small[..]), (CHAIN, &of_one_size)] {
        let with_ddio = |ways| {
            let one_core = [("cores", "1"), ("ddio_ways", ways)];
            let all: Vec<_> = keys.iter().chain(&one_core).copied().collect();
            value(&run(file, &all), "tx_mpps")
        };
        let (on, off) = (with_ddio("2"), with_ddio("0"));
        assert!(on > 1.05 * off, "{file}: {on} Mpps with DDIO, {off} without");
    }
}

#[test]
fn filtering_in_software_takes_twelve_steps_more_per_packet() {
    let one = [("cores", "1"), ("rx_descriptors", "256"), ("chain.flow_table_entries", "65536")];
    let cycles = |filtering| {
        let all: Vec<_> = one.iter().chain(&[("chain.filtering", filtering)]).copied().collect();
        let result = run(CHAIN, &all);
        3e3 / value(&result, "tx_mpps")
    };
    // A tree of 2423 rules has 12 levels; 6 cycles and an L1D or L2 access of 4 to 14 for each.
    let more = cycles("software") - cycles("offloaded");
    assert!((100.0..300.0).contains(&more), "{more} cycles");
}

#[test]
fn flows_that_are_more_popular_load_cores_unevenly() {
    let imbalance = |zipf| {
        let result = run(CHAIN, &[("traffic.flow_zipf", zipf), ("cores", "8")]);
        value(&result, "load_imbalance")
    };
    let (even, uneven) = (imbalance("0"), imbalance("1.1"));
    assert!(even < 1.15 && uneven > 1.3, "{even} and {uneven}");
}

#[test]
fn flow_rules_spread_flows_evenly_where_rss_does_not() {
    let few_flows = [("traffic.flows", "24"), ("traffic.flow_zipf", "0"), ("cores", "8")];
    let imbalance = |rules| {
        let keys = [&few_flows[..], &[("traffic.flow_rules", rules)]].concat();
        value(&run(CHAIN, &keys), "load_imbalance")
    };
    let (rss, rules) = (imbalance("0"), imbalance("24"));
    // Three flows for each queue; a hash of 24 flows leaves some queues with four and more.
    assert!(rss > 1.25 && rules < 1.1, "{rss} and {rules}");
}

#[test]
fn a_key_that_does_not_belong_is_refused_by_name() {
    let message = refusal(L3, &[("traffic.flow_zipf", "0.9")]);
    assert!(message.contains("traffic.flow_zipf") && message.contains("random"), "{message}");
    let message = refusal(CHAIN, &[("traffic.burst_packets", "8")]);
    assert!(message.contains("on-off"), "{message}");
    let message = refusal(CHAIN, &[("chain.filter_rules", "0")]);
    assert!(message.contains("chain.filter_rules"), "{message}");
    let message = refusal(CHAIN, &[("chain.rules", "5")]);
    assert!(message.contains("rules"), "{message}");
}
