//! How fast the simulator is: line operations per second of whole scenarios, on one core.
//!
//! A line operation is one line of one agent's request (docs/glossary.md). Each benchmark runs a
//! fixed number of packets of a warm machine, so that criterion's throughput is line operations.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use model::tracer::NoTrace;
use scenario::job;
use std::time::Duration;
use units::Picos;

/// Packets per measured run.
const PACKETS: u64 = 20_000;

const SCENARIOS: [(&str, &[(&str, &str)]); 4] = [
    ("defaults: 1500 B x 4096 descriptors", &[]),
    ("fits two ways: 1500 B x 256 descriptors", &[("rx_descriptors", "256")]),
    (
        "small packets: 60 B x 1024 descriptors",
        &[("packet_bytes", "60"), ("rx_descriptors", "1024")],
    ),
    ("eight cores: 1500 B x 256 descriptors", &[("cores", "8"), ("rx_descriptors", "256")]),
];

fn whole_scenarios(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("line_ops");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    for (name, overrides) in SCENARIOS {
        let owned: Vec<(String, String)> =
            overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let job = job("experiments/ddio-bench/l2fwd.toml", &owned, 1).expect("is valid");
        let mut machine = job.machine(NoTrace);
        machine.run(PACKETS, Picos::NEVER);
        let before = machine.fabric.counters().line_ops;
        machine.run(2 * PACKETS, Picos::NEVER);
        group.throughput(Throughput::Elements(machine.fabric.counters().line_ops - before));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let until = machine.progress() + PACKETS;
                machine.run(until, Picos::NEVER)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, whole_scenarios);
criterion_main!(benches);
