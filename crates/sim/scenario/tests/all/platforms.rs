//! The machines that come with the program: are their files whole, honest, and fit to run?

use model::tracer::NoTrace;
use scenario::platform::Platform;
use scenario::result::{Numbers, RunResult};
use scenario::{InputError, Job, RecordingRequest, Scenario, builtin};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use units::{LINE_BYTES, Picos};

/// LLC of each machine in MiB, and who says so. `ice-lake-40`: the paper prints 57 MB beside 40
/// cores; docs/reference/platforms.md says why 60.
const LLC_MIB: [(&str, f64, &str); 10] = [
    ("cascade-lake-blog", 24.75, "Intel ARK (recalled): Gold 6244"),
    ("cascade-lake-platinum-8260", 35.75, "ISPASS'20"),
    ("gem5-ispass20", 4.0, "ISPASS'20, Fig 15"),
    ("haswell-e5-2667v3", 20.0, "github aliireza/slice-aware"),
    ("haswell-e5-2699v3", 45.0, "ATC'20"),
    ("ice-lake-40", 60.0, "40 slices of 1.5 MiB"),
    ("sapphire-rapids-56", 105.0, "ASPLOS'24"),
    ("skylake-gold-6134", 24.75, "github aliireza/slice-aware"),
    ("skylake-gold-6140", 24.75, "ATC'20"),
    ("three-level-lru", 22.0, "by definition"),
];

/// Published mean load-to-use latencies of LLCs: core cycles, at which core clock, and who says so.
const LLC_CYCLES: [(&str, f64, f64, &str); 7] = [
    ("cascade-lake-platinum-8260", 46.0, 2.7, "anandtech 14694: Platinum 8280"),
    ("haswell-e5-2667v3", 38.4, 3.2, "github aliireza/slice-aware: 8 slices"),
    ("haswell-e5-2699v3", 53.0, 2.5, "Molka et al. (recalled): 21.2 ns on an E5-2680 v3"),
    ("ice-lake-40", 65.0, 3.4, "anandtech (recalled): 60 to 70"),
    ("sapphire-rapids-56", 97.5, 3.8, "chipsandcheese (recalled): 70 to 125"),
    ("skylake-gold-6134", 56.6, 3.2, "github aliireza/slice-aware: 3 cores x 18 slices"),
    ("skylake-gold-6140", 55.0, 3.0, "anandtech 11544: 54 to 56"),
];

/// The one machine without devices.
const REPLAYS_TRACES_ONLY: &str = "three-level-lru";

fn platform(name: &str) -> Platform {
    builtin::platform("the test", name).unwrap_or_else(|error| panic!("{error}"))
}

fn packet_servers() -> impl Iterator<Item = String> {
    builtin::platform_names().into_iter().filter(|name| name != REPLAYS_TRACES_ONLY)
}

/// All facts of a platform by key.
fn facts(name: &str) -> BTreeMap<String, Value> {
    let document = serde_json::to_value(platform(name)).expect("is JSON");
    let mut facts = BTreeMap::new();
    collect("", &document, &mut facts);
    facts
}

fn collect(path: &str, value: &Value, facts: &mut BTreeMap<String, Value>) {
    let Some(table) = value.as_object() else { return };
    if table.contains_key("value") {
        facts.insert(path.into(), value.clone());
        return;
    }
    for (key, inner) in table {
        collect(&format!("{path}.{key}"), inner, facts);
    }
}

fn text<'f>(fact: &'f Value, key: &str) -> &'f str {
    fact[key].as_str().unwrap_or_default()
}

/// A forwarder of 1024 B packets, at half of the card's rate but no more than one core can do, with a
/// ring that fits two ways everywhere.
fn forwarder(name: &str, overrides: &str) -> Result<Job, InputError> {
    let platform = platform(name);
    let rate = platform.nic.as_ref().map_or(1.0, |nic| nic.line_rate_gbps.value);
    let offered_gbps = (rate / 2.0).min(20.0);
    let scenario = format!(
        "platform = \"{name}\"\npacket_bytes = 1024\noffered_gbps = {offered_gbps}\n\
         rx_descriptors = 128\npool_buffers = 4096\n{overrides}\n\
         [run]\nbatch_packets = 512\nmin_batches = 10\nmax_batches = 10\n"
    );
    Job::new("the test", Scenario::read("the test", &scenario, &[])?, platform, name, 7)
}

