//! The NICs that come with the program, and whole runs with them.

use crate::job_of;
use model::tracer::NoTrace;
use scenario::platform::{NicDevice, Platform};
use scenario::{Job, RecordingRequest, builtin, job};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use units::Picos;

const L2FWD: &str = "experiments/ddio-bench/l2fwd.toml";

fn l2fwd(overrides: &[(&str, &str)]) -> Job {
    let owned: Vec<(String, String)> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    job(L2FWD, &owned, 7).unwrap_or_else(|error| panic!("{error}"))
}

fn device(name: &str) -> NicDevice {
    builtin::nic("the test", name).unwrap_or_else(|error| panic!("{error}"))
}

fn platform(name: &str) -> Platform {
    builtin::platform("the test", name).unwrap_or_else(|error| panic!("{error}"))
}

/// Facts of a table by key.
fn facts(table: &impl serde::Serialize) -> BTreeMap<String, Value> {
    let document = serde_json::to_value(table).expect("is JSON");
    let facts = document.as_object().expect("is a table");
    facts.iter().map(|(key, fact)| (key.clone(), fact.clone())).collect()
}

#[test]
fn every_nic_can_be_read_and_its_numbers_have_sources() {
    let expected = [
        "connectx-4",
        "connectx-4-lx",
        "connectx-5",
        "connectx-6",
        "connectx-6-200g",
        "connectx-7",
        "e810",
        "solarflare-10g",
        "xl710",
    ];
    assert_eq!(builtin::nic_names(), expected);
    for name in expected {
        let device = device(name);
        for (key, fact) in facts(&device.nic).into_iter().chain(facts(&device.pcie)) {
            let source = fact["source"].as_str().unwrap_or_default();
            assert!(source.len() >= 5, "{name}: {key} has no source");
            let assumed = source.contains("assumed") || source.contains("recalled");
            assert!(!assumed || fact["confidence"] != "seen", "{name}: {key} was not seen");
        }
    }
}

#[test]
fn the_testbed_s_card_is_the_connectx_5_and_the_blog_s_the_low_latency_card() {
    for (name, of) in [("connectx-5", "skylake-gold-6140"), ("solarflare-10g", "cascade-lake-blog")]
    {
        let (device, platform) = (device(name), platform(of));
        let values = |table: BTreeMap<String, Value>| -> BTreeMap<String, Value> {
            table.into_iter().map(|(key, fact)| (key, fact["value"].clone())).collect()
        };
        let own = platform.nic.as_ref().expect("has a NIC");
        assert_eq!(values(facts(&device.nic)), values(facts(own)), "{name}");
        let own = platform.pcie.as_ref().expect("has a link");
        assert_eq!(values(facts(&device.pcie)), values(facts(own)), "{name}");
    }
}

#[test]
fn a_card_takes_its_link_along_but_not_a_faster_slot() {
    let server = platform("skylake-gold-6140");
    let link = device("connectx-6").link_in(server.slot_rate());
    assert_eq!((link.lanes.value, link.gtransfers_per_s.value), (16, 8.0));
    assert_eq!(device("xl710").link_in(server.slot_rate()).lanes.value, 8);
}

#[test]
fn slots_may_be_faster_than_the_platform_s_own_card() {
    let server = platform("sapphire-rapids-56");
    assert_eq!(server.pcie.as_ref().expect("has a link").gtransfers_per_s.value, 16.0);
    assert_eq!(device("connectx-7").link_in(server.slot_rate()).gtransfers_per_s.value, 32.0);
    assert_eq!(device("connectx-6").link_in(server.slot_rate()).gtransfers_per_s.value, 16.0);
    let older = platform("ice-lake-40");
    assert_eq!(device("connectx-7").link_in(older.slot_rate()).gtransfers_per_s.value, 16.0);
}

