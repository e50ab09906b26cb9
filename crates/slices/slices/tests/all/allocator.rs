//! Does the allocator hand out each line once, in the right slice?

use crate::emulated::{Counters, Noise, pages, table};
use address_map::SliceFunction;
use proptest::prelude::*;
use slices::memory::{
    AllocatedLine, AllocationError, LineAllocator, MappedPage, PhysicalAddressError,
    PhysicalAddresses, PlacementError, VirtualPage,
};
use slices::recovery::HugePageSize;
use slices::{Coverage, SliceMap, TableFile};
use std::collections::BTreeSet;
use units::SliceId;

const SLICES: u32 = 18;

fn machine(count: usize, limit: u64, seed: u64) -> (SliceMap, Vec<MappedPage>, Counters) {
    let table = table(SLICES, 9, 34, 1);
    let function = SliceFunction::base_sequence(&table).expect("is valid");
    let file = TableFile { table, coverage: Coverage::Below(limit), evidence: None };
    let pages = pages(count, HugePageSize::TwoMiB, 34, seed);
    let counters = Counters::new(&function, SLICES, &pages, Noise::Spread(0.0));
    let mapped = pages.iter().enumerate().map(|(index, &page)| {
        // Virtual order is not physical order, and there are holes.
        MappedPage { virtual_start: 0x7000_0000_0000 + (index as u64 * 3) * 0x20_0000, page }
    });
    (SliceMap::new(&file).expect("is valid"), mapped.collect(), counters)
}

/// The physical address of a line, from what was mapped.
fn physical(line: AllocatedLine, pages: &[MappedPage]) -> u64 {
    let within = |page: &&MappedPage| line.virtual_address >> 21 == page.virtual_start >> 21;
    let page = pages.iter().find(within).expect("the line is in a page");
    page.page.start + line.virtual_address - page.virtual_start
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 16, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// 16 x 40,000 steps: more than a million lines, five for each buffer.
    #[test]
    fn lines_never_overlap_are_in_the_right_slice_and_are_used_again(
        seed in any::<u64>(),
        count in 1..4usize,
    ) {
        let (map, pages, counters) = machine(count, 1 << 34, seed);
        let mut allocator = LineAllocator::new(&map, &pages).expect("is covered");
        let total = allocator.statistics().total;
        let mut live: Vec<AllocatedLine> = Vec::new();
        let mut addresses = BTreeSet::new();
        let mut state = seed;
        for _ in 0..40_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let draw = state >> 33;
            if draw % 8 < 3 && !live.is_empty() {
                for _ in 0..6.min(live.len()) {
                    let line = live.swap_remove(draw as usize % live.len());
                    prop_assert!(addresses.remove(&line.virtual_address));
                    prop_assert_eq!(allocator.free(line), Ok(()));
                    let again = Err(AllocationError::NotAllocated(line.virtual_address));
                    prop_assert_eq!(allocator.free(line), again);
                }
                continue;
            }
            let first = (draw >> 3) as u16 % SLICES as u16;
            let wanted = [SliceId(first), SliceId((first + 5) % SLICES as u16)];
            let before = allocator.statistics();
            match allocator.allocate_scattered(1 + draw % 512, &wanted) {
                Ok(lines) => {
                    for line in lines {
                        prop_assert!(addresses.insert(line.virtual_address), "handed out twice");
                        let slice = counters.slice(physical(line, &pages));
                        prop_assert_eq!(line.slice, Some(slice));
                        prop_assert!(wanted.contains(&slice));
                        live.push(line);
                    }
                }
                Err(AllocationError::Exhausted { wanted: lines, free }) => {
                    prop_assert!(lines > free);
                    prop_assert_eq!(allocator.statistics(), before);
                }
                Err(error) => prop_assert!(false, "{}", error),
            }
        }
        prop_assert_eq!(allocator.statistics().allocated, live.len() as u64);
        for line in live {
            prop_assert_eq!(allocator.free(line), Ok(()));
        }
        // Everything can be handed out once more, and no more.
        let all: Vec<SliceId> = (0..SLICES as u16).map(SliceId).collect();
        prop_assert_eq!(allocator.allocate_scattered(total * 64, &all).map(|l| l.len() as u64), Ok(total));
        prop_assert!(allocator.allocate(&all).is_err());
    }
}

#[test]
fn one_slice_of_eighteen_wastes_the_other_seventeen() {
    let (map, pages, _) = machine(2, 1 << 34, 1);
    let allocator = LineAllocator::new(&map, &pages).expect("is covered");
    let statistics = allocator.statistics();
    let one = statistics.wasted_share(allocator.lines_of_slices(), &[SliceId(0)]);
    // Slice 0 has more than a fair share, by up to 0.31 / 2 of it.
    assert!((1.0 - one) * 18.0 > 1.0 && (1.0 - one) * 18.0 < 1.16, "{one}");
    let all: Vec<SliceId> = (0..18).map(SliceId).collect();
    assert_eq!(statistics.wasted_share(allocator.lines_of_slices(), &all), 0.0);
}