fn run(name: &str, overrides: &str) -> RunResult {
    let job = forwarder(name, overrides).unwrap_or_else(|error| panic!("{name}: {error}"));
    job.run(RecordingRequest::default(), |_| ControlFlow::Continue(()))
        .expect("the watcher lets it end")
}

fn value(result: &RunResult, name: &str) -> f64 {
    match result.metrics[name].value {
        Numbers::One(value) => value,
        Numbers::Parts(_) => panic!("{name} has parts"),
    }
}

#[test]
fn every_number_has_a_source_and_a_confidence() {
    for name in builtin::platform_names() {
        let facts = facts(&name);
        assert!(facts.len() > 25, "{name}: {} facts", facts.len());
        for (key, fact) in facts {
            assert!(text(&fact, "source").len() > 2, "{name}{key} has no source");
            // Here or, if it is a guess for this machine, on another one.
            let is_own = text(&fact, "confidence") == "fitted";
            let is_elsewhere = text(&fact, "source").contains(", fitted there");
            let fitted_on = text(&fact, "fitted_on");
            let is_fitted = is_own || is_elsewhere;
            assert_eq!(is_fitted, !fitted_on.is_empty(), "{name}{key}: fitted on what?");
        }
    }
}

#[test]
fn a_derived_number_says_from_what() {
    for name in builtin::platform_names() {
        for (key, fact) in facts(&name) {
            let source = text(&fact, "source");
            let derived = text(&fact, "confidence") == "derived";
            let words = source.split_whitespace().count();
            assert!(!derived || words >= 4, "{name}{key}: derived how? {source}");
            // A guess is no finding, and a finding no guess.
            let guess = ["assumed as on", "recalled"].iter().any(|word| source.starts_with(word));
            assert!(!guess || text(&fact, "confidence") == "memory", "{name}{key}: {source}");
        }
    }
}

#[test]
fn what_was_fitted_to_one_machine_is_a_guess_for_another() {
    let of_its_own = |name: &str| {
        let fitted = platform(name).fitted();
        let own = fitted.into_iter().filter(|fitted| !fitted.is_elsewhere);
        own.filter(|fitted| fitted.fitted_on.contains("ddio-bench")).count()
    };
    let measured = "skylake-gold-6140";
    assert!(of_its_own(measured) > 0);
    let names = builtin::platform_names();
    for name in names.iter().filter(|name| *name != measured) {
        assert_eq!(of_its_own(name), 0, "{name} was not measured by ddio-bench");
    }
}

#[test]
fn slices_sets_and_ways_make_the_published_cache() {
    let known: Vec<&str> = LLC_MIB.iter().map(|(name, ..)| *name).collect();
    assert_eq!(builtin::platform_names(), known);
    for (name, mib, source) in LLC_MIB {
        let llc = platform(name).llc;
        let lines = llc.slices.value * llc.sets_per_slice.value * llc.ways.value;
        let bytes = u64::from(lines) * LINE_BYTES;
        assert_eq!(bytes as f64, mib * f64::from(1 << 20), "{name}: {source}");
    }
}

#[test]
fn both_parts_of_the_llc_latency_make_the_published_one() {
    for (name, published, core_ghz, source) in LLC_CYCLES {
        let platform = platform(name);
        let clocks = core_ghz / platform.cpu.uncore_ghz.value;
        let llc = platform.llc;
        let cycles = llc.latency_core_cycles.value + llc.latency_uncore_cycles.value * clocks;
        assert!((cycles - published).abs() < 0.5, "{name}: {cycles} cycles, {source}");
    }
}