/// A card is worth its rate only in a slot that can carry it: full frames, with the headers of PCIe.
#[test]
fn the_link_of_every_card_carries_what_arrives_at_line_rate() {
    for name in builtin::nic_names() {
        let card = device(&name);
        let (lanes, rate) = (card.pcie.lanes.value, card.pcie.gtransfers_per_s.value);
        let raw_gbps = f64::from(lanes) * rate * 128.0 / 130.0;
        let payload = card.pcie.max_payload_bytes.value as f64;
        let needed_gbps = card.nic.line_rate_gbps.value * (1.0 + 24.0 / payload) * 1500.0 / 1524.0;
        assert!(raw_gbps > needed_gbps, "{name}: {raw_gbps} of {needed_gbps} Gbit/s");
    }
}

#[test]
fn an_unknown_nic_is_refused_with_the_known_ones() {
    let error = builtin::nic("my.toml", "xl170").expect_err("there is none").to_string();
    assert!(error.contains("my.toml") && error.contains("xl170") && error.contains("xl710"));
}

/// The result of a run of the forwarder, or the reason for its refusal.
fn metrics(overrides: &[(&str, &str)]) -> Result<String, String> {
    let short =
        [("run.batch_packets", "512"), ("run.min_batches", "10"), ("run.max_batches", "10")];
    let owned: Vec<(String, String)> = short
        .iter()
        .chain(overrides)
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    let job = job(L2FWD, &owned, 7).map_err(|error| error.to_string())?;
    let result = job.run(RecordingRequest::default(), |_| ControlFlow::Continue(()));
    let result = result.expect("the watcher lets it end");
    Ok(serde_json::to_string(&result.metrics).expect("is JSON"))
}

#[test]
fn larger_buffers_take_jumbo_frames_and_lie_further_apart() {
    let job = l2fwd(&[("packet_bytes", "9000"), ("buffer_bytes", "9216")]);
    let mut machine = job.machine(NoTrace);
    machine.run(5_000, Picos::NEVER);
    let rx = machine.devices[0].as_nic().expect("a NIC").port.counters;
    assert_eq!(rx.offered_bytes, 9000 * rx.offered_packets);
    assert!(rx.packets > 4_000, "{} of {}", rx.packets, rx.offered_packets);
    let of_default = metrics(&[]);
    assert_eq!(metrics(&[("buffer_bytes", "2048")]), of_default, "2048 is the default");
    assert_ne!(metrics(&[("buffer_bytes", "4096")]), of_default, "other lines, other sets");
}

#[test]
fn each_rival_fact_of_a_cache_changes_what_a_run_measures() {
    // Rings that two ways do not hold, replaced by age so that every use matters.
    let base = ("rx_descriptors", "2048");
    let of_base = metrics(&[base]);
    for fact in [
        ("hardware.llc.inclusive_move", "\"core-access\""),
        ("hardware.llc.device_reads_refresh", "true"),
        ("hardware.cpu.stream_prefetch_sees_hits", "false"),
        ("hardware.llc.replacement", "\"random\""),
        ("hardware.llc.set_function", "\"ranked\""),
        ("hardware.software.pages", "\"scattered\""),
        ("hardware.software.memory_start_bytes", "0"),
    ] {
        let with = metrics(&[base, fact]);
        assert!(with.is_ok() && with != of_base, "{fact:?}: {with:?}");
    }
}

#[test]
fn packets_and_pools_that_buffers_are_too_small_or_too_large_for_are_refused() {
    let imix = [("traffic.pattern", "\"random\""), ("traffic.sizes", "\"imix\"")];
    let mix = [imix[0], imix[1], ("buffer_bytes", "1500")];
    let twice = [("buffer_bytes", "2048"), ("hardware.software.buffer_data_bytes", "4096")];
    let pool = [("buffer_bytes", "9216"), ("pool_buffers", "1048576")];
    let beyond = [
        ("page_size", "\"2M\""),
        ("hardware.software.pages", "\"together\""),
        ("hardware.software.memory_start_bytes", "2097152"),
    ];
    for (overrides, told) in [
        (&[("packet_bytes", "9000")][..], "larger buffer_bytes"),
        (&[("buffer_bytes", "65536")], "`buffer_bytes` = 65536: allowed: 64 to 16384"),
        (&mix, "`buffer_bytes` = 1500: the largest packet of traffic.sizes has 1514 bytes"),
        (&twice, "`hardware.software.buffer_data_bytes`: would have no effect"),
        (&pool, "`pool_buffers` = 1048576: allowed:"),
        (&beyond, "`hardware.software.memory_start_bytes` = 2097152: allowed: less than page_size"),
    ] {
        let refusal = metrics(overrides).expect_err(told);
        assert!(refusal.contains(told), "{refusal}");
    }
}

