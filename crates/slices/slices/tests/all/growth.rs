//! Does a memory grow and shrink without losing what it promised, and is it on the node wanted?

use crate::slice_memory::{Emulated, PAGE_BYTES, function, map};
use address_map::SliceFunction;
use slices::memory::{
    AllocationError, HugePages, MemoryError, MemoryRequest, NodeError, PhysicalAddressError,
    PhysicalAddresses, PlacementError, SliceMemory, SliceOwner, online_nodes,
};
use slices::recovery::HugePageSize;
use std::collections::BTreeSet;
use std::io;
use units::{LINE_BYTES, LineAddr, SliceId};

fn growing(pages: usize, most: usize) -> (SliceMemory, Emulated) {
    let pages = HugePages::plain_on(pages << 21, most << 21, HugePageSize::TwoMiB, None);
    let pages = pages.expect("there is memory");
    let addresses = Emulated { start: pages.start() };
    (SliceMemory::from_pages(&map(1 << 34), pages, &addresses).expect("is covered"), addresses)
}

/// All lines that the owner can still get, each checked for its slice.
fn all_lines(
    memory: &mut SliceMemory,
    physical: &Emulated,
    owner: SliceOwner,
    slice: u16,
) -> BTreeSet<u64> {
    let SliceFunction::BaseSequence(sequence) = function() else { unreachable!() };
    let mut lines = BTreeSet::new();
    while let Some(line) = memory.take_line(owner) {
        assert_eq!(sequence.slice(LineAddr::of_byte(physical.translate(line))), u32::from(slice));
        assert_eq!(memory.slice_of(line), Some(SliceId(slice)));
        memory.bytes_mut(line, 64).expect("is handed out").fill(1);
        assert!(lines.insert(line), "handed out twice");
    }
    lines
}

#[test]
fn more_pages_bring_more_lines_of_the_same_slices_and_keep_what_is_handed_out() {
    let (mut memory, physical) = growing(1, 3);
    let owner = memory.claim(&[SliceId(4)]).expect("is free");
    let small = memory.allocate(owner, 8).expect("there is room");
    memory.bytes_mut(small, 8).expect("is handed out").fill(7);
    let first = all_lines(&mut memory, &physical, owner, 4);
    memory.grow_with(2 * PAGE_BYTES as usize, &physical).expect("there is room for two");
    let later = all_lines(&mut memory, &physical, owner, 4);
    assert!(first.is_disjoint(&later) && later.len() > first.len() * 3 / 2);
    assert_eq!(memory.statistics().lines, 3 << 15);
    assert_eq!(memory.statistics().used_lines as usize, 1 + first.len() + later.len());
    assert_eq!(memory.bytes(small, 8), Some(&[7; 8][..]));
    let full = memory.grow_with(1, &physical).expect_err("no room is left");
    assert!(matches!(full, MemoryError::Huge(_)), "{full}");
    assert!(matches!(memory.allocate(owner, 64), Err(AllocationError::Exhausted { .. })));
}

#[test]
fn more_lines_than_there_can_be_are_refused() {
    let (mut memory, _) = growing(1, 3);
    let owner = memory.claim(&[SliceId(4)]).expect("is free");
    for lines in [3 << 15, 1 << 40, 1 << 58, usize::MAX] {
        let refused = memory.allocate_many(owner, lines, |_, _| panic!("no line is given"));
        assert!(matches!(refused, Err(AllocationError::Exhausted { .. })), "{lines}: {refused:?}");
    }
}

#[test]
fn pages_without_a_used_line_are_given_back_and_come_again() {
    let (mut memory, physical) = growing(3, 3);
    let owner = memory.claim(&[SliceId(4)]).expect("is free");
    let lines = all_lines(&mut memory, &physical, owner, 4);
    assert_eq!(memory.give_back(0).ok(), Some(0), "all pages have lines in use");
    let in_middle = |line: &u64| (line - physical.start) / PAGE_BYTES == 1;
    let kept = *lines.iter().find(|line| in_middle(line)).expect("each page has some");
    for &line in lines.iter().filter(|&&line| line != kept) {
        memory.free(line).expect("is handed out");
    }
    assert_eq!(memory.give_back(2 * PAGE_BYTES as usize).ok(), Some(1), "two are to be kept");
    assert_eq!(memory.give_back(0).ok(), Some(1), "one has a line in use");
    assert_eq!(memory.statistics().lines, 1 << 15);
    assert_eq!(memory.bytes(kept, 64), Some(&[1; 64][..]));
    assert!(memory.free(*lines.first().expect("some")).is_err(), "was given back");
    let rest = all_lines(&mut memory, &physical, owner, 4);
    assert!(rest.iter().all(in_middle) && !rest.contains(&kept));
    memory.grow_with(2 * PAGE_BYTES as usize, &physical).expect("their address space is kept");
    let again = all_lines(&mut memory, &physical, owner, 4);
    assert_eq!(rest.len() + again.len() + 1, lines.len());
    assert_eq!(memory.statistics().lines, 3 << 15);
}