#[test]
fn a_small_ring_stays_in_the_cache_of_every_packet_server() {
    for name in packet_servers() {
        let result = run(&name, "");
        // 128 KiB of buffers in at least 512 KiB: only lines in crowded sets may leave.
        for hits in ["pcie_write_hit_rate", "pcie_read_hit_rate"] {
            let rate = value(&result, hits);
            assert!((98.0..=100.0).contains(&rate), "{name}: {hits} {rate}");
        }
        let received_gbytes_per_s = value(&result, "rx_mpps") * 1024.0 / 1e3;
        let written = value(&result, "dram_write_gbytes_per_s");
        assert!(written < 0.02 * received_gbytes_per_s, "{name}: {written} GB/s written");
        let (offered, forwarded) =
            (value(&result, "offered_gbps"), value(&result, "throughput_gbps"));
        assert!((forwarded / offered - 1.0).abs() < 0.01, "{name}: {forwarded} of {offered}");
        assert_eq!(value(&result, "rx_dropped"), 0.0, "{name}");
    }
}

#[test]
fn without_ddio_every_packet_server_writes_what_it_receives_to_dram() {
    for name in packet_servers() {
        let result = run(&name, "ddio_ways = 0");
        let received_gbytes_per_s = value(&result, "rx_mpps") * 1024.0 / 1e3;
        let written = value(&result, "dram_write_gbytes_per_s");
        assert!(written > 0.99 * received_gbytes_per_s, "{name}: {written} GB/s written");
        // A root-complex buffer serves rewrites of the few lines that it holds.
        let most = if platform(&name).root_complex_buffer.is_some() { 20.0 } else { 0.0 };
        let rate = value(&result, "pcie_write_hit_rate");
        assert!(rate <= most, "{name}: {rate} % write hits");
    }
}

/// Runs a forwarder and counts its packets.
fn conserves_packets(name: &str, overrides: &str) {
    let job = forwarder(name, overrides).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut machine = job.machine(NoTrace);
    machine.run(5_000, Picos::NEVER);
    let rx = machine.devices[0].as_nic().expect("a NIC").port.counters;
    let dropped = rx.dropped();
    let waiting = machine.devices[0].as_nic().expect("a NIC").port.packets_waiting() as u64;
    assert_eq!(rx.offered_packets, rx.packets + dropped + waiting, "{name} {overrides}");
    let accounts = machine.software.iter().map(|software| software.account(machine.now()));
    let in_work: usize = accounts.map(|account| account.packets_in_work).sum();
    let in_queues = machine.levels().packets_unseen + machine.levels().packets_to_send;
    let in_flight = (in_work + in_queues) as u64;
    assert_eq!(
        rx.packets,
        machine.devices[0].as_nic().expect("a NIC").egress.packets + in_flight,
        "{name} {overrides}"
    );
    assert_eq!(
        machine.devices[0].as_nic().expect("a NIC").egress.bytes,
        machine.devices[0].as_nic().expect("a NIC").egress.packets * 1024,
        "{name} {overrides}"
    );
    assert!(
        machine.devices[0].as_nic().expect("a NIC").egress.packets >= 4_000,
        "{name} {overrides}: {}",
        machine.devices[0].as_nic().expect("a NIC").egress.packets
    );
}

#[test]
fn every_packet_server_conserves_packets() {
    for name in packet_servers() {
        conserves_packets(&name, "cores = 2");
    }
}

#[test]
fn packets_are_conserved_through_every_part_that_a_machine_may_have_beside() {
    let mut machines = [0, 0, 0];
    for name in packet_servers() {
        let platform = platform(&name);
        let parts = [
            (platform.upi.is_some(), "nic_socket = 1"),
            (platform.iommu.is_some(), "iommu = \"4K\""),
            (platform.cxl.is_some(), "memory_node = \"cxl\""),
        ];
        for ((has, overrides), machines) in parts.into_iter().zip(&mut machines) {
            if has {
                conserves_packets(&name, overrides);
                *machines += 1;
            }
        }
    }
    assert_eq!(machines, [8, 8, 1]);
}

#[test]
fn a_machine_without_devices_refuses_to_serve_packets_and_says_what_it_lacks() {
    let refused = forwarder(REPLAYS_TRACES_ONLY, "").expect_err("it has no devices").to_string();
    assert!(refused.contains(REPLAYS_TRACES_ONLY), "{refused}");
    assert!(refused.contains("`ddio` = missing"), "{refused}");
    assert!(refused.contains("skipline trace"), "{refused}");
}
