//! How fast the parts of a machine are: bursts of a device, accesses of a core, whole replays.
//!
//! The machine is that of the l2fwd scenario, warm. Each benchmark works in a buffer of its own size, so
//! that what it measures is a hit or a miss most of the time, as its name says.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use model::fabric::Fabric;
use model::root_complex::ddio::DmaKind;
use model::tracer::NoTrace;
use scenario::job;
use std::hint::black_box;
use units::{CoreId, LINE_BYTES, LineAddr, Picos, RootPortId};

/// A full-size frame.
const BURST_BYTES: u64 = 1500;
/// Lines of a frame's buffer.
const BUFFER_LINES: u64 = 32;
/// Bursts or accesses per measured piece of work.
const STEPS: u64 = 1024;
/// Above what the scenario itself uses.
const FIRST_LINE: u64 = 1 << 31;

fn fabric() -> Fabric<NoTrace> {
    let job = job("experiments/ddio-bench/l2fwd.toml", &[], 1).expect("is valid");
    let mut machine = job.machine(NoTrace);
    machine.run(20_000, Picos::NEVER);
    machine.fabric
}

/// Buffers one after another, again and again, at line rate.
struct Bursts {
    buffers: u64,
    next: u64,
    now: Picos,
}

impl Bursts {
    fn new(buffers: u64) -> Self {
        Self { buffers, next: 0, now: Picos(1 << 50) }
    }

    fn step(&mut self) -> (LineAddr, Picos) {
        let first = LineAddr(FIRST_LINE + self.next % self.buffers * BUFFER_LINES);
        self.next += 1;
        // 1500 B at 100 Gbps.
        self.now += Picos(120_000);
        (first, self.now)
    }
}

fn bursts_of_a_device(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("DMA bursts of 1500 B");
    group.throughput(Throughput::Elements(STEPS * BURST_BYTES.div_ceil(LINE_BYTES)));
    for (name, buffers) in [("256 buffers", 256), ("16384 buffers", 16_384)] {
        let (mut fabric, mut bursts) = (fabric(), Bursts::new(buffers));
        group.bench_function(format!("write, {name}"), |bencher| {
            bencher.iter(|| {
                for _ in 0..STEPS {
                    let (first, now) = bursts.step();
                    black_box(fabric.dma_write(
                        RootPortId(0),
                        first,
                        BURST_BYTES,
                        DmaKind::Payload,
                        now,
                    ));
                }
            });
        });
        group.bench_function(format!("read, {name}"), |bencher| {
            bencher.iter(|| {
                for _ in 0..STEPS {
                    let (first, now) = bursts.step();
                    black_box(fabric.dma_read(RootPortId(0), first, BURST_BYTES, now));
                }
            });
        });
    }
    group.finish();
}

fn accesses_of_a_core(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("core loads");
    group.throughput(Throughput::Elements(STEPS));
    let sizes = [("L1", 256), ("L2", 8 << 10), ("LLC", 128 << 10), ("memory", 1 << 20)];
    for (name, lines) in sizes {
        let (mut fabric, mut next, mut now) = (fabric(), 0_u64, Picos(1 << 50));
        group.bench_function(format!("from {name}"), |bencher| {
            bencher.iter(|| {
                for _ in 0..STEPS {
                    // An odd step visits all lines and looks like no stream.
                    next = (next + 97) & (lines - 1);
                    now = fabric.core_read(CoreId(0), LineAddr(FIRST_LINE + next), now).done;
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bursts_of_a_device, accesses_of_a_core);
criterion_main!(benches);
