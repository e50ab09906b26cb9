//! How fast the simulator is: line operations per second of whole scenarios, on one core.
//!
//! A line operation is one line of one agent's request (docs/glossary.md). Each benchmark runs a
//! fixed number of packets or copies of a warm machine, so that criterion's throughput is line operations.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use model::tracer::NoTrace;
use scenario::job;
use std::time::Duration;
use units::Picos;

/// A scenario: its name, file, work per measured run, keys.
type Run = (&'static str, &'static str, u64, &'static [(&'static str, &'static str)]);

const PACKETS: u64 = 20_000;
const FORWARDER: &str = "experiments/ddio-bench/l2fwd.toml";
const COPIES: &str = "examples/offload-copy.toml";

const SCENARIOS: [Run; 6] = [
    ("defaults: 1500 B x 4096 descriptors", FORWARDER, PACKETS, &[]),
    ("fits two ways: 1500 B x 256 descriptors", FORWARDER, PACKETS, &[("rx_descriptors", "256")]),
    (
        "small packets: 60 B x 1024 descriptors",
        FORWARDER,
        PACKETS,
        &[("packet_bytes", "60"), ("rx_descriptors", "1024")],
    ),
    (
        "eight cores: 1500 B x 256 descriptors",
        FORWARDER,
        PACKETS,
        &[("cores", "8"), ("rx_descriptors", "256")],
    ),
    (
        "copy engine: 64 KiB in memory, depth 8",
        COPIES,
        500,
        &[("offload.transfer_bytes", "65536"), ("offload.depth", "8")],
    ),
    (
        "copy engine: 256 B in the LLC, depth 32",
        COPIES,
        PACKETS,
        &[("offload.transfer_bytes", "256"), ("offload.depth", "32"), ("offload.data", "\"core\"")],
    ),
];

fn whole_scenarios(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("line_ops");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    for (name, file, work, overrides) in SCENARIOS {
        let owned: Vec<(String, String)> =
            overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let job = job(file, &owned, 1).expect("is valid");
        let mut machine = job.machine(NoTrace);
        machine.run(work, Picos::NEVER);
        let before = machine.fabric.counters().line_ops;
        machine.run(2 * work, Picos::NEVER);
        group.throughput(Throughput::Elements(machine.fabric.counters().line_ops - before));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let until = machine.progress() + work;
                machine.run(until, Picos::NEVER)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, whole_scenarios);
criterion_main!(benches);
