//! Whole runs of key-value stores: do requests touch what they must, and do the keys mean what they say?

use model::tracer::NoTrace;
use scenario::result::{Numbers, RunResult};
use scenario::{Job, RecordingRequest, Scenario, builtin};
use std::ops::ControlFlow;
use units::Picos;

const PLATFORM: &str = "skylake-gold-6140";
const SHORT: &str = "run = { batch_packets = 2048, max_batches = 10 }\n";
/// A store of 64 items of 17 lines: it fits L2.
const SMALL: &str = "[key_value]\nitems = 64\nkey_bytes = 23\nvalue_bytes = 1000\n";

fn job(application: &str, text: &str) -> Result<Job, scenario::InputError> {
    let text = format!("platform = \"{PLATFORM}\"\napplication = \"{application}\"\n{SHORT}{text}");
    let scenario = Scenario::read("the test", &text, &[])?;
    let platform = builtin::platform_with("the test", PLATFORM, &scenario.platform_facts())?;
    Job::new("the test", scenario, platform, PLATFORM, 3)
}

fn run(application: &str, text: &str) -> RunResult {
    let job = job(application, text).unwrap_or_else(|error| panic!("{error}"));
    job.run(RecordingRequest::default(), |_| ControlFlow::Continue(()))
        .expect("the watcher lets it end")
}

fn value(result: &RunResult, name: &str) -> f64 {
    match result.metrics.get(name).map(|metric| &metric.value) {
        Some(Numbers::One(value)) => *value,
        other => panic!("{name}: {other:?}"),
    }
}

fn l2_misses_per_request(result: &RunResult) -> f64 {
    let Numbers::Parts(misses) = &result.metrics["l2_misses_per_s"].value else {
        panic!("has parts")
    };
    misses.values().sum::<f64>() / value(result, "work_per_s")
}

/// Facts that leave nothing but the store's own accesses.
const STORE_ALONE: &str = "[hardware.applications]\nkey_value_socket_cycles = 100\n\
                           key_value_client_bytes = 0\n";
/// Without prefetchers a line that is not asked for is not missed.
const NO_PREFETCH: &str =
    "[hardware.cpu]\nadjacent_line_prefetch = false\nstream_prefetch_lines = 0\n";

#[test]
fn a_read_of_a_cold_record_misses_its_bucket_and_its_seventeen_lines() {
    // A GiB of records, all alike: next to none of them is in L2 again before it has left.
    let text = format!(
        "[key_value]\nitems = 1000000\nkey_bytes = 23\nvalue_bytes = 1000\nget_percent = 100\n\
         zipf = 0\n{STORE_ALONE}{NO_PREFETCH}"
    );
    let misses = l2_misses_per_request(&run("key-value-memory", &text));
    assert!((misses - 18.0).abs() < 0.3, "{misses} lines");
}

#[test]
fn an_update_touches_the_header_and_the_lines_that_it_writes() {
    // Bucket, header, and two lines for 100 B; stores that miss L2 are misses of it too.
    let text = format!(
        "[key_value]\nitems = 1000000\nkey_bytes = 23\nvalue_bytes = 1000\nget_percent = 0\n\
         update_bytes = 100\nzipf = 0\n{STORE_ALONE}{NO_PREFETCH}"
    );
    let misses = l2_misses_per_request(&run("key-value-memory", &text));
    assert!((misses - 4.0).abs() < 0.2, "{misses} lines");
}

#[test]
fn a_store_that_fits_l2_needs_no_memory_and_costs_its_cycles() {
    let text =
        format!("{SMALL}get_percent = 100\n[hardware.applications]\nkey_value_client_bytes = 0\n");
    let result = run("key-value-memory", &text);
    assert!(value(&result, "dram_read_gbytes_per_s") < 0.001);
    // 24000 cycles of 3 GHz, and some forty accesses to L1D and L2.
    let cycles = 3e9 / value(&result, "work_per_s");
    assert!((24_000.0..24_500.0).contains(&cycles), "{cycles} cycles");
}

#[test]
fn clients_write_fresh_memory_and_it_goes_to_dram_and_back() {
    let text = format!(
        "cores = 4\n{SMALL}[hardware.applications]\nkey_value_client_bytes = 16384\n\
                        key_value_socket_cycles = 1000\n"
    );
    let result = run("key-value-memory", &text);
    let expected = value(&result, "work_per_s") * 16_384.0 / 1e9;
    for direction in ["dram_read_gbytes_per_s", "dram_write_gbytes_per_s"] {
        let moved = value(&result, direction);
        assert!((moved / expected - 1.0).abs() < 0.1, "{direction}: {moved} of {expected}");
    }
}

#[test]
fn popular_keys_are_found_in_the_caches() {
    let misses = |zipf: f64| {
        let text = format!(
            "[key_value]\nitems = 1000000\nkey_bytes = 23\nvalue_bytes = 1000\nzipf = {zipf}\n\
             {STORE_ALONE}"
        );
        let result = run("key-value-memory", &text);
        value(&result, "dram_read_gbytes_per_s") / value(&result, "work_per_s")
    };
    let (skewed, even) = (misses(0.99), misses(0.0));
    assert!(skewed < 0.7 * even, "{skewed} against {even}");
}

