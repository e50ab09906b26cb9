//! An I/O core in ways 0x0C0 beside a cache-hungry core whose two ways slide over the cache: figures
//! 3 and 4 of ATC'20 (claims atc-06 and atc-07).
//!
//! The I/O core's LLC misses are those of loads and prefetches together: it prefetches its headers.

use scenario::platform::{InclusionName, Platform};
use scenario::result::{Numbers, RunResult};
use scenario::{Job, RecordingRequest, Scenario, builtin};
use std::ops::ControlFlow;

const SCENARIO: &str = "experiments/ddio-bench/l2fwd.toml";
/// Of the I/O core.
const IO_MASK: u32 = 0x0C0;
/// Neither DDIO's ways, nor the inclusive ones, nor the I/O core's.
const APART: [u32; 3] = [0x00C, 0x018, 0x030];

/// LLC misses.
#[derive(Clone, Copy, Debug)]
struct Misses {
    /// Per microsecond: the traffic sets the pace.
    io_core: f64,
    /// Per request: the co-runner goes as fast as memory lets it.
    co_runner: f64,
}

/// The Gold 6140 by the rule of A4 (ISCA'25), a rival of the measured one: a core's access moves a device's line to
/// the inclusive ways. With random victims, which tell how full a way is, where the least recently used one of a
/// few thousand packets does not.
fn platform() -> Platform {
    let rules = [
        ("hardware.llc.inclusive_move", "core-access"),
        ("hardware.llc.replacement", "random"),
        ("hardware.llc.set_function", "ranked"),
        ("hardware.directory.ways", "10"),
        ("hardware.cpu.stream_prefetch_lines", "2"),
        ("hardware.cpu.stream_prefetch_sees_hits", "false"),
        ("hardware.software.private_lines", "3"),
        ("hardware.software.annotation_lines", "1"),
    ];
    let rules = rules.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let text = builtin::read(SCENARIO).expect("is built in");
    let facts = Scenario::read(SCENARIO, &text, &rules).expect("is valid").platform_facts();
    builtin::platform_with("tests", "skylake-gold-6140", &facts).expect("is built in")
}

fn misses(platform: &Platform, ddio_ways: u32, co_runner_mask: u32) -> Misses {
    let settings = [
        ("packet_bytes", "1024".to_string()),
        ("core_way_mask", IO_MASK.to_string()),
        ("ddio_ways", ddio_ways.to_string()),
        ("co_runner.working_set_bytes", (32 << 20).to_string()),
        ("co_runner.way_mask", co_runner_mask.to_string()),
        ("run.batch_packets", "3000".to_string()),
        ("run.max_batches", "10".to_string()),
    ];
    let overrides = settings.map(|(key, value)| (key.to_string(), value));
    let text = builtin::read(SCENARIO).expect("is built in");
    let scenario = Scenario::read(SCENARIO, &text, &overrides).expect("is valid");
    let job = Job::new(SCENARIO, scenario, platform.clone(), "variant", 1).expect("is valid");
    let result = job.run(RecordingRequest::default(), |_| ControlFlow::Continue(())).expect("runs");
    let io_core = millions_per_s(&result, "llc_misses_per_s", "core0")
        + millions_per_s(&result, "llc_prefetch_misses_per_s", "core0");
    let requests = millions_per_s(&result, "l2_misses_per_s", "core1");
    Misses { io_core, co_runner: millions_per_s(&result, "llc_misses_per_s", "core1") / requests }
}

/// In millions per second.
fn millions_per_s(result: &RunResult, metric: &str, core: &str) -> f64 {
    match &result.metrics[metric].value {
        Numbers::Parts(parts) => parts[core] / 1e6,
        Numbers::One(_) => panic!("{metric} is per core"),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn atc_06_the_io_core_misses_in_two_zones_its_own_ways_and_the_inclusive_ways() {
    let platform = platform();
    let apart = APART.map(|mask| misses(&platform, 2, mask).io_core);
    let baseline = mean(apart.into_iter());
    assert!(apart.iter().all(|misses| (misses / baseline - 1.0).abs() < 0.1), "{apart:?}");
    for zone in [IO_MASK, 0x003] {
        let ratio = misses(&platform, 2, zone).io_core / baseline;
        assert!(ratio > 2.5, "{zone:#x}: {ratio:.2} times the baseline");
    }
    // A co-runner in the DDIO ways hardly touches what the I/O core has read: nothing like a zone.
    let ratio = misses(&platform, 2, 0x600).io_core / baseline;
    assert!(ratio < 1.5, "0x600: {ratio:.2} times the baseline");
}

#[test]
fn atc_06_without_ddio_the_zone_at_the_inclusive_ways_vanishes_and_the_other_stays() {
    let platform = platform();
    let baseline = mean(APART.into_iter().map(|mask| misses(&platform, 0, mask).io_core));
    let ratio = misses(&platform, 0, 0x003).io_core / baseline;
    assert!((ratio - 1.0).abs() < 0.05, "0x003: {ratio:.2} times the baseline");
    let ratio = misses(&platform, 0, IO_MASK).io_core / baseline;
    assert!(ratio > 1.3, "{IO_MASK:#x}: {ratio:.2} times the baseline");
}

#[test]
fn atc_06_without_inclusive_ways_there_is_no_zone_at_0x003() {
    let mut platform = platform();
    platform.llc.inclusion.value = InclusionName::ExclusiveVictim;
    platform.llc.inclusive_ways = None;
    let baseline = mean(APART.into_iter().map(|mask| misses(&platform, 2, mask).io_core));
    let ratio = misses(&platform, 2, 0x003).io_core / baseline;
    assert!((ratio - 1.0).abs() < 0.1, "0x003: {ratio:.2} times the baseline");
}

#[test]
fn atc_07_the_co_runner_misses_most_where_devices_allocate() {
    let platform = platform();
    let in_ddio_ways = misses(&platform, 2, 0x600).co_runner;
    for mask in [APART[0], APART[1], APART[2], 0x003, IO_MASK, 0x300] {
        let elsewhere = misses(&platform, 2, mask).co_runner;
        assert!(in_ddio_ways > elsewhere, "{mask:#x}: {elsewhere}, 0x600: {in_ddio_ways}");
    }
    let apart = mean(APART.into_iter().map(|mask| misses(&platform, 2, mask).co_runner));
    let without_ddio =
        misses(&platform, 0, 0x600).co_runner / misses(&platform, 0, 0x018).co_runner;
    assert!(in_ddio_ways / apart > 1.01, "{}", in_ddio_ways / apart);
    assert!((without_ddio - 1.0).abs() < 0.005, "{without_ddio}");
}
