//! Does a pool that is chosen by slice and set keep to its limit, and is what it hands out memory of its
//! pages?

use crate::emulated::pages;
use slices::SliceMap;
use slices::memory::{MappedPage, SpreadError, SpreadPool, SpreadRequest};
use slices::published;
use slices::recovery::HugePageSize;
use std::collections::BTreeSet;

const SETS: u32 = 2048;
const LINES: u64 = 32;
/// The pool of the promise: 4,096 buffers of 2 KiB.
const POOL: SpreadRequest =
    SpreadRequest { buffers: 4096, buffer_bytes: 2048, sets_per_slice: SETS };
/// Pages of 2 MiB: four times the memory of the pool.
const PAGES: usize = 16;

fn map(name: &str) -> SliceMap {
    published::named(name).expect("is listed").map()
}

/// Pages anywhere in 32 GiB; virtual order is not physical order.
fn mapped(count: usize, seed: u64) -> Vec<MappedPage> {
    let pages = pages(count, HugePageSize::TwoMiB, 35, seed);
    let start = |index: usize| 0x7000_0000_0000 + index as u64 * 0x20_0000;
    let mapped = |(index, &page)| MappedPage { virtual_start: start(index), page };
    pages.iter().enumerate().map(mapped).collect()
}

/// Lines of buffers in the fullest (slice, set), counted from physical addresses.
fn most_lines(map: &SliceMap, pages: &[MappedPage], buffers: &[u64]) -> u32 {
    let mut counts = vec![0; map.slices() as usize * SETS as usize];
    for buffer in buffers {
        let page = &pages[((buffer - 0x7000_0000_0000) >> 21) as usize];
        let physical = page.page.start + (buffer - page.virtual_start);
        for line in 0..LINES {
            let address = physical + line * 64;
            let slice = map.slice_of(address).expect("is covered").0;
            counts[usize::from(slice) * SETS as usize + (address >> 6) as usize % SETS as usize] +=
                1;
        }
    }
    counts.into_iter().max().expect("there are sets")
}

/// ceil(mean) + 1, by hand.
fn limit(map: &SliceMap) -> u32 {
    let mean = 4096.0 * 32.0 / (f64::from(map.slices()) * f64::from(SETS));
    mean.ceil() as u32 + 1
}

