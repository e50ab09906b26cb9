//! The buffer pool: what do caches, calls, placement and prefetching cost, and which combinations are refused?

use scenario::result::{Numbers, RunResult};
use scenario::{InputError, RecordingRequest, job};
use std::ops::ControlFlow;

const FORWARDER: &str = "experiments/ddio-bench/l2fwd.toml";
/// A receiver that drops packets as fast as one core of 2.1 GHz can, its pool without a cache.
const RECEIVER: &str = "experiments/predictions/pool-calls-scenario.toml";
const GHZ: f64 = 2.1;

fn attempt(scenario: &str, keys: &[(&str, &str)]) -> Result<RunResult, InputError> {
    let brief =
        [("run.batch_packets", "2000"), ("run.min_batches", "12"), ("run.max_batches", "12")];
    let all = brief.iter().chain(keys);
    let all: Vec<_> = all.map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let run =
        job(scenario, &all, 1)?.run(RecordingRequest::default(), |_| ControlFlow::Continue(()));
    Ok(run.expect("it ends"))
}

fn run(scenario: &str, keys: &[(&str, &str)]) -> RunResult {
    attempt(scenario, keys).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn number(result: &RunResult, name: &str) -> f64 {
    match result.metrics[name].value {
        Numbers::One(value) => value,
        Numbers::Parts(_) => panic!("{name} has parts"),
    }
}

/// Cycles of one core for each packet that it drops.
fn cycles(keys: &[(&str, &str)]) -> f64 {
    GHZ * 1e9 / number(&run(RECEIVER, keys), "work_per_s")
}

fn refusal(keys: &[(&str, &str)]) -> String {
    attempt(FORWARDER, keys).expect_err("it is refused").to_string()
}

#[test]
fn a_call_without_a_cache_costs_the_cycles_that_the_platform_states() {
    let [single, bulk] = ["1", "32"].map(|most| cycles(&[("pool_call_buffers", most)]));
    // A buffer is taken by one call and returned by another, each of 45 cycles; 31 of 32 are saved.
    let calls = 2.0 * 45.0 * 31.0 / 32.0;
    let more = single - bulk;
    assert!((calls..calls + 40.0).contains(&more), "{more} cycles more, {calls} of them calls");
    let free = cycles(&[("pool_call_buffers", "1"), ("pool_ring_costs", "false")]);
    assert!(single - free > calls, "{single} and {free} cycles");
}

#[test]
fn a_cache_saves_the_calls_of_single_buffers() {
    let (without, with) = (
        cycles(&[("pool_call_buffers", "1")]),
        cycles(&[("pool_call_buffers", "1"), ("pool_cache", "256")]),
    );
    assert!(without - with > 80.0, "{without} cycles without a cache, {with} with one");
}

/// Every pool conserves its buffers, whatever the size of cache and calls.
#[test]
fn no_buffer_is_lost() {
    for cache in ["0", "1", "31", "32", "512"] {
        for most in ["1", "7", "512"] {
            let keys =
                [("pool_cache", cache), ("pool_call_buffers", most), ("rx_descriptors", "256")];
            let result = run(FORWARDER, &keys);
            assert!(number(&result, "throughput_gbps") > 50.0, "{keys:?}");
        }
    }
}

#[test]
fn prefetching_a_whole_burst_is_what_the_loop_does_by_default() {
    let metrics = |keys: &[(&str, &str)]| {
        serde_json::to_string(&run(FORWARDER, keys).metrics).expect("they are JSON")
    };
    let ring = ("rx_descriptors", "512");
    let stated = [ring, ("prefetch.packets_ahead", "32"), ("prefetch.packet_lines", "1")];
    assert_eq!(metrics(&[ring]), metrics(&stated));
}

#[test]
fn a_header_that_is_not_prefetched_stalls_the_core() {
    let cycles = |ahead| cycles(&[("prefetch.packets_ahead", ahead), ("pool_call_buffers", "32")]);
    let [none, one, eight] = ["0", "1", "8"].map(cycles);
    // One packet ahead is as good as eight: the work on a packet hides the way to the next.
    assert!(none > one + 5.0 && (one - eight).abs() < 5.0, "{none}, {one}, {eight} cycles");
}

/// Netmap's question: 300 B of an aligned buffer of 2 KiB are in few of the sets. Chosen by set, packets begin
/// at different lines.
#[test]
fn aligned_buffers_collide_in_sets_and_those_chosen_by_set_do_not() {
    let hits = |placement: &str| {
        let keys = [("pool_placement", placement)];
        number(&run("examples/buffers-by-set.toml", &keys), "pcie_write_hit_rate")
    };
    let (aligned, by_set) = (hits("\"aligned\""), hits("\"by-set\""));
    assert!(by_set > aligned + 10.0, "{aligned} percent aligned, {by_set} by set");
}

/// Keys with their values, and words of the refusal.
type Refused<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

#[test]
fn combinations_without_a_meaning_are_refused_with_the_reason() {
    let by_set = ("pool_placement", "\"by-set\"");
    let refused: [Refused<'_>; 9] = [
        (&[("headroom_bytes", "100")], &["headroom_bytes", "multiples of a line"]),
        (&[("prefetch.packets_ahead", "33")], &["prefetch.packets_ahead", "those of a burst"]),
        (
            &[("prefetch.packets_ahead", "0"), ("prefetch.packet_lines", "2")],
            &["prefetch.packet_lines", "nothing is prefetched"],
        ),
        (
            &[("prefetch.packets_ahead", "4"), ("prefetch.packet_lines", "0")],
            &["prefetch.packets_ahead", "no line is prefetched"],
        ),
        (
            &[("application", "\"packet-source\""), ("prefetch.packets_ahead", "4")],
            &["prefetch", "no effect"],
        ),
        (&[by_set, ("placement.header_slices", "1")], &["pool_placement", "header_slices"]),
        (
            &[by_set, ("hardware.llc.set_function", "\"hashed\"")],
            &["pool_placement", "set_function"],
        ),
        (&[by_set, ("pool_buffers", "300000")], &["pool_placement", "pool_buffers"]),
        (&[("pool_cache", "513")], &["pool_cache", "0 to 512"]),
    ];
    for (keys, words) in refused {
        let refusal = refusal(keys);
        assert!(words.iter().all(|word| refusal.contains(word)), "{keys:?}: {refusal}");
    }
}
