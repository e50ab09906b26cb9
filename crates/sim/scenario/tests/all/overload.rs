//! Does a machine that is asked for more than it can do still do what it can, and come to an end?

use crate::job_of;
use model::root_complex::ddio::DmaKind;
use model::tracer::NoTrace;
use scenario::result::{Numbers, RunResult};
use scenario::{Job, RecordingRequest, RunFailure, ScenarioMachine, run_batch};
use std::ops::ControlFlow;
use units::{LineAddr, Picos, RootPortId};

const PLATFORM: &str = "skylake-gold-6140";

fn job(text: &str, seed: u64) -> Job {
    job_on(PLATFORM, text, seed)
}

fn job_on(name: &str, text: &str, seed: u64) -> Job {
    let text = format!("platform = \"{name}\"\n{text}");
    job_of(&text, seed).unwrap_or_else(|error| panic!("{error}"))
}

pub fn run(text: &str, seed: u64) -> RunResult {
    finished(&job(text, seed), seed)
}

pub fn run_on(platform: &str, text: &str, seed: u64) -> RunResult {
    finished(&job_on(platform, text, seed), seed)
}

fn finished(job: &Job, seed: u64) -> RunResult {
    let run = job.run(RecordingRequest::default(), |_| ControlFlow::Continue(()));
    run.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"))
}

pub fn value(result: &RunResult, name: &str) -> f64 {
    match result.metrics.get(name).map(|metric| &metric.value) {
        Some(Numbers::One(value)) => *value,
        other => panic!("{name}: {other:?}"),
    }
}

/// Four cores forward beside four SSDs that are read as fast as they can, all past the LLC.
const BESIDE_SSDS: &str = "cores = 4\nrx_descriptors = 1024\npacket_bytes = 1500\n\
    offered_gbps = 60\nddio_ways = 0\n\
    [[tenant]]\nname = \"storage\"\napplication = \"block-io\"\ncores = 4\nddio_ways = 0\n";
const FOUR_SSDS: &str = "[tenant.block_io]\nssds = 4\ndepth = 32\nblock_bytes = 131072\n";
const SHORT: &str = "[run]\nbatch_packets = 4096\nmax_batches = 10\n";

#[test]
fn forwarding_beside_busy_ssds_without_ddio_comes_to_an_end() {
    for seed in 1..=soak::amount(2, 10) {
        for (ssd, keys) in [
            ("ssd = \"p4800x\"\n", ""),
            ("ssd = \"xg5\"\n", ""),
            ("ssd = \"p4800x\"\n", "ssds_per_root_port = 4\n"),
        ] {
            let result = run(&format!("{BESIDE_SSDS}{ssd}{FOUR_SSDS}{keys}{SHORT}"), seed);
            let gbps = value(&result, "throughput_gbps");
            // SSDs and card share the entries for DMA writes, which serve nearly all of both.
            assert!((54.0..60.1).contains(&gbps), "seed {seed}, {ssd}{keys}: {gbps}");
        }
    }
}

/// Gbit/s of both cards together when each is offered `gbps`.
fn two_cards(gbps: f64) -> f64 {
    let text = format!(
        "cores = 4\nrx_descriptors = 1024\npacket_bytes = 1500\nddio_ways = 0\n\
         core_ghz = 3.0\nuncore_ghz = 2.4\noffered_gbps = {gbps}\n\
         [[tenant]]\nname = \"second\"\nddio_ways = 0\n{SHORT}"
    );
    let result = run(&text, 1);
    value(&result, "throughput_gbps") + value(&result, "second:throughput_gbps")
}