/// The pool of the first pages that allow one: those that are too alike are refused, and more are added.
fn pool(map: &SliceMap, seed: u64) -> (SpreadPool, Vec<MappedPage>) {
    for count in [PAGES, 2 * PAGES, 4 * PAGES] {
        let pages = mapped(count, seed);
        match SpreadPool::choose(map, &pages, POOL) {
            Ok(pool) => return (pool, pages),
            Err(SpreadError::Alike { found, most }) => assert!(found > most),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("no choice among {} pages, seed {seed}", 4 * PAGES);
}

#[test]
fn no_slice_and_set_gets_more_lines_than_the_mean_rounded_up_and_one() {
    let (mut in_order, mut grown) = (Vec::new(), 0);
    for (name, pools) in [("skx-18", soak::amount(12, 200)), ("skx-22", 4), ("skx-28", 4)] {
        let map = map(name);
        for seed in 0..pools {
            let (pool, pages) = pool(&map, seed);
            let most = most_lines(&map, &pages, pool.buffers());
            assert_eq!(most, pool.most_lines_of_a_set(), "{name}, seed {seed}");
            assert!(most <= limit(&map), "{name}, seed {seed}: {most}");
            grown += usize::from(pages.len() > PAGES);
            let first: Vec<u64> = (0..4096).map(|n| 0x7000_0000_0000 + n * 2048).collect();
            in_order.push((most_lines(&map, &pages, &first), limit(&map)));
        }
    }
    let uneven = in_order.iter().filter(|(most, limit)| most > limit).count();
    let (pools, fullest) = (in_order.len(), in_order.iter().max());
    println!(
        "{pools} pools, {grown} of them from more pages; in order {uneven} exceed: {fullest:?}"
    );
    assert!(uneven > pools / 2, "without a choice most pools exceed the limit: {in_order:?}");
}

#[test]
fn buffers_are_distinct_aligned_in_the_pages_and_even_in_every_stretch() {
    let map = map("skx-18");
    let (pool, pages) = pool(&map, 3);
    let distinct: BTreeSet<u64> = pool.buffers().iter().copied().collect();
    assert_eq!((pool.buffers().len(), distinct.len()), (4096, 4096));
    let inside = |buffer: &u64| {
        pages
            .iter()
            .any(|page| (page.virtual_start..page.virtual_start + (2 << 20)).contains(buffer))
    };
    assert!(distinct.iter().all(|buffer| buffer % 2048 == 0 && inside(buffer)));
    // 64 colours in turn: 64 buffers put one line on each set index.
    let indices: BTreeSet<u64> = pool.buffers()[..64].iter().map(|it| it / 2048 % 64).collect();
    assert_eq!(indices.len(), 64);
    assert_eq!(SpreadPool::choose(&map, &pages, POOL), Ok(pool), "the same pages, the same pool");
}

/// Buffers with their mbufs before them: every second place of 2 KiB, other ones in each other 128 KiB.
#[test]
fn buffers_apart_from_each_other_are_chosen_by_their_numbers() {
    let map = map("skx-18");
    let pages = mapped(2 * PAGES, 5);
    let physical: Vec<u64> = (0..2 * PAGES as u64 * 512)
        .map(|slot| {
            let (page, offset) = (&pages[(slot / 512) as usize], slot % 512 * 4096);
            page.page.start + offset + (offset >> 17 & 1) * 2048
        })
        .collect();
    let pool = SpreadPool::choose_among(&map, &physical, POOL).expect("there is a choice");
    let mut counts = vec![0; map.slices() as usize * SETS as usize];
    let distinct: BTreeSet<u64> = pool.buffers().iter().copied().collect();
    assert_eq!(distinct.len(), 4096);
    for number in distinct {
        for line in 0..LINES {
            let address = physical[number as usize] + line * 64;
            let slice = usize::from(map.slice_of(address).expect("is covered").0);
            counts[slice * SETS as usize + (address >> 6) as usize % SETS as usize] += 1;
        }
    }
    let most = counts.into_iter().max().expect("there are sets");
    assert!(most <= limit(&map) && most == pool.most_lines_of_a_set(), "{most}");
    let refused = SpreadPool::choose_among(&map, &[64], SpreadRequest { buffers: 1, ..POOL });
    assert_eq!(refused, Err(SpreadError::Unaligned { address: 64, bytes: 2048 }));
}

#[test]
fn what_cannot_be_spread_is_refused_with_what_is_allowed() {
    let map = map("skx-18");
    let pages = mapped(2, 1);
    let refused = |request: SpreadRequest| {
        SpreadPool::choose(&map, &pages, request).expect_err("is refused").to_string()
    };
    for bytes in [0, 32, 3000, 1 << 18] {
        let text = refused(SpreadRequest { buffer_bytes: bytes, ..POOL });
        assert!(text.contains("a power of two is allowed, from 64 to 131072 bytes"), "{text}");
    }
    let text = refused(SpreadRequest { sets_per_slice: 2000, ..POOL });
    assert!(text.contains("2000 sets"), "{text}");
    let text = refused(POOL);
    assert!(text.contains("hold 2048 buffers, and 4096 are wanted"), "{text}");
}

#[test]
fn pages_without_a_choice_are_taken_only_if_they_are_even() {
    let map = map("skx-18");
    let mut refused = 0;
    for seed in 0..8 {
        let pages = mapped(2, seed);
        let all: Vec<u64> = (0..2048).map(|n| 0x7000_0000_0000 + n * 2048).collect();
        let fullest = most_lines(&map, &pages, &all);
        // 2,048 buffers: 1.8 lines for each set, so that 3 are allowed.
        match SpreadPool::choose(&map, &pages, SpreadRequest { buffers: 2048, ..POOL }) {
            Ok(pool) => assert_eq!((pool.most_lines_of_a_set(), fullest <= 3), (fullest, true)),
            Err(error) => {
                assert_eq!(error, SpreadError::Alike { found: fullest, most: 3 });
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}
