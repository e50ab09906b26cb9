//! Distances between cores and slices of the platform files, against what was measured, and what
//! they do and do not change.

use model::mesh::Topology;
use scenario::platform::Platform;
use scenario::result::{Numbers, RunResult};
use scenario::{Job, RecordingRequest, Scenario, builtin};
use std::ops::ControlFlow;
use units::{Gigahertz, SliceId};

/// Median read latency in core cycles at 3.2 GHz, core 0 to each slice. EuroSys'19, public plots
/// (github aliireza/slice-aware), decoded to +-0.5 cycle. These chose the platform's parameters.
const HASWELL: [[f64; 8]; 1] = [[32.0, 47.0, 32.0, 44.0, 32.0, 44.0, 35.0, 41.0]];
/// The same for cores 0 to 2 of the Gold 6134.
const SKYLAKE: [[f64; 18]; 3] = [
    [
        41.5, 49.4, 43.5, 49.4, 49.4, 53.3, 49.4, 59.3, 63.2, 57.3, 63.2, 69.1, 65.2, 65.2, 67.2,
        73.1, 73.1, 73.1,
    ],
    [
        47.4, 45.4, 45.4, 45.4, 43.5, 45.4, 55.3, 47.4, 53.3, 57.3, 55.3, 57.3, 69.1, 65.2, 63.2,
        67.2, 67.2, 67.2,
    ],
    [
        61.2, 53.3, 59.3, 57.3, 53.3, 49.4, 51.3, 47.4, 41.5, 59.3, 53.3, 47.4, 63.2, 63.2, 57.3,
        53.3, 65.2, 57.3,
    ],
];
/// The nearest slice of each core of the Gold 6134 in the lists of github aliireza/slice-aware,
/// which give two for core 6.
const NEAREST: [&[u16]; 8] = [&[0], &[4], &[8], &[12], &[10], &[14], &[3, 13], &[15]];

fn platform(name: &str) -> Platform {
    builtin::platform("tests", name).expect("is built in")
}

fn topology(name: &str) -> Topology {
    platform(name).topology(name).expect("is valid")
}

/// The largest difference from the medians, in core cycles.
fn worst<const SLICES: usize>(name: &str, medians: &[[f64; SLICES]]) -> f64 {
    let facts = platform(name);
    let core_clock = Gigahertz(facts.cpu.core_ghz.value);
    let uncore_clock = Gigahertz(facts.cpu.uncore_ghz.value);
    let topology = topology(name);
    let mut worst: f64 = 0.0;
    for (core, medians) in (0..).zip(medians) {
        for (slice, median) in (0..).map(SliceId).zip(medians) {
            let latency = topology.latency(core, slice).in_core_cycles(core_clock, uncore_clock);
            worst = worst.max((latency.0 - median).abs());
        }
    }
    worst
}

#[test]
fn slice_02_the_haswell_ring_meets_every_median_within_a_cycle_and_a_half() {
    let worst = worst("haswell-e5-2667v3", &HASWELL);
    assert!(worst <= 1.5, "{worst}");
}

#[test]
fn slice_03_the_skylake_mesh_meets_every_median_within_two_cycles() {
    let worst = worst("skylake-gold-6134", &SKYLAKE);
    // The fit is a minimax fit: it uses the tolerance up, to the last digit of the parameters.
    assert!(worst <= 2.0 + 1e-9, "{worst}");
}

#[test]
fn slice_12_each_core_of_the_mesh_has_nearest_slices() {
    let topology = topology("skylake-gold-6134");
    for (core, published) in (0..).zip(NEAREST) {
        let nearest = topology.nearest_slices(core);
        assert_eq!(nearest.len(), 18);
        assert!(published.contains(&nearest[0].0), "core {core}: {nearest:?}");
        let latency = |slice| topology.latency(core, slice).uncore.0;
        assert!(nearest.windows(2).all(|pair| latency(pair[0]) <= latency(pair[1]) + 1e-3));
    }
}

fn hit_rates(platform: Platform) -> [f64; 2] {
    const SCENARIO: &str = "experiments/ddio-bench/l2fwd.toml";
    let settings = [("rx_descriptors", "2048"), ("run.batch_packets", "4000")];
    let overrides = settings.map(|(key, value)| (key.to_string(), value.to_string()));
    let text = builtin::read(SCENARIO).expect("is built in");
    let scenario = Scenario::read(SCENARIO, &text, &overrides).expect("is valid");
    let job = Job::new(SCENARIO, scenario, platform, "variant", 1).expect("is valid");
    let result = job.run(RecordingRequest::default(), |_| ControlFlow::Continue(())).expect("runs");
    ["pcie_write_hit_rate", "pcie_read_hit_rate"].map(|name| one(&result, name))
}

fn one(result: &RunResult, name: &str) -> f64 {
    match result.metrics[name].value {
        Numbers::One(value) => value,
        Numbers::Parts(_) => panic!("{name} is one number"),
    }
}

/// Distances change when things happen, not where devices' lines go.
#[test]
fn slice_12_distances_do_not_affect_ddio() {
    let with_mesh = hit_rates(platform("skylake-gold-6134"));
    let mut flat = platform("skylake-gold-6134");
    flat.mesh = None;
    for (with_mesh, without) in with_mesh.into_iter().zip(hit_rates(flat)) {
        assert!((with_mesh - without).abs() < 1.0, "{with_mesh} and {without} %");
        assert!(with_mesh < 99.0, "a ring that misses at times: {with_mesh} %");
    }
}
