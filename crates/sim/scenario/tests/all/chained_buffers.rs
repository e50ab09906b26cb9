//! Packets in several buffers: is each conserved, does each of its buffers cost what it must, and which
//! combinations are refused?

use crate::overload::value;
use crate::random_scenarios::part;
use model::tracer::NoTrace;
use scenario::result::RunResult;
use scenario::{InputError, Job, RecordingRequest, job};
use std::ops::ControlFlow;
use units::{CoreId, Picos};

const FORWARDER: &str = "experiments/ddio-bench/l2fwd.toml";
/// Five buffers of 2 KiB.
const JUMBO: (&str, &str) = ("packet_bytes", "9000");
const SCATTER: (&str, &str) = ("scatter", "true");
const OF_JUMBO: usize = 5;

fn attempt(keys: &[(&str, &str)]) -> Result<Job, InputError> {
    let keys: Vec<_> = keys.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    job(FORWARDER, &keys, 1)
}

fn run(keys: &[(&str, &str)]) -> RunResult {
    let brief =
        [("run.batch_packets", "1000"), ("run.min_batches", "10"), ("run.max_batches", "10")];
    let job = attempt(&[&brief, keys].concat()).unwrap_or_else(|refusal| panic!("{refusal}"));
    job.run(RecordingRequest::default(), |_| ControlFlow::Continue(())).expect("it ends")
}

fn refusal(keys: &[(&str, &str)]) -> String {
    attempt(keys).expect_err("it is refused").to_string()
}

#[test]
fn every_buffer_is_in_the_pool_a_ring_or_a_packet() {
    // ConnectX, and descriptors that completions overwrite; rings full, and nearly empty.
    for (nic, load) in [("connectx-5", "99.3"), ("xl710", "30"), ("solarflare-10g", "2")] {
        let nic = format!("\"{nic}\"");
        for application in ["\"l2-forward\"", "\"packet-sink\""] {
            let keys = [
                JUMBO,
                SCATTER,
                ("nic", nic.as_str()),
                ("application", application),
                ("offered_gbps", load),
                ("cores", "2"),
                ("rx_descriptors", "256"),
                ("pool_buffers", "20000"),
            ];
            let job = attempt(&keys).unwrap_or_else(|refusal| panic!("{refusal}"));
            let mut machine = job.machine(NoTrace);
            machine.run(3_000, Picos::from_ns(3e6));
            machine.check_invariants().expect("nothing is lost");
            let accounts: Vec<_> =
                machine.software.iter().map(|software| software.account(machine.now())).collect();
            let (free, levels) = (accounts[0].buffers_free, machine.levels());
            let held: usize =
                accounts.iter().map(|it| it.packets_in_work + it.packets_in_ring).sum();
            let packets = held + levels.packets_unseen;
            let all = free + levels.buffers_posted + OF_JUMBO * packets;
            assert_eq!(all, 20_000, "{keys:?}: {packets} packets");
        }
    }
}

#[test]
fn each_further_buffer_of_a_packet_costs_the_core_and_the_card() {
    let chained = run(&[JUMBO, SCATTER, ("rx_descriptors", "1024")]);
    let whole = run(&[JUMBO, ("buffer_bytes", "9216"), ("rx_descriptors", "256")]);
    let both = |name| (value(&chained, name), value(&whole, name));
    let (rate, rate_of_whole) = both("throughput_gbps");
    assert!((rate / rate_of_whole - 1.0).abs() < 0.02, "{rate} and {rate_of_whole} Gbit/s");
    // Four more mbufs are taken, filled in, read and freed.
    let idle = |result| part(result, "time_in_regime", "idle");
    let (idle_with_chains, idle) = (idle(&chained), idle(&whole));
    assert!(idle_with_chains < idle - 0.3, "{idle_with_chains} and {idle} percent");
}

#[test]
fn an_application_reads_the_payload_in_all_buffers() {
    let keys = [("application", "\"packet-sink\""), ("packet_sink.payload", "\"read\"")];
    let lines = |more: &[(&str, &str)]| {
        let keys = [&keys[..], &[JUMBO, ("rx_descriptors", "256")], more].concat();
        let mut machine = attempt(&keys).expect("it is not refused").machine(NoTrace);
        machine.run(u64::MAX, Picos::from_ns(2e6));
        let accesses = machine.fabric.private_caches(CoreId(0)).counters.accesses;
        accesses as f64 / machine.software[0].account(machine.now()).work as f64
    };
    let (chained, whole) = (lines(&[SCATTER]), lines(&[("buffer_bytes", "9216")]));
    // 141 lines of 9000 bytes; of each buffer the mbuf is taken, filled in, named and freed.
    assert!((141.0..160.0).contains(&whole), "{whole} accesses for a packet in one buffer");
    assert!((whole + 4.0..whole + 40.0).contains(&chained), "{chained} and {whole} accesses");
}

/// Keys with their values, and words of the refusal.
type Refused<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

#[test]
fn combinations_without_a_meaning_are_refused_with_the_reason() {
    let refused: [Refused<'_>; 11] = [
        (&[JUMBO], &["packet_bytes", "larger buffer_bytes, or scatter"]),
        (&[("packet_bytes", "16384"), SCATTER, ("buffer_bytes", "1024")], &["8 buffers hold"]),
        (&[SCATTER], &["scatter", "1500 bytes and fit a buffer of 2048"]),
        (&[JUMBO, SCATTER, ("buffer_bytes", "2000")], &["scatter", "whole lines"]),
        (&[JUMBO, SCATTER, ("rx_descriptors", "8")], &["scatter", "rx_descriptors"]),
        (&[JUMBO, SCATTER, ("tx_descriptors", "32")], &["scatter", "tx_descriptors"]),
        (
            &[JUMBO, SCATTER, ("placement.inject_lines", "1")],
            &["scatter", "placement.inject_lines", "in one buffer"],
        ),
        (
            &[JUMBO, SCATTER, ("placement.header_slices", "1")],
            &["scatter", "placement.header_slices"],
        ),
        (
            &[JUMBO, SCATTER, ("application", "\"key-value\"")],
            &["scatter", "each packet in one buffer"],
        ),
        (
            &[JUMBO, SCATTER, ("application", "\"packet-source\"")],
            &["scatter", "each packet in one buffer"],
        ),
        (
            &[SCATTER, ("traffic.pattern", "\"random\""), ("traffic.sizes", "\"imix\"")],
            &["scatter", "1514 bytes and fit a buffer"],
        ),
    ];
    for (keys, words) in refused {
        let text = refusal(keys);
        assert!(words.iter().all(|word| text.contains(word)), "{keys:?}: {text}");
    }
}