#[test]
fn isolation_sets_have_no_line_and_no_slice_in_common() {
    let (map, pages, counters) = machine(1, 1 << 34, 2);
    let mut allocator = LineAllocator::new(&map, &pages).expect("is covered");
    let (ours, theirs) = ([SliceId(0), SliceId(1)], [SliceId(2), SliceId(17)]);
    for (set, bytes) in [(ours, 64_000), (theirs, 64_000)] {
        let lines = allocator.allocate_scattered(bytes, &set).expect("there is room");
        assert_eq!(lines.len(), 1000);
        assert!(lines.iter().all(|&line| set.contains(&counters.slice(physical(line, &pages)))));
    }
}

#[test]
fn a_page_that_the_table_does_not_cover_is_refused() {
    let (map, mut pages, _) = machine(1, 1 << 30, 3);
    pages[0].page.start = 1 << 30;
    let error = LineAllocator::new(&map, &pages).expect_err("is not covered");
    assert!(error.to_string().contains("does not cover physical address"), "{error}");
}

#[test]
fn a_slice_that_is_not_there_is_refused() {
    let (map, pages, _) = machine(1, 1 << 34, 4);
    let mut allocator = LineAllocator::new(&map, &pages).expect("is covered");
    let error = AllocationError::NoSlice { slice: 18, slices: 18 };
    assert_eq!(allocator.allocate(&[SliceId(18)]), Err(error));
}

/// Variants of a page map of a machine's pages.
enum Emulated {
    Shown(Vec<MappedPage>),
    Hidden,
    /// The upper half of each page is elsewhere: small pages.
    Torn(Vec<MappedPage>),
    NotPresent,
}

impl PhysicalAddresses for Emulated {
    fn physical_address(&self, virtual_address: u64) -> Result<u64, PhysicalAddressError> {
        let (pages, torn) = match self {
            Self::Shown(pages) => (pages, false),
            Self::Torn(pages) => (pages, true),
            Self::Hidden => return Err(PhysicalAddressError::Hidden),
            Self::NotPresent => return Err(PhysicalAddressError::NotPresent(virtual_address)),
        };
        let within = |page: &&MappedPage| virtual_address >> 21 == page.virtual_start >> 21;
        let page = pages.iter().find(within).expect("only the pages are asked about");
        let offset = virtual_address - page.virtual_start;
        Ok(page.page.start + if torn && offset >> 20 == 1 { offset ^ 1 << 12 } else { offset })
    }
}

fn placed(
    map: &SliceMap,
    pages: &[MappedPage],
    addresses: &Emulated,
) -> Result<LineAllocator, PlacementError> {
    let pages: Vec<VirtualPage> = pages.iter().map(MappedPage::virtual_page).collect();
    LineAllocator::slice_aware_or_plain(map, &pages, addresses)
}

#[test]
fn physical_addresses_place_lines_and_memory_that_is_no_huge_page_is_refused() {
    let (map, pages, counters) = machine(2, 1 << 34, 6);
    let mut allocator = placed(&map, &pages, &Emulated::Shown(pages.clone())).expect("is known");
    assert_eq!(allocator.plain_reason(), None);
    let line = allocator.allocate(&[SliceId(7)]).expect("there is room");
    assert_eq!(counters.slice(physical(line, &pages)), SliceId(7));
    let torn = placed(&map, &pages, &Emulated::Torn(pages.clone()));
    assert!(matches!(torn, Err(PlacementError::NotHuge(0x7000_0000_0000))));
    let absent = placed(&map, &pages, &Emulated::NotPresent);
    assert!(matches!(absent, Err(PlacementError::Unknown(PhysicalAddressError::NotPresent(_)))));
}

#[test]
fn without_physical_addresses_lines_come_from_anywhere_and_the_allocator_says_so() {
    let (map, pages, _) = machine(1, 1 << 34, 5);
    let mut allocator = placed(&map, &pages, &Emulated::Hidden).expect("falls back");
    let reason = allocator.plain_reason().expect("says so");
    assert!(reason.contains("hides physical addresses"), "{reason}");
    let lines = allocator.allocate_scattered(1 << 21, &[SliceId(3)]).expect("is all of it");
    let addresses: BTreeSet<u64> = lines.iter().map(|line| line.virtual_address).collect();
    assert_eq!(addresses.len(), 1 << 15);
    assert!(lines.iter().all(|line| line.slice.is_none()));
    assert!(allocator.allocate(&[]).is_err());
}
