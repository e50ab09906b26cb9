//! Whole runs of the forwarder: would they fail if the model were wrong?

use model::tracer::{NoTrace, WatchPacket};
use scenario::result::{Intervals, Numbers, RunResult};
use scenario::{Job, RecordingRequest, job};
use std::ops::ControlFlow;
use units::Picos;

const L2FWD: &str = "experiments/ddio-bench/l2fwd.toml";

fn l2fwd(overrides: &[(&str, &str)]) -> Job {
    let owned: Vec<(String, String)> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    job(L2FWD, &owned, 7).expect("the scenario is valid")
}

fn run(overrides: &[(&str, &str)]) -> RunResult {
    l2fwd(overrides)
        .run(RecordingRequest::default(), |_| ControlFlow::Continue(()))
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

fn half_width(result: &RunResult, name: &str) -> f64 {
    match result.metrics[name].ci95 {
        Intervals::One(Some(half)) => half,
        _ => panic!("{name} has no interval"),
    }
}

#[test]
fn packets_in_are_packets_out_dropped_or_in_flight() {
    for (cores, descriptors) in [("1", "128"), ("1", "4096"), ("3", "512")] {
        let job = l2fwd(&[("cores", cores), ("rx_descriptors", descriptors)]);
        let mut machine = job.machine(NoTrace);
        machine.run(30_000, Picos::NEVER);
        let rx = machine.devices[0].as_nic().expect("a NIC").port.counters;
        let dropped = rx.dropped();
        let waiting = machine.devices[0].as_nic().expect("a NIC").port.packets_waiting() as u64;
        assert_eq!(rx.offered_packets, rx.packets + dropped + waiting);
        let accounts = machine.software.iter().map(|software| software.account(machine.now()));
        let in_work: usize = accounts.map(|account| account.packets_in_work).sum();
        let in_queues = machine.levels().packets_unseen + machine.levels().packets_to_send;
        let in_flight = (in_work + in_queues) as u64;
        assert_eq!(
            rx.packets,
            machine.devices[0].as_nic().expect("a NIC").egress.packets + in_flight,
            "{cores} x {descriptors}"
        );
        assert_eq!(rx.bytes, rx.packets * 1500);
        assert_eq!(
            machine.devices[0].as_nic().expect("a NIC").egress.bytes,
            machine.devices[0].as_nic().expect("a NIC").egress.packets * 1500
        );
    }
}

#[test]
fn every_buffer_is_in_the_pool_a_ring_or_a_packet() {
    let job = l2fwd(&[("cores", "2"), ("rx_descriptors", "256")]);
    let mut machine = job.machine(NoTrace);
    machine.run(20_000, Picos::NEVER);
    let free: usize = machine.software[0].account(machine.now()).buffers_free;
    let posted: usize = machine.levels().buffers_posted;
    let accounts = machine.software.iter().map(|software| software.account(machine.now()));
    let held: usize =
        accounts.map(|account| account.packets_in_work + account.packets_in_ring).sum();
    let completed: usize = machine.levels().packets_unseen;
    assert_eq!(free + posted + held + completed, 65_535);
}

#[test]
fn each_direction_of_the_link_carries_what_the_packets_need() {
    let result =
        run(&[("packet_bytes", "1024"), ("offered_gbps", "20"), ("rx_descriptors", "512")]);
    let packets_per_s = value(&result, "rx_mpps") * 1e6;
    // Payloads of 512 B with TLP headers; descriptors and completions come on top.
    let up_bytes = packets_per_s * (1024.0 + 2.0 * 24.0);
    let down_bytes = packets_per_s * (1024.0 + 2.0 * 20.0);
    let share = |bytes: f64| 100.0 * bytes * 8.0 / 113.7e9;
    let (up, down) =
        (part(&result, "pcie_utilisation", "up"), part(&result, "pcie_utilisation", "down"));
    assert!(up > share(up_bytes) && up < 1.2 * share(up_bytes), "{up} {}", share(up_bytes));
    assert!(down > share(down_bytes) && down < 1.1 * share(down_bytes), "{down}");
}

#[test]
fn without_ddio_nothing_is_allocated_and_all_goes_through_dram() {
    let job = l2fwd(&[("ddio_ways", "0"), ("rx_descriptors", "256"), ("offered_gbps", "40")]);
    let mut machine = job.machine(NoTrace);
    machine.run(20_000, Picos::NEVER);
    assert_eq!(machine.fabric.counters().llc_io_allocations, 0);
    let result = run(&[("ddio_ways", "0"), ("rx_descriptors", "256"), ("offered_gbps", "40")]);
    let received_gbytes_per_s = value(&result, "rx_mpps") * 1500.0 / 1e3;
    let written = value(&result, "dram_write_gbytes_per_s");
    assert!(written >= received_gbytes_per_s, "{written} against {received_gbytes_per_s}");
    assert_eq!(value(&result, "pcie_write_hit_rate"), 0.0);
}

#[test]
fn more_ways_never_lower_the_hit_rate_beyond_its_interval() {
    // Up to all but the inclusive ways: in those a device meets the lines of cores.
    let results: Vec<RunResult> = ["1", "2", "3", "5", "8", "9"]
        .iter()
        .map(|ways| run(&[("ddio_ways", ways), ("packet_bytes", "1024")]))
        .collect();
    for pair in results.windows(2) {
        for name in ["pcie_write_hit_rate", "pcie_read_hit_rate"] {
            let slack = half_width(&pair[0], name) + half_width(&pair[1], name);
            let (fewer, more) = (value(&pair[0], name), value(&pair[1], name));
            assert!(more >= fewer - slack, "{name}: {fewer} with fewer ways, {more} with more");
        }
    }
    let spread =
        value(&results[5], "pcie_write_hit_rate") - value(&results[0], "pcie_write_hit_rate");
    assert!(spread > 40.0, "ways must matter at all: {spread}");
}

#[test]
fn rings_beyond_the_ddio_ways_leak() {
    let small = run(&[("rx_descriptors", "256"), ("packet_bytes", "1024")]);
    let large = run(&[("rx_descriptors", "8192"), ("packet_bytes", "1024")]);
    let miss = |result: &RunResult| 100.0 - value(result, "pcie_write_hit_rate");
    assert!(miss(&large) > 10.0 * miss(&small).max(1.0));
    assert!(value(&large, "dram_write_gbytes_per_s") > value(&small, "dram_write_gbytes_per_s"));
}

#[test]
fn the_same_seed_gives_the_same_result_and_another_seed_another() {
    let same = |seed| {
        let job = job(L2FWD, &[("rx_descriptors".into(), "512".into())], seed).expect("is valid");
        let mut result = job
            .run(RecordingRequest::default(), |_| ControlFlow::Continue(()))
            .expect("the watcher lets it end");
        (result.wall_s, result.line_ops_per_s, result.real_time_factor) = (0.0, 0.0, 0.0);
        serde_json::to_string(&result).expect("is JSON")
    };
    assert_eq!(same(3), same(3));
    assert_ne!(same(3), same(4));
}

#[test]
fn watching_a_packet_changes_nothing_but_the_trace() {
    let overrides = [("rx_descriptors", "256"), ("packet_bytes", "300")];
    let plain = run(&overrides);
    let traced = l2fwd(&overrides)
        .run(RecordingRequest { packet: Some(1_000), ..RecordingRequest::default() }, |_| {
            ControlFlow::Continue(())
        })
        .expect("the watcher lets it end");
    // As JSON: what has no value is null in both, where a number that is none equals nothing.
    let metrics = |result: &RunResult| serde_json::to_value(&result.metrics).expect("is JSON");
    assert_eq!(metrics(&plain), metrics(&traced));
    assert!(traced.trace.is_some_and(|trace| !trace.is_empty()));
}

/// Events of a packet as "agent operation line: place", if its five lines are in one page of 4 KiB: the streamer
/// ends with a page.
fn story(packet: u64) -> Option<Vec<String>> {
    let result = l2fwd(&[("packet_bytes", "300"), ("rx_descriptors", "256")])
        .run(RecordingRequest { packet: Some(packet), ..RecordingRequest::default() }, |_| {
            ControlFlow::Continue(())
        })
        .expect("the watcher lets it end");
    let told = |event: &scenario::result::TraceEvent| {
        let place = event.found.split(',').next().unwrap_or_default();
        format!("{} {} {}: {place}", event.agent, event.operation, event.line)
    };
    let in_page = result.trace_address.expect("a packet arrives") % 4096;
    let is_whole = in_page + 5 * 64 <= 4096;
    is_whole.then(|| result.trace.expect("was asked for").iter().map(told).collect())
}

/// 300 bytes are four full lines and a partial one. By packet 20,000 the small ring is warm.
#[test]
fn a_packet_s_story_is_the_one_the_rules_tell() {
    let expected = [
        "nic0 DMA write (ItoM) 0: moved to LLC",
        "nic0 DMA write (ItoM) 1: moved to LLC",
        "nic0 DMA write (ItoM) 2: moved to LLC",
        "nic0 DMA write (ItoM) 3: moved to LLC",
        "nic0 DMA write, partial (RFO) 4: moved to LLC",
        "core0 prefetch 0: LLC hit",
        "core0 load 0: L1D",
        "core0 store 0: L1D",
        "nic0 DMA read (PCIRdCur) 0: held by core0",
        "nic0 DMA read (PCIRdCur) 1: held by core0",
        "nic0 DMA read (PCIRdCur) 2: held by core0",
        "nic0 DMA read (PCIRdCur) 3: held by core0",
        "nic0 DMA read (PCIRdCur) 4: held by core0",
    ];
    // The L2 prefetchers bring the four lines behind the header; all five stay in L2 until the card writes them
    // again.
    let by_prefetcher = [1, 2, 3, 4].map(|line| format!("core0 prefetch {line}: LLC hit"));
    let mut prefetched = 0;
    let whole = (20_000..20_010).filter_map(|packet| Some((packet, story(packet)?)));
    for (packet, story) in whole.take(3) {
        // A streamer that comes from the line before asks for what L2 has already.
        let new = story.into_iter().filter(|event| event != "core0 prefetch 0: L2");
        let (extra, told): (Vec<String>, Vec<String>) =
            new.partition(|event| by_prefetcher.contains(event));
        assert_eq!(told, expected, "packet {packet}");
        assert!(extra.len() <= 4, "packet {packet}: {extra:?}");
        prefetched += extra.len();
    }
    assert_eq!(prefetched, 12, "four lines of each");
}

#[test]
fn without_ddio_a_packet_s_first_read_goes_to_dram() {
    let overrides = [("packet_bytes", "128"), ("rx_descriptors", "256"), ("ddio_ways", "0")];
    let job = l2fwd(&overrides);
    let mut machine = job.machine(WatchPacket::new(10_000));
    machine.run(15_000, Picos::NEVER);
    let story = scenario::packet_trace(&machine.fabric.tracer, &job.plan().layout);
    let first_by = |agent: &str| story.iter().find(|event| event.agent == agent);
    assert_eq!(first_by("nic0").map(|event| event.found.as_str()), Some("DRAM"));
    assert_eq!(first_by("core0").map(|event| event.found.as_str()), Some("DRAM"));
}

#[test]
fn the_order_of_agents_at_equal_times_does_not_matter() {
    let hit_rate = |turned_round: bool| {
        let mut machine = l2fwd(&[("cores", "4"), ("rx_descriptors", "1024")]).machine(NoTrace);
        if turned_round {
            machine.give_ties_to_last();
        }
        machine.run(80_000, Picos::NEVER);
        let counters = machine.fabric.counters();
        let (hits, misses) = (counters.pcie_write_hits as f64, counters.pcie_write_misses as f64);
        100.0 * hits / (hits + misses)
    };
    let (first, last) = (hit_rate(false), hit_rate(true));
    assert!((first - last).abs() < 0.5, "{first} and {last} percent");
}

#[test]
fn a_pool_that_runs_dry_does_not_stop_the_forwarder() {
    let least = ["128", "32", "368"];
    let job = l2fwd(&[
        ("rx_descriptors", least[0]),
        ("pool_cache", least[1]),
        ("pool_buffers", least[2]),
    ]);
    let mut machine = job.machine(NoTrace);
    assert!(machine.run(20_000, Picos(20_000_000_000)));
    assert_eq!(
        machine.devices[0].as_nic().expect("a NIC").egress.packets,
        20_000,
        "it stopped at {:?}",
        machine.now()
    );
}

#[test]
fn a_core_without_packets_is_idle_all_the_time() {
    let one_flow = [("cores", "4"), ("traffic.pattern", "fixed"), ("traffic.flows", "1")];
    let result = run(&one_flow);
    let idle = part(&result, "time_in_regime", "idle");
    assert!(idle > 74.0, "three of four cores have nothing to do, yet idle is {idle} %");
}

#[test]
fn a_ring_that_is_always_full_says_so_and_an_empty_one_too() {
    let full = run(&[("rng_calls", "400"), ("rx_descriptors", "1024")]);
    assert!(part(&full, "time_in_regime", "ring_full") > 90.0);
    let empty = run(&[("offered_gbps", "10"), ("rx_descriptors", "1024")]);
    assert!(part(&empty, "time_in_regime", "ring_full") < 1.0);
}

#[test]
fn a_rate_without_events_is_null() {
    let result = run(&[("offered_gbps", "0.001"), ("run.batch_packets", "256")]);
    let json = serde_json::to_value(&result.metrics["throughput_gbps"]).expect("is JSON");
    assert!(json["value"].is_number());
    assert_ne!(result.stopped_by, scenario::result::StoppedBy::Interval);
}

#[test]
fn a_run_goes_on_until_its_queues_have_stopped_filling() {
    let large = [("rx_descriptors", "32768"), ("run.max_batches", "120")];
    let result = run(&large);
    let (received, sent) = (value(&result, "received_gbps"), value(&result, "throughput_gbps"));
    assert!(result.settled && (received / sent - 1.0).abs() < 0.01, "{received} and {sent} Gbit/s");
    assert!(value(&result, "rx_dropped") > 0.0, "what does not fit the link is dropped");
    let cut_off = run(&[large[0], ("run.max_batches", "12")]);
    assert!(!cut_off.settled, "the ring takes 20 batches to fill");
}

#[test]
fn first_touches_of_buffers_are_no_steady_state() {
    let slow = |batches| [("offered_gbps", "0.02"), ("run.max_batches", batches)];
    // Batches of 200 ms have 330 packets each; the ring takes 4096.
    let cut_off = run(&slow("12"));
    // Prefetchers have brought a line or two of each buffer while the pool was built.
    assert!(!cut_off.settled && value(&cut_off, "pcie_write_hit_rate") < 10.0);
    let result = run(&slow("60"));
    assert!(result.settled && value(&result, "pcie_write_hit_rate") > 40.0);
}

#[test]
fn the_invariants_hold_in_the_middle_of_a_run() {
    let job = l2fwd(&[("cores", "4"), ("rx_descriptors", "1024")]);
    let mut machine = job.machine(NoTrace);
    for packets in [1_000, 10_000, 40_000] {
        machine.run(packets, Picos::NEVER);
        assert_eq!(machine.check_invariants(), Ok(()));
    }
}

/// Median and 99th percentile of latency beyond that of packets that are sent at once, in us.
fn gathering_us(offered_gbps: &str, gathering: &[(&str, &str)]) -> (f64, f64) {
    let offered = [("offered_gbps", offered_gbps)];
    let at_once = run(&[&offered[..], &[("send_at_packets", "1")]].concat());
    let gathered = run(&[&offered[..], gathering].concat());
    let beyond =
        |name| (part(&gathered, "latency_ns", name) - part(&at_once, "latency_ns", name)) / 1e3;
    (beyond("p50"), beyond("p99"))
}

#[test]
fn packets_wait_until_there_are_enough_to_send() {
    // 1500 B at 49.65 Gbit/s come every 245 ns, and leave every 122 ns: the first of 32 waits for 31
    // others, the last while 31 others leave.
    let (median, tail) = gathering_us("49.65", &[]);
    assert!((4.8..6.2).contains(&median), "{median}");
    assert!((6.8..8.4).contains(&tail), "{tail}");
}

#[test]
fn too_few_packets_wait_for_the_timer() {
    // They come every 12 us. A poll takes 10 ns: the core looks at the timer every 41 or 10 us.
    let (median, tail) = gathering_us("1", &[]);
    assert!((15.0..26.0).contains(&median), "{median}");
    assert!((36.0..43.0).contains(&tail), "{tail}");
    let (sooner, _) = gathering_us("1", &[("send_rest_after_polls", "1024")]);
    assert!((3.7..6.5).contains(&sooner), "{sooner}");
}
