//! How fast sets of tags are looked up: one level of 16 ways, reads, with each kind of instructions,
//! for sets in recency order and for fixed ways with a separate order.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tag_array::{EvictionOrder, Kernel, Places, RecencySets, Request};
use units::narrow::fit;

const REQUESTS: usize = 4096;
const WAYS: u32 = 16;

/// splitmix64, so that hits and misses come in random order.
fn random(seed: u64) -> impl Iterator<Item = u64> {
    (1u64..).map(move |i| {
        let mixed = seed.wrapping_add(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    })
}

/// Sets that hold every requested line, or a third of them.
fn kernels(criterion: &mut Criterion) {
    for (sets, times) in [(1024, 1), (1024, 3), (32768, 1), (32768, 3)] {
        let capacity = sets * WAYS;
        let mut group =
            criterion.benchmark_group(format!("{sets} sets x {WAYS}, {times} x as many lines"));
        group.throughput(Throughput::Elements(REQUESTS as u64));
        let lines: Vec<u32> = random(42)
            .take(64 * REQUESTS)
            .map(|number| fit(number % u64::from(times * capacity)))
            .collect();
        for kernel in Kernel::available() {
            reads(&mut group, kernel, sets, &lines);
        }
        stores(&mut group, Kernel::available()[0], sets, &lines);
        group.finish();
    }
}

type Group<'a> = criterion::BenchmarkGroup<'a, criterion::measurement::WallTime>;

fn reads(group: &mut Group<'_>, kernel: Kernel, sets: u32, lines: &[u32]) {
    let mut level = RecencySets::with_kernel(sets, WAYS, EvictionOrder::LeastRecentlyUsed, kernel);
    let mut missed = Vec::new();
    let mut blocks = lines.chunks_exact(REQUESTS).cycle();
    group.bench_function(BenchmarkId::new("reads", format!("{kernel:?}")), |bencher| {
        bencher.iter(|| {
            missed.clear();
            level.read(blocks.next().unwrap_or_default(), Places::LowBits, &mut missed);
            black_box(missed.len())
        });
    });
}

/// A third of them stores.
fn stores(group: &mut Group<'_>, kernel: Kernel, sets: u32, lines: &[u32]) {
    let mut level = RecencySets::with_kernel(sets, WAYS, EvictionOrder::LeastRecentlyUsed, kernel);
    let mut below = Vec::new();
    let request = |(i, &line)| Request::reference(line, true, i % 3 == 0, i % 3 == 0);
    let requests: Vec<Request> = lines.iter().enumerate().map(request).collect();
    let mut blocks = requests.chunks_exact(REQUESTS).cycle();
    group.bench_function(BenchmarkId::new("reads and stores", format!("{kernel:?}")), |bencher| {
        bencher.iter(|| {
            below.clear();
            level.serve(blocks.next().unwrap_or_default(), Places::LowBits, &mut below);
            black_box(below.len())
        });
    });
}

criterion_group!(benches, kernels);
criterion_main!(benches);