/// Memory from 16 GiB on.
struct Beyond;

impl PhysicalAddresses for Beyond {
    fn physical_address(&self, virtual_address: u64) -> Result<u64, PhysicalAddressError> {
        Ok((1 << 34) + virtual_address % PAGE_BYTES)
    }
}

#[test]
fn pages_that_the_table_does_not_cover_are_not_taken_in() {
    let pages = HugePages::plain_on(1 << 21, 2 << 21, HugePageSize::TwoMiB, None).expect("memory");
    let inside = Emulated { start: pages.start() };
    let mut memory = SliceMemory::from_pages(&map(1 << 34), pages, &inside).expect("is covered");
    for _ in 0..2 {
        let error = memory.grow_with(1, &Beyond).expect_err("is not covered");
        let uncovered = matches!(error, MemoryError::Placement(PlacementError::NotCovered(_)));
        assert!(uncovered, "{error}");
    }
    assert_eq!(memory.statistics().lines, 1 << 15);
    memory.grow_with(1, &inside).expect("the address space is still there");
}

#[test]
fn plain_memory_grows_by_itself_when_it_is_full() {
    let request = MemoryRequest {
        most_bytes: 4 << 21,
        plain_allowed: true,
        ..MemoryRequest::in_slices(1, HugePageSize::TwoMiB)
    };
    // Huge pages of the host may lie anywhere.
    let mut memory = SliceMemory::open(&map(1 << 46), &request).expect("there is memory");
    let all: Vec<SliceId> = (0..18).map(SliceId).collect();
    let owner = memory.claim(&all).expect("is free");
    let mut lines = 0;
    while memory.allocate(owner, 64).is_ok() {
        lines += 1;
    }
    assert!(lines >= 1 << 15 && lines % (1 << 15) == 0);
    assert!(memory.plain_reason().is_none() || lines == 4 << 15, "{lines}");
    assert_eq!(memory.statistics().used_lines, lines);
}

#[test]
fn memory_of_the_caller_is_placed_and_left_to_the_caller() {
    let mut own = vec![0u8; 3 << 21];
    let start = (own.as_mut_ptr() as u64).next_multiple_of(PAGE_BYTES);
    // SAFETY: `own` is used through the memory only, and outlives it.
    #[expect(unsafe_code, reason = "the caller vouches for memory that is handed over")]
    let pages = unsafe { HugePages::from_caller(start, 2 * PAGE_BYTES, HugePageSize::TwoMiB) };
    let physical = Emulated { start };
    let mut memory = SliceMemory::from_pages(&map(1 << 34), pages.expect("is aligned"), &physical)
        .expect("covered");
    let owner = memory.claim(&[SliceId(9)]).expect("is free");
    let lines = all_lines(&mut memory, &physical, owner, 9);
    assert!(lines.iter().all(|line| (start..start + 2 * PAGE_BYTES).contains(line)));
    for line in lines {
        memory.free(line).expect("is handed out");
    }
    assert_eq!(memory.give_back(0).ok(), Some(0));
    assert!(memory.grow_with(1, &physical).is_err());
    drop(memory);
    own.fill(2);
    for (start, bytes) in [(start + 64, PAGE_BYTES), (start, 64), (start, 0)] {
        // SAFETY: it is refused.
        #[expect(unsafe_code, reason = "as above")]
        let pages = unsafe { HugePages::from_caller(start, bytes, HugePageSize::TwoMiB) };
        assert!(pages.is_none(), "{start:#x} {bytes}");
    }
}

/// Pages on nodes, by their number.
struct OnNodes(Emulated, [u32; 2]);

impl PhysicalAddresses for OnNodes {
    fn physical_address(&self, virtual_address: u64) -> Result<u64, PhysicalAddressError> {
        self.0.physical_address(virtual_address)
    }

    fn node(&self, virtual_address: u64) -> io::Result<Option<u32>> {
        let page = (virtual_address - self.0.start) / PAGE_BYTES;
        Ok(Some(self.1[page as usize]))
    }
}