#[test]
fn a_read_modify_write_costs_a_read_more_than_an_update_of_a_part() {
    let misses = |writes: &str| {
        let text = format!(
            "[key_value]\nitems = 1000000\nkey_bytes = 23\nvalue_bytes = 1000\nget_percent = 0\n\
             update_bytes = 100\nwrites = \"{writes}\"\nzipf = 0\n{STORE_ALONE}{NO_PREFETCH}"
        );
        l2_misses_per_request(&run("key-value-memory", &text))
    };
    // The record's seventeen lines are in L2 when two of them are written.
    let more = misses("read-modify-write") - misses("update");
    assert!((more - 14.0).abs() < 0.3, "{more} lines");
}

#[test]
fn threads_share_the_store_and_scale() {
    let rate = |cores: u32| {
        value(&run("key-value-memory", &format!("cores = {cores}\n{SMALL}")), "work_per_s")
    };
    let scaling = rate(4) / rate(1);
    assert!((scaling - 4.0).abs() < 0.1, "{scaling}");
}

#[test]
fn every_request_in_a_packet_is_answered_with_the_value() {
    let text = format!(
        "cores = 2\nrx_descriptors = 256\npacket_bytes = 128\noffered_gbps = 1\n{SMALL}get_percent = 100\n"
    );
    let job = job("key-value", &text).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = job.machine(NoTrace);
    assert!(machine.run(5_000, Picos::NEVER), "it goes on");
    let egress = &machine.devices[0].as_nic().expect("a NIC").egress;
    // 78 B of headers, 4 B of flags, 1000 B of value.
    assert_eq!(egress.bytes, egress.packets * 1_082);
    let accounts = machine.software.iter().map(|software| software.account(machine.now()));
    let in_work: usize = accounts.map(|account| account.packets_in_work).sum();
    let waiting = machine.levels().packets_unseen + machine.levels().packets_to_send + in_work;
    assert_eq!(
        machine.devices[0].as_nic().expect("a NIC").port.counters.packets,
        egress.packets + waiting as u64
    );
}

#[test]
fn updates_are_answered_with_headers_only() {
    let text = format!(
        "rx_descriptors = 256\npacket_bytes = 1400\noffered_gbps = 1\n{SMALL}get_percent = 0\n"
    );
    let job = job("key-value", &text).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = job.machine(NoTrace);
    machine.run(1_000, Picos::NEVER);
    let egress = &machine.devices[0].as_nic().expect("a NIC").egress;
    assert_eq!(egress.bytes, egress.packets * 78);
}

#[test]
fn without_ddio_a_request_takes_longer() {
    let latency = |ways: u32| {
        let text = format!(
            "rx_descriptors = 256\npacket_bytes = 128\noffered_gbps = 0.2\nddio_ways = {ways}\n{SMALL}"
        );
        match &run("key-value", &text).metrics["latency_ns"].value {
            Numbers::Parts(parts) => parts["mean"],
            Numbers::One(_) => panic!("has parts"),
        }
    };
    let (on, off) = (latency(2), latency(0));
    // A DRAM read of the header and a DMA write that takes as much longer, of some microseconds.
    assert!(off > on + 100.0 && off < on + 1_000.0, "{on} ns with DDIO, {off} ns without");
}

#[test]
fn a_store_beside_a_forwarder_has_metrics_of_its_own_and_no_card() {
    let text = "offered_gbps = 10\nrx_descriptors = 256\n\
                [[tenant]]\nname = \"store\"\napplication = \"key-value-memory\"\ncores = 2\n";
    let result = run("l2-forward", text);
    assert!(value(&result, "store:work_per_s") > 100_000.0);
    assert!(!result.metrics.contains_key("store:throughput_gbps"));
    assert!((value(&result, "throughput_gbps") - 10.0).abs() < 0.2);
}

#[test]
fn keys_that_make_no_sense_are_refused_by_name() {
    for (application, text, said) in [
        ("key-value-memory", "key_value.items = 0", "key_value.items"),
        ("key-value-memory", "key_value.zipf = 1.0", "key_value.zipf"),
        ("key-value-memory", "key_value.update_bytes = 101", "key_value.update_bytes"),
        ("key-value-memory", "key_value.get_percent = 101", "key_value.get_percent"),
        ("key-value-memory", "[key_value]\nitems = 200000000\nvalue_bytes = 1000", "of all stores"),
        ("key-value", "key_value.value_bytes = 9000", "fits a packet buffer"),
        ("key-value", "key_value.writes = \"delete\"", "writes"),
    ] {
        match job(application, text) {
            Err(error) => {
                let message = error.to_string();
                assert!(message.contains(said), "{text}: {message}");
            }
            Ok(_) => panic!("must be refused: {text}"),
        }
    }
}
