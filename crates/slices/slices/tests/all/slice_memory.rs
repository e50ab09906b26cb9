//! Does memory in chosen slices hold what its owners were promised?

use crate::emulated::table;
use address_map::SliceFunction;
use proptest::prelude::*;
use slices::memory::{
    AllocationError, ClaimError, HugePages, LINKED_BYTES, PhysicalAddressError, PhysicalAddresses,
    PlacementError, ProcPagemap, SliceMemory, SliceOwner,
};
use slices::recovery::HugePageSize;
use slices::{Coverage, SliceMap, TableFile};
use std::collections::BTreeMap;
use units::{LINE_BYTES, LineAddr, SliceId};

const SLICES: u32 = 18;
pub const PAGE_BYTES: u64 = 2 << 20;

pub fn function() -> SliceFunction {
    SliceFunction::base_sequence(&table(SLICES, 9, 34, 1)).expect("is valid")
}

pub fn map(limit: u64) -> SliceMap {
    let coverage = Coverage::Below(limit);
    let file = TableFile { table: table(SLICES, 9, 34, 1), coverage, evidence: None };
    SliceMap::new(&file).expect("is valid")
}

/// Physical addresses of pages as no kernel would choose them: the later, the lower.
pub struct Emulated {
    pub start: u64,
}

/// Where the first page is.
const FIRST_PAGE: u64 = 0x2_4000_0000;

impl Emulated {
    pub fn translate(&self, virtual_address: u64) -> u64 {
        let offset = virtual_address - self.start;
        FIRST_PAGE - offset / PAGE_BYTES * (3 * PAGE_BYTES) + offset % PAGE_BYTES
    }
}

impl PhysicalAddresses for Emulated {
    fn physical_address(&self, virtual_address: u64) -> Result<u64, PhysicalAddressError> {
        Ok(self.translate(virtual_address))
    }
}

fn memory(pages: usize) -> (SliceMemory, Emulated) {
    let pages = HugePages::plain(pages << 21, HugePageSize::TwoMiB).expect("there is memory");
    let addresses = Emulated { start: pages.start() };
    (SliceMemory::from_pages(&map(1 << 34), pages, &addresses).expect("is covered"), addresses)
}

/// Two owners of disjoint slices, and what each has: address to size.
struct Owners {
    owners: [(SliceOwner, [SliceId; 2]); 2],
    live: BTreeMap<u64, (usize, u64)>,
    function: SliceFunction,
}

impl Owners {
    fn new(memory: &mut SliceMemory) -> Self {
        let sets = [[SliceId(3), SliceId(17)], [SliceId(0), SliceId(9)]];
        let owners = sets.map(|set| (memory.claim(&set).expect("is free"), set));
        Self { owners, live: BTreeMap::new(), function: function() }
    }