#[test]
fn pages_of_several_nodes_or_of_another_one_than_wanted_are_refused_with_a_sentence() {
    for (nodes, wanted, refused) in [
        ([0, 0], None, None),
        ([1, 1], Some(1), None),
        ([0, 1], None, Some((1, 0))),
        ([0, 0], Some(1), Some((0, 1))),
        ([1, 0], Some(1), Some((0, 1))),
    ] {
        let pages = HugePages::plain(2 << 21, HugePageSize::TwoMiB).expect("there is memory");
        let addresses = OnNodes(Emulated { start: pages.start() }, nodes);
        let placed = SliceMemory::from_pages_on_node(&map(1 << 34), pages, &addresses, wanted);
        let found = placed.map(drop).err().map(|error| {
            let text = error.to_string();
            assert!(text.contains("slice numbers belong to a socket"), "{text}");
            let PlacementError::Node(NodeError::OtherNode { node, wanted, .. }) = error else {
                panic!("{error}");
            };
            (node, wanted)
        });
        assert_eq!(found, refused, "{nodes:?} {wanted:?}");
    }
}

#[test]
fn a_memory_grows_on_the_node_that_it_began_on() {
    let pages = HugePages::plain_on(1 << 21, 2 << 21, HugePageSize::TwoMiB, None).expect("memory");
    let addresses = OnNodes(Emulated { start: pages.start() }, [1, 0]);
    let mut memory = SliceMemory::from_pages(&map(1 << 34), pages, &addresses).expect("one node");
    let error = memory.grow_with(1, &addresses).expect_err("the second page is elsewhere");
    assert!(error.to_string().contains("is on node 0, wanted: 1"), "{error}");
}

#[test]
fn a_node_that_is_not_there_is_refused_before_memory_is_taken() {
    if online_nodes("/".as_ref()).is_none() {
        return;
    }
    let request = MemoryRequest {
        node: Some(1000),
        plain_allowed: true,
        ..MemoryRequest::in_slices(1, HugePageSize::TwoMiB)
    };
    let error = SliceMemory::open(&map(1 << 34), &request).expect_err("no such node");
    assert!(error.to_string().starts_with("no node 1000; online: 0"), "{error}");
}

#[test]
fn the_kernels_list_of_nodes_has_ranges_and_single_ones() {
    let root = std::env::temp_dir().join(format!("nodes-{}", std::process::id()));
    let folder = root.join("sys/devices/system/node");
    std::fs::create_dir_all(&folder).expect("can be made");
    std::fs::write(folder.join("online"), "0-2,5\n").expect("can be written");
    let nodes = online_nodes(&root);
    std::fs::remove_dir_all(&root).expect("was made");
    assert_eq!(nodes, Some((vec![0, 1, 2, 5], "0-2,5".into())));
}

#[test]
fn the_kernel_puts_this_process_on_a_node_that_it_lists() {
    let request = MemoryRequest {
        node: online_nodes("/".as_ref()).map(|(nodes, _)| nodes[0]),
        plain_allowed: true,
        ..MemoryRequest::in_slices(1, HugePageSize::TwoMiB)
    };
    let mut memory = SliceMemory::open(&map(1 << 35), &request).expect("there is memory");
    memory.as_lines_mut()[0].fill(1);
    let pagemap = slices::memory::ProcPagemap::open("/proc/self/pagemap".as_ref()).expect("Linux");
    // Where the kernel lets a process ask.
    if let Ok(node) = pagemap.node(memory.start()) {
        assert_eq!(node, request.node);
    }
}

#[test]
fn objects_get_another_size_with_their_content_and_zeroed_ones_are_zero() {
    let (mut memory, physical) = growing(1, 1);
    let owner = memory.claim(&[SliceId(4)]).expect("is free");
    for line in all_lines(&mut memory, &physical, owner, 4) {
        memory.free(line).expect("is handed out");
    }
    let zeroed = memory.allocate_zeroed(owner, 64).expect("there is room");
    assert_eq!(memory.bytes(zeroed, 64), Some(&[0; 64][..]), "others have written there");
    memory.free(zeroed).expect("is handed out");
    let mut object = memory.allocate(owner, 1).expect("there is room");
    memory.bytes_mut(object, 1).expect("is handed out")[0] = 0x5A;
    for bytes in [3, 8, 9, 16, 33, 64, 60, 64, 20, 5, 64, 1] {
        object = memory.reallocate(owner, object, bytes).expect("there is room");
        assert_eq!(memory.bytes(object, 1), Some(&[0x5A][..]), "{bytes}");
        let now = memory.statistics();
        assert_eq!((now.objects, now.used_lines), (1, 1), "{bytes}");
        assert_eq!(now.unused_bytes_of_used_lines, LINE_BYTES - bytes, "{bytes}");
        assert_eq!(memory.owner_statistics(owner).expect("is one").objects, 1);
    }
    assert_eq!(memory.reallocate(owner, object, 65), Err(AllocationError::TooLarge(65)));
    let none = Err(AllocationError::NotAllocated(object + 1));
    assert_eq!(memory.reallocate(owner, object + 1, 8), none);
    assert_eq!(memory.statistics().objects, 1);
}
