//! Several applications on one machine: what is each one's, and what do they share?

use model::device::DeviceId;
use model::tracer::NoTrace;
use scenario::platform::Platform;
use scenario::result::{Intervals, Numbers, RunResult, StoppedBy};
use scenario::{Job, RecordingRequest, Scenario, builtin};
use std::ops::ControlFlow;
use units::Picos;

const PLATFORM: &str = "skylake-gold-6140";

fn job(text: &str) -> Job {
    refusal_or_job(text).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal_or_job(text: &str) -> Result<Job, scenario::InputError> {
    let platform: Platform = builtin::platform("the test", PLATFORM)?;
    let text = format!("platform = \"{PLATFORM}\"\n{text}");
    Job::new("the test", Scenario::read("the test", &text, &[])?, platform, PLATFORM, 3)
}

fn refusal(text: &str) -> String {
    match refusal_or_job(text) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("must be refused: {text}"),
    }
}

fn run(text: &str) -> RunResult {
    job(text)
        .run(RecordingRequest::default(), |_| ControlFlow::Continue(()))
        .expect("the watcher lets it end")
}

fn value(result: &RunResult, name: &str) -> f64 {
    match result.metrics.get(name).map(|metric| &metric.value) {
        Some(Numbers::One(value)) => *value,
        other => panic!("{name}: {other:?}"),
    }
}

fn part(result: &RunResult, name: &str, part: &str) -> f64 {
    match &result.metrics[name].value {
        Numbers::Parts(parts) => parts[part],
        Numbers::One(_) => panic!("{name} has no parts"),
    }
}

fn parts(result: &RunResult, name: &str) -> Vec<String> {
    match &result.metrics[name].value {
        Numbers::Parts(parts) => parts.keys().cloned().collect(),
        Numbers::One(_) => panic!("{name} has no parts"),
    }
}

const SHORT: &str = "[run]\nbatch_packets = 2048\nmax_batches = 10\n";

/// A forwarder whose ring is filled at once, and a chain whose flow tables fill for long.
const BESIDE_A_CHAIN: &str = "cores = 1\napplication = \"l3-forward\"\npacket_bytes = 300\n\
    offered_gbps = 4.0\nrx_descriptors = 64\n\
    run.batch_packets = 256\nrun.min_batches = 10\n";
const CHAIN: &str = "[[tenant]]\nname = \"chain\"\napplication = \"chain\"\noffered_gbps = 8.0\n";