#[test]
fn packets_are_sent_dropped_waiting_or_in_flight_with_flow_control_too() {
    for (cores, descriptors) in [("1", "128"), ("1", "1024"), ("3", "512")] {
        let job =
            l2fwd(&[("cores", cores), ("rx_descriptors", descriptors), ("flow_control", "true")]);
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
        assert_eq!(dropped, 0, "a paused sender loses nothing");
    }
}

/// ATC'20: about 179 thousand PAUSE frames per 80 million packets; within a factor of three.
#[test]
fn one_core_at_100_gbps_with_flow_control_sends_a_pause_frame_per_450_packets() {
    let job = l2fwd(&[
        ("rx_descriptors", "1024"),
        ("tx_descriptors", "1024"),
        ("flow_control", "true"),
        ("offered_gbps", "100"),
    ]);
    let mut machine = job.machine(NoTrace);
    machine.run(100_000, Picos::NEVER);
    let rx = machine.devices[0].as_nic().expect("a NIC").port.counters;
    let rate = rx.pause_frames as f64 / rx.packets as f64;
    assert!((0.0022 / 3.0..=0.0022 * 3.0).contains(&rate), "{rate} per packet");
    assert!(rx.paused > Picos::ZERO);
}

#[test]
fn a_slow_sender_is_never_paused() {
    let job = l2fwd(&[("flow_control", "true"), ("offered_gbps", "40")]);
    let mut machine = job.machine(NoTrace);
    machine.run(30_000, Picos::NEVER);
    assert_eq!(machine.devices[0].as_nic().expect("a NIC").port.counters.pause_frames, 0);
}

#[test]
fn packets_sent_one_at_a_time_do_not_queue() {
    let job = l2fwd(&[("offered_gbps", "20"), ("rx_descriptors", "512"), ("send_at_packets", "1")]);
    let mut machine = job.machine(NoTrace);
    machine.run(20_000, Picos::NEVER);
    let p99_us =
        machine.devices[0].as_nic().expect("a NIC").egress.latency_ns.value_at_quantile(0.99)
            as f64
            / 1e3;
    assert!(p99_us < 20.0, "{p99_us} us");
}

#[test]
fn the_default_load_is_no_more_than_the_card_of_the_platform_takes() {
    let of = |platform: &str, keys: &str| job_of(&format!("platform = \"{platform}\"\n{keys}"), 1);
    let offered = |keys: &str| {
        let job = of("cascade-lake-platinum-8260", keys).expect("it is not refused");
        serde_json::to_value(job.scenario()).expect("is JSON")["offered_gbps"].clone()
    };
    assert_eq!(offered(""), 40.0);
    assert_eq!(offered("nic = \"e810\""), 99.3);
    assert_eq!(offered("offered_gbps = 12.0"), 12.0);
    // A stated value is not changed in silence, not even for a tenant that inherits it.
    let other = "[[tenant]]\nname = \"b\"\nnic = \"xl710\"\n";
    for keys in
        ["offered_gbps = 99.3".into(), format!("nic = \"e810\"\noffered_gbps = 99.3\n{other}")]
    {
        let told =
            of("cascade-lake-platinum-8260", &keys).err().unwrap_or_else(|| panic!("{keys}"));
        assert!(told.to_string().contains("`offered_gbps` = 99.3: allowed: 0.001 to 40"), "{told}");
    }
}