#[test]
fn two_cards_past_the_llc_reach_the_bound_of_the_iio_entries_and_stay_there() {
    let below = two_cards(60.0);
    assert!((below - 120.0).abs() < 1.0, "{below}");
    // 92 entries of 300 ns each: 19.6 GB/s, of which completions and descriptors take a part.
    let bound = 92.0 * 64.0 * 8.0 / 300.0;
    let overloaded: Vec<f64> = [80.0, 90.0, 95.0, 99.0].map(two_cards).into();
    for both in &overloaded {
        assert!((0.9 * bound..=bound).contains(both), "{both} of {bound}");
        assert!((both / overloaded[0] - 1.0).abs() < 0.02, "{overloaded:?}");
    }
}

#[test]
fn a_run_looks_up_often_however_long_its_batches_are() {
    let endless = "[run]\nbatch_packets = 16777216\n";
    for offered_gbps in [0.001, 99.0] {
        let text = format!("packet_bytes = 60\noffered_gbps = {offered_gbps}\n{endless}");
        let (mut looks, mut before_ns) = (0, 0.0);
        let stopped = job(&text, 1).run(RecordingRequest::default(), |progress| {
            looks += 1;
            assert!(progress.simulated_ns - before_ns <= 1e6, "one look per ms at least");
            before_ns = progress.simulated_ns;
            if looks == 100 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(stopped, Err(RunFailure::Stopped(_))));
        assert_eq!(looks, 100);
    }
}

#[test]
fn time_goes_on_for_packets_that_waited_for_a_descriptor() {
    // The card reports packets together. One that has waited is reported when it is written, not when
    // its wait for others would have ended.
    let text = "nic = \"e810\"\ncores = 2\nrx_descriptors = 64\npacket_bytes = 128\n\
                offered_gbps = 78\n[run]\nbatch_packets = 2000\nmax_batches = 10\n";
    let mut before_ns = 0.0;
    let ended = job(text, 1).run(RecordingRequest::default(), |progress| {
        assert!(progress.simulated_ns >= before_ns, "{} after {before_ns}", progress.simulated_ns);
        before_ns = progress.simulated_ns;
        ControlFlow::Continue(())
    });
    let result = ended.expect("the watcher lets it end");
    assert!(value(&result, "rx_dropped") > 0.0, "packets wait");
}

#[test]
fn no_core_idles_while_the_card_holds_packets_of_another_one() {
    // Small rings of a card that publishes no limit on packets that wait for descriptors.
    let text = "application = \"chain\"\ncores = 3\nrx_descriptors = 64\npacket_bytes = 128\n\
                offered_gbps = 90\n[run]\nbatch_packets = 8000\nmax_batches = 10\n";
    let result = finished(&job_on("ice-lake-40", text, 1), 1);
    let Numbers::Parts(regimes) = &result.metrics["time_in_regime"].value else {
        panic!("regimes are parts")
    };
    let Numbers::Parts(latency) = &result.metrics["latency_ns"].value else {
        panic!("percentiles are parts")
    };
    assert!(value(&result, "rx_dropped") > 0.0, "cores are offered more than they can do");
    assert!(regimes["idle"] < 5.0, "{regimes:?}");
    // 64 packets of its ring stand before a packet, and as many at most that wait for descriptors.
    assert!(latency["p99"] < 50_000.0, "{latency:?}");
}

#[test]
fn what_is_reserved_further_ahead_than_any_queue_ends_the_run_by_name() {
    let job = scenario::job("experiments/ddio-bench/l2fwd.toml", &[], 1).expect("built in");
    let mut machine = job.machine(NoTrace);
    let watch = |_: &ScenarioMachine<NoTrace>| ControlFlow::Continue(());
    assert_eq!(run_batch(&mut machine, 100, Picos::NEVER, watch), Ok(true));
    // A quarter of a GiB in one request takes the link more than 20 ms.
    let now = machine.now();
    machine.fabric.dma_write(RootPortId(0), LineAddr(0), 256 << 20, DmaKind::Payload, now);
    let failure = run_batch(&mut machine, 200, Picos::NEVER, watch).map_err(|it| it.to_string());
    let told = failure.expect_err("it cannot go on");
    assert!(told.contains("makes no progress: the link of root port 0 towards memory"), "{told}");
}