    /// Notes an object after checking address, slice and overlap.
    fn note(&mut self, memory: &SliceMemory, physical: &Emulated, who: usize, object: (u64, u64)) {
        let (address, bytes) = object;
        let line = LineAddr::of_byte(physical.translate(address));
        let SliceFunction::BaseSequence(sequence) = &self.function else { unreachable!() };
        let slice = SliceId(sequence.slice(line) as u16);
        assert!(self.owners[who].1.contains(&slice), "{address:#x} is in {slice:?}");
        assert_eq!(memory.slice_of(address), Some(slice));
        assert_eq!(address / LINE_BYTES, (address + bytes - 1) / LINE_BYTES, "crosses lines");
        assert!(address.is_multiple_of(bytes.next_power_of_two().clamp(8, LINE_BYTES)));
        let before = self.live.range(..address + bytes).next_back();
        assert!(before.is_none_or(|(start, (_, bytes))| start + bytes <= address), "overlap");
        self.live.insert(address, (who, bytes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 8, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// 8 x 150,000 objects: more than a million.
    #[test]
    fn objects_never_overlap_are_in_their_owners_slices_and_memory_is_used_again(
        seed in any::<u64>(),
    ) {
        let (mut memory, physical) = memory(2);
        let mut owners = Owners::new(&mut memory);
        let mut state = seed;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        let (mut made, mut refused) = (0, 0);
        while made < 150_000 {
            let (who, bytes) = (draw() as usize % 2, 1 + draw() % 64);
            match memory.allocate(owners.owners[who].0, bytes) {
                Ok(address) => owners.note(&memory, &physical, who, (address, bytes)),
                Err(AllocationError::Exhausted { .. }) => refused += 1,
                Err(error) => prop_assert!(false, "{}", error),
            }
            made += 1;
            // A full memory is emptied by half, from a random object on.
            let (full, from) = (owners.live.len() > 12_000, physical.start + draw() % (2 * PAGE_BYTES));
            let gone: Vec<u64> = match full {
                true => owners.live.range(from..).map(|(&address, _)| address).collect(),
                false => Vec::new(),
            };
            for address in gone {
                owners.live.remove(&address);
                prop_assert_eq!(memory.free(address), Ok(()));
                prop_assert!(memory.free(address).is_err(), "twice");
            }
        }
        let statistics = memory.statistics();
        prop_assert_eq!(statistics.objects, owners.live.len() as u64);
        prop_assert!(statistics.used_lines * LINE_BYTES >= owners.live.values().map(|o| o.1).sum());
        for &address in owners.live.keys() {
            prop_assert_eq!(memory.free(address), Ok(()));
        }
        let empty = memory.statistics();
        prop_assert_eq!((empty.used_lines, empty.objects), (0, 0));
        prop_assert_eq!(empty.unused_bytes_of_used_lines, 0);
        // Each owner can have all lines of its slices once more.
        for (owner, _) in owners.owners {
            let lines = memory.allocate_scattered(owner, u64::from(u32::MAX));
            let Err(AllocationError::Exhausted { free, .. }) = lines else { panic!("is too much") };
            let all = memory.allocate_scattered(owner, free as u64 * LINE_BYTES);
            prop_assert_eq!(all.map(|lines| lines.len()), Ok(free));
        }
        prop_assert_eq!(memory.statistics().used_lines, empty.claimed_lines);
        prop_assert!(refused < made);
    }
}

#[test]
fn sizes_that_are_rounded_up_and_links_are_counted_as_waste() {
    let (mut memory, _) = memory(1);
    let owner = memory.claim(&[SliceId(4)]).expect("is free");
    let mut asked_for = 0;
    let mut objects = Vec::new();
    for bytes in 0..=LINE_BYTES {
        objects.push(memory.allocate(owner, bytes).expect("room"));
        asked_for += bytes;
    }
    for bytes in [0, 1, 64, 1500] {
        objects.extend(memory.allocate_scattered(owner, bytes).expect("room"));
        asked_for += bytes;
    }
    let linked = [0, 1, 56, 1500].map(|bytes| {
        asked_for += bytes;
        memory.allocate_linked(owner, bytes).expect("room")
    });
    let statistics = memory.statistics();
    let wasted = statistics.used_lines * LINE_BYTES - asked_for;
    assert_eq!(statistics.unused_bytes_of_used_lines, wasted);
    linked.iter().for_each(|&first| memory.free_linked(first).expect("is handed out"));
    objects.iter().for_each(|&object| memory.free(object).expect("is handed out"));
    let empty = memory.statistics();
    assert_eq!((empty.used_lines, empty.objects, empty.unused_bytes_of_used_lines), (0, 0, 0));
}

#[test]
fn small_objects_share_lines_and_the_rest_of_a_line_is_counted_as_waste() {
    let (mut memory, _) = memory(1);
    let owner = memory.claim(&[SliceId(4)]).expect("is free");
    let objects: Vec<u64> = (0..9).map(|_| memory.allocate(owner, 7).expect("room")).collect();
    let lines: Vec<u64> = objects.iter().map(|address| address / LINE_BYTES).collect();
    assert!(lines[..8].iter().all(|&line| line == lines[0]) && lines[8] != lines[0]);
    let statistics = memory.statistics();
    assert_eq!((statistics.used_lines, statistics.objects), (2, 9));
    assert_eq!(statistics.unused_bytes_of_used_lines, 2 * LINE_BYTES - 9 * 7);
    let share = 1.0 - statistics.unclaimed_share();
    assert!((share * 18.0 - 1.0).abs() < 0.2, "{share}");
    assert_eq!(statistics.list_bytes.div_ceil(statistics.lines), 18);
    // The first line has room again, and is used before a new one.
    memory.free(objects[3]).expect("is handed out");
    assert_eq!(memory.allocate(owner, 8), Ok(objects[3]));
}

#[test]
fn objects_larger_than_a_line_are_refused_and_told_what_to_take() {
    let (mut memory, _) = memory(1);
    let owner = memory.claim(&[SliceId(4)]).expect("is free");
    let error = memory.allocate(owner, 65).expect_err("is too large");
    assert_eq!(error, AllocationError::TooLarge(65));
    assert!(error.to_string().contains("take a scattered or linked buffer"), "{error}");
}

#[test]
fn owners_have_disjoint_slices_and_a_released_one_has_none() {
    let (mut memory, _) = memory(1);
    let first = memory.claim(&[SliceId(1), SliceId(2)]).expect("is free");
    let taken = Err(ClaimError::Taken { slice: 2, owner: first.0 });
    assert_eq!(memory.claim(&[SliceId(0), SliceId(2)]), taken);
    assert_eq!(memory.claim(&[]), Err(ClaimError::Nothing));
    let none = Err(ClaimError::NoSlice { slice: 18, slices: 18 });
    assert_eq!(memory.claim(&[SliceId(18)]), none);
    let object = memory.allocate(first, 64).expect("there is room");
    assert_eq!(memory.release(first), Err(ClaimError::InUse(1)));
    memory.free(object).expect("is handed out");
    assert_eq!(memory.release(first), Ok(()));
    assert_eq!(memory.release(first), Err(ClaimError::NoOwner));
    assert_eq!(memory.allocate(first, 8), Err(AllocationError::NoOwner));
    let second = memory.claim(&[SliceId(2)]).expect("is free again");
    assert_ne!(second, first);
}

#[test]
fn a_linked_buffer_is_a_chain_in_the_owners_slices_and_broken_chains_are_noticed() {
    let (mut memory, _) = memory(1);
    let owner = memory.claim(&[SliceId(5)]).expect("is free");
    let first = memory.allocate_linked(owner, 10 * LINKED_BYTES + 1).expect("there is room");
    let lines = memory.linked_lines(first).expect("is whole");
    assert_eq!(lines.len(), 11);
    assert!(lines.iter().all(|&line| memory.slice_of(line) == Some(SliceId(5))));
    // The chain leads into another owner's line, to nowhere, and in a circle.
    let other = memory.claim(&[SliceId(6)]).expect("is free");
    let theirs = memory.allocate(other, 64).expect("there is room");
    for broken in [theirs, 0x1234, first] {
        let link = memory.bytes_mut(lines[4], 8).expect("is handed out");
        link.copy_from_slice(&broken.to_ne_bytes());
        assert!(memory.free_linked(first).is_err(), "{broken:#x}");
        assert_eq!(memory.statistics().used_lines, 12);
    }
    let link = memory.bytes_mut(lines[4], 8).expect("is handed out");
    link.copy_from_slice(&lines[5].to_ne_bytes());
    assert_eq!(memory.free_linked(first), Ok(()));
    assert_eq!(memory.statistics().used_lines, 1);
}

#[test]
fn what_is_not_handed_out_has_no_slice_no_bytes_and_cannot_be_freed() {
    let (mut memory, _) = memory(1);
    let owner = memory.claim(&[SliceId(5)]).expect("is free");
    let object = memory.allocate(owner, 16).expect("there is room");
    for address in [0, object - 1, object + 1, object + 16, object + PAGE_BYTES, u64::MAX] {
        assert_eq!(memory.free(address), Err(AllocationError::NotAllocated(address)));
        assert_eq!(memory.bytes(address, 1), None);
    }
    assert_eq!(memory.bytes(object, 17), None);
    assert_eq!(memory.bytes(object, 16), Some(&[0; 16][..]));
}

#[test]
fn memory_that_the_table_does_not_cover_is_refused_and_never_plain() {
    let pages = HugePages::plain(1 << 21, HugePageSize::TwoMiB).expect("there is memory");
    let addresses = Emulated { start: pages.start() };
    let error =
        SliceMemory::from_pages(&map(1 << 30), pages, &addresses).expect_err("is not covered");
    assert!(matches!(error, PlacementError::NotCovered(_)), "{error}");
}

#[test]
fn plain_memory_says_why_and_checks_claims_all_the_same() {
    let mut memory =
        SliceMemory::plain(&map(1 << 34), 1, HugePageSize::TwoMiB, "for a test").expect("memory");
    assert_eq!(memory.plain_reason(), Some("for a test"));
    let owner = memory.claim(&[SliceId(1)]).expect("is free");
    assert!(memory.claim(&[SliceId(1)]).is_err());
    let object = memory.allocate(owner, 64).expect("there is room");
    assert_eq!(memory.slice_of(object), None);
    assert_eq!(memory.statistics().unclaimed_share(), 0.0);
    assert!(memory.verify().is_ok(), "there is nothing to verify");
    let lines = memory.allocate_scattered(owner, PAGE_BYTES - LINE_BYTES).expect("all of it");
    assert_eq!(lines.len(), 32_767);
}

#[test]
fn more_huge_pages_than_the_machine_has_are_refused_or_replaced_and_the_message_says_how_to_get_them()
 {
    // 256 GiB in pages of 1 GiB.
    let error =
        SliceMemory::new(&map(1 << 34), 1 << 38, HugePageSize::OneGiB).expect_err("too many");
    let text = error.to_string();
    assert!(text.contains("256 huge pages of 1048576 KiB wanted"), "{text}");
    assert!(text.contains("nr_hugepages"), "{text}");
}

/// On a machine with a free huge page and the right to see its address; elsewhere the fallback.
#[test]
fn real_pages_are_placed_by_their_real_addresses_or_the_fallback_says_why_not() {
    let map = map(1 << 35);
    let mut memory =
        SliceMemory::new_or_plain(&map, 1, HugePageSize::TwoMiB).expect("there is memory");
    let owner = memory.claim(&[SliceId(7)]).expect("is free");
    let objects: Vec<u64> = (0..1000).map(|_| memory.allocate(owner, 64).expect("room")).collect();
    if let Some(reason) = memory.plain_reason() {
        assert!(
            reason.contains("huge pages")
                || reason.contains("/proc/self/pagemap")
                || reason.contains("hides physical addresses"),
            "{reason}"
        );
        return;
    }
    memory.verify().expect("nothing has moved");
    let pagemap = ProcPagemap::open("/proc/self/pagemap".as_ref()).expect("was opened before");
    for object in objects {
        let address = pagemap.physical_address(object).expect("is mapped");
        assert_eq!(map.slice_of(address), Ok(SliceId(7)));
    }
}
