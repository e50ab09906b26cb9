//! How fast the simulator is: line operations per second of whole scenarios, on one core.
//!
//! A line operation is one line of one agent's request (docs/reference/glossary.md). Each benchmark of
//! packets runs a fixed number of them on a warm machine, so that criterion's throughput is line operations;
//! those of copy engines state descriptors.

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

/// Copies of one core and one copy engine.
const COPIES: [(&str, &[(&str, &str)]); 2] = [
    ("copies of 256 B", &[("offload.transfer_bytes", "256")]),
    (
        "copies of 256 B in batches of 32",
        &[("offload.transfer_bytes", "256"), ("offload.batch", "32")],
    ),
];

/// The unit of criterion's throughput.
enum ThroughputUnit {
    LineOperations,
    Descriptors,
}

fn of_packets(criterion: &mut Criterion) {
    let of = ("experiments/ddio-bench/l2fwd.toml", &SCENARIOS[..]);
    whole_scenarios(criterion, "line_ops", &ThroughputUnit::LineOperations, of);
}

fn of_descriptors(criterion: &mut Criterion) {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../benches/copies.toml");
    whole_scenarios(criterion, "descriptors", &ThroughputUnit::Descriptors, (file, &COPIES[..]));
}

type Overrides = &'static [(&'static str, &'static str)];

fn whole_scenarios(
    criterion: &mut Criterion,
    name: &str,
    stated: &ThroughputUnit,
    (file, scenarios): (&str, &[(&str, Overrides)]),
) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    for (name, overrides) in scenarios {
        let owned: Vec<(String, String)> =
            overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let job = job(file, &owned, 1).expect("is valid");
        let mut machine = job.machine(NoTrace);
        machine.run(PACKETS, Picos::NEVER);
        let before = machine.fabric.counters().line_ops;
        machine.run(2 * PACKETS, Picos::NEVER);
        group.throughput(Throughput::Elements(match stated {
            ThroughputUnit::LineOperations => machine.fabric.counters().line_ops - before,
            ThroughputUnit::Descriptors => PACKETS,
        }));
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                let until = machine.progress() + PACKETS;
                machine.run(until, Picos::NEVER)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, of_packets, of_descriptors);
criterion_main!(benches);
