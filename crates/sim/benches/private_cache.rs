//! One level of a core in two implementations: fixed ways with a separate order, as in the fabric's
//! caches, which serve single requests, and sets in recency order, which serve batches and single
//! requests.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use model::private_caches::{MesiState, PrivateCache, PrivateCacheConfig};
use model::replacement::Replacement;
use std::hint::black_box;
use tag_array::{EvictionOrder, Places, RecencySets};
use units::LineAddr;
use units::narrow::fit;

const SETS: u32 = 1024;
const WAYS: u32 = 16;
const LINES: usize = 8192;

/// splitmix64, so that hits and misses come in random order.
fn random(i: u64) -> u64 {
    let mixed = 42_u64.wrapping_add((i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

fn levels(criterion: &mut Criterion) {
    for (name, lines) in [("all hit", SETS * WAYS), ("two in three miss", 3 * SETS * WAYS)] {
        let trace: Vec<u32> =
            (0..64 * LINES as u64).map(|i| fit(random(i) % u64::from(lines))).collect();
        let mut group = criterion.benchmark_group(format!("{SETS} sets x {WAYS}, {name}"));
        group.throughput(Throughput::Elements(LINES as u64));
        let mut batches = trace.chunks_exact(LINES).cycle();
        let mut next = || batches.next().unwrap_or_default();

        let config = PrivateCacheConfig { sets: SETS, ways: WAYS, replacement: Replacement::Lru };
        let mut fixed = PrivateCache::new(config, 1);
        group.bench_function("fixed places", |bencher| {
            bencher.iter(|| next().iter().for_each(|&line| access(&mut fixed, line)));
        });
        let mut sets = RecencySets::new(SETS, WAYS, EvictionOrder::LeastRecentlyUsed);
        let mut missed = Vec::new();
        group.bench_function("recency order, batches", |bencher| {
            bencher.iter(|| {
                missed.clear();
                sets.read(next(), Places::LowBits, &mut missed);
            });
        });
        group.bench_function("recency order, one by one", |bencher| {
            bencher.iter(|| {
                missed.clear();
                for line in next().chunks(1) {
                    sets.read(line, Places::LowBits, &mut missed);
                }
            });
        });
        group.finish();
    }
}

fn access(cache: &mut PrivateCache, line: u32) {
    let line = LineAddr(u64::from(line));
    if cache.access(line, false).is_none() {
        black_box(cache.fill(line, MesiState::Exclusive));
    }
}

criterion_group!(benches, levels);
criterion_main!(benches);