fn relative_interval(result: &RunResult, name: &str) -> f64 {
    match (&result.metrics[name].value, &result.metrics[name].ci95) {
        (Numbers::One(value), Intervals::One(Some(half))) => half / value,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_run_goes_on_until_every_tenant_has_settled() {
    let text = format!("{BESIDE_A_CHAIN}run.max_batches = 400\n");
    let alone = run(&text);
    let both = run(&format!("{text}{CHAIN}"));
    assert_eq!(both.unsettled, Vec::<String>::new());
    assert_eq!(both.stopped_by, StoppedBy::Interval);
    for name in ["work_per_s", "chain:work_per_s"] {
        assert!(relative_interval(&both, name) <= 0.0051, "{name}");
    }
    assert!(alone.unsettled.is_empty() && alone.notes.is_empty());
}

#[test]
fn a_tenant_that_has_not_settled_is_named() {
    // A block takes longer than a batch of packets.
    let slow = "[[tenant]]\nname = \"storage\"\napplication = \"block-io\"\nssd = \"xg5\"\n\
                [tenant.block_io]\ndepth = 1\nblock_bytes = 131072\n";
    let result = run(&format!("{BESIDE_A_CHAIN}run.max_batches = 20\n{slow}"));
    assert_eq!(
        (result.stopped_by, result.unsettled.as_slice()),
        (StoppedBy::Cap, &["storage".into()][..])
    );
    let told = "Tenant storage has not settled";
    assert!(result.notes.iter().any(|note| note.starts_with(told)), "{:?}", result.notes);
}

#[test]
fn a_tenant_inherits_what_it_does_not_state() {
    let job = job("packet_bytes = 512\nrx_descriptors = 256\n\
         [[tenant]]\nname = \"second\"\nrx_descriptors = 1024\ntraffic.flows = 7");
    let scenario = serde_json::to_value(job.scenario()).expect("is JSON");
    let keys = &scenario["tenant"][0];
    assert_eq!([&keys["packet_bytes"], &keys["rx_descriptors"]], [512, 1024]);
    let traffic = &keys["traffic"];
    assert_eq!([&traffic["flows"], &traffic["train_packets"]], [7, 128]);
}

#[test]
fn what_follows_from_platform_or_cores_is_not_inherited() {
    let job = job("ddio_ways = 5\ncore_way_mask = 3\nnic_socket = 1\n\
         [[tenant]]\nname = \"second\"");
    let main = serde_json::to_value(job.scenario()).expect("is JSON");
    let second = &main["tenant"][0];
    for (key, of_main, of_second) in
        [("ddio_ways", 5, 2), ("nic_socket", 1, 0), ("core_way_mask", 3, 0x7ff)]
    {
        assert_eq!([&main[key], &second[key]], [of_main, of_second], "{key}");
    }
}

#[test]
fn two_cards_conserve_their_packets_apart() {
    let job = job("cores = 2\nrx_descriptors = 256\npacket_bytes = 1024\noffered_gbps = 40\n\
         [[tenant]]\nname = \"second\"\ncores = 1\noffered_gbps = 20");
    let mut machine = job.machine(NoTrace);
    machine.run(20_000, Picos::NEVER);
    let in_work = |cores: std::ops::Range<usize>| -> u64 {
        let accounts = machine.software[cores].iter().map(|core| core.account(machine.now()));
        accounts.map(|account| account.packets_in_work as u64).sum()
    };
    for (nic, cores) in [(0, 0..2), (1, 2..3)] {
        let card = machine.devices[nic].as_nic().expect("a NIC");
        let levels = machine.devices[nic].levels(machine.queues.device(DeviceId(nic as u16)));
        let rx = card.port.counters;
        let waiting = levels.packets_unseen + levels.packets_to_send;
        let in_flight = in_work(cores) + waiting as u64;
        assert_eq!(rx.packets, card.egress.packets + in_flight, "card {nic}");
        assert!(card.egress.packets > 8_000, "card {nic}: {}", card.egress.packets);
    }
}

#[test]
fn each_tenant_has_its_own_metrics_and_agents() {
    let result = run(&format!(
        "rx_descriptors = 256\noffered_gbps = 30\n{SHORT}\
         [[tenant]]\nname = \"second\"\noffered_gbps = 10"
    ));
    assert!((value(&result, "throughput_gbps") / 30.0 - 1.0).abs() < 0.01);
    assert!((value(&result, "second:throughput_gbps") / 10.0 - 1.0).abs() < 0.03);
    assert_eq!(parts(&result, "llc_occupancy_bytes"), ["core0", "core1", "nic0", "nic1"]);
}

#[test]
fn a_neighbour_without_ddio_leaves_the_ways_to_the_other() {
    let with = |ways: u32| {
        let result = run(&format!(
            "cores = 2\nrx_descriptors = 1024\noffered_gbps = 60\n{SHORT}\
             [[tenant]]\nname = \"second\"\nddio_ways = {ways}"
        ));
        part(&result, "llc_occupancy_bytes", "nic0")
    };
    let (sharing, alone) = (with(2), with(0));
    assert!(alone > 1.2 * sharing, "{alone} bytes alone, {sharing} when shared");
}

#[test]
fn an_ssd_moves_blocks_at_its_rate_beside_a_forwarder() {
    let result = run(&format!(
        "rx_descriptors = 256\noffered_gbps = 20\n{SHORT}\
         [[tenant]]\nname = \"disk\"\napplication = \"block-io\"\nssd = \"p4800x\""
    ));
    let rate = value(&result, "disk:ssd_read_gbytes_per_s");
    assert!((rate / 2.4 - 1.0).abs() < 0.05, "{rate} GB/s");
    assert_eq!(parts(&result, "evictions").len(), 4 * 4 * 2);
}

#[test]
fn jobs_alone_count_their_requests_as_progress() {
    let result = run("application = \"block-io\"\nssd = \"p4800x\"\n\
         [run]\nbatch_packets = 256\nmax_batches = 10");
    assert_eq!(result.packets, 2560);
    assert!(!result.metrics.contains_key("throughput_gbps"));
    let rate = value(&result, "ssd_read_gbytes_per_s");
    let requests = value(&result, "work_per_s");
    assert!((requests * 131_072.0 / 1e9 / rate - 1.0).abs() < 0.02, "{requests} of {rate} GB/s");
}

#[test]
fn ssds_behind_one_root_port_share_its_link() {
    let rate = |together: u32| {
        let result = run(&format!(
            "application = \"block-io\"\nssd = \"p4800x\"\ncores = 4\n\
             [block_io]\nssds = 4\nssds_per_root_port = {together}\n\
             [run]\nbatch_packets = 512\nmax_batches = 10"
        ));
        value(&result, "ssd_read_gbytes_per_s")
    };
    let (apart, together) = (rate(1), rate(4));
    assert!((apart / 9.6 - 1.0).abs() < 0.03, "{apart} GB/s on four links");
    // PCIe 3.0 x4: 3.94 GB/s raw, less headers.
    assert!(together > 3.2 && together < 3.94, "{together} GB/s on one link");
}

#[test]
fn what_does_not_fit_is_refused_with_the_tenant_s_name() {
    let second = "[[tenant]]\nname = \"second\"\n";
    let co_runner = |key: &str| format!("[[co_runner]]\nworking_set_bytes = 4096\n{key}");
    for (text, said) in [
        (format!("{second}packet_bytes = 9"), "tenant `second`: `packet_bytes` = 9"),
        ("[[tenant]]\ncores = 1".into(), "tenant 0: `name`: is missing"),
        (format!("{second}{second}"), "another tenant has this name"),
        (format!("cores = 10\n{second}"), "all tenants of socket 0"),
        (format!("{second}coers = 1"), "did you mean `cores`?"),
        ("coers = 1".into(), "did you mean `cores`?"),
        (co_runner("way_mast = 3"), "unknown key `co_runner.0.way_mast`; did you mean `way_mask`?"),
        (co_runner("patern = 1"), "unknown key `co_runner.0.patern`; did you mean `pattern`?"),
        (co_runner("probe.wait = 1"), "`co_runner.0.probe.wait`; did you mean `wait_us`?"),
        (co_runner("store_percent = -1"), "`co_runner.0.store_percent`: -1 is a whole number"),
        (co_runner("socket = true"), "`co_runner.0.socket`: true is true or false"),
        ("[[co_runner]]".into(), "`co_runner.0.working_set_bytes`: is missing"),
        ("application = \"block-io\"".into(), "`ssd`: is missing"),
        ("ssd = \"p4800\"".into(), "no such SSD; did you mean `p4800x`?"),
        ("block_io.block_bytes = 5000\nssd = \"xg5\"\napplication = \"block-io\"".into(), "4096"),
    ] {
        let message = refusal(&text);
        assert!(message.contains(said), "{text}: {message}");
    }
}

#[test]
fn a_tenant_that_uses_no_device_runs_on_a_machine_without_any() {
    let text = "platform = \"three-level-lru\"\napplication = \"memory-kernel\"\n\
                memory_kernel.working_set_bytes = 1048576\nrun.max_batches = 10\n";
    let job = |text: &str| {
        let scenario = Scenario::read("a.toml", text, &[]).expect("is valid");
        let platform = builtin::platform("a.toml", "three-level-lru").expect("is built in");
        Job::new("a.toml", scenario, platform, "three-level-lru", 1)
    };
    let result = job(text)
        .expect("is valid")
        .run(RecordingRequest::default(), |_| ControlFlow::Continue(()));
    assert!(result.expect("the watcher lets it end").packets > 0);
    let forwarder = job("platform = \"three-level-lru\"").expect_err("has no card").to_string();
    let told = "three-level-lru: `ddio` = missing: a platform that serves packets needs it";
    assert!(forwarder.starts_with(told), "{forwarder}");
}

#[test]
fn more_cores_and_root_ports_than_a_socket_can_number_are_refused() {
    let file = "the test";
    let refused = |cores: u32| -> Option<String> {
        let platform = builtin::platform(file, "sapphire-rapids-56").expect("is built in");
        let text = format!(
            "platform = \"sapphire-rapids-56\"\napplication = \"block-io\"\ncores = {cores}\n\
             ssd = \"p4800x\"\n[block_io]\nssds = 16"
        );
        let scenario = Scenario::read(file, &text, &[]).expect("is well formed");
        let job = Job::new(file, scenario, platform, "sapphire-rapids-56", 3);
        job.map(|job| drop(job.machine(NoTrace))).err().map(|error| error.to_string())
    };
    assert_eq!(refused(48), None);
    let message = refused(49).expect("is refused");
    assert!(message.contains("`cores` = 49: allowed: up to 48 beside 16 root ports"), "{message}");
}
