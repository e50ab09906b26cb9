//! Cost of a line in a chosen slice beside a line of a plain arena and of malloc: a batch of random
//! ones of the lines in use is given back, as many new ones are taken and written to.

mod interleaved;

use interleaved::{Subject, report};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slices::memory::{
    HugePages, LineAllocator, PhysicalAddressError, PhysicalAddresses, SliceMemory, SliceOwner,
    locate,
};
use slices::recovery::HugePageSize;
use slices::{SliceMap, TableFile};
use std::hint::black_box;
use units::SliceId;
use units::narrow::{fit, low_u8, usize_from};

/// Lines in use: of the second number the lists do not stay in the first cache.
const LIVE: [usize; 2] = [4096, 65_536];

/// Pairs of giving back and taking in a round.
const PAIRS: usize = 2000;

/// Memory of each subject.
const BYTES: usize = 64 << 20;

/// Physical addresses of an emulated machine: memory is where its virtual address says, from 0 on.
struct FromZero(u64);

impl PhysicalAddresses for FromZero {
    fn physical_address(&self, virtual_address: u64) -> Result<u64, PhysicalAddressError> {
        Ok(virtual_address - self.0)
    }
}

/// The allocator of a program without slices: a stack of free lines.
struct PlainArena {
    pages: HugePages,
    free: Vec<u32>,
}

impl PlainArena {
    fn new() -> Self {
        Self { pages: pages().0, free: (0..fit(BYTES / 64)).rev().collect() }
    }

    fn allocate(&mut self) -> u64 {
        self.pages.start() + u64::from(self.free.pop().expect("there is room")) * 64
    }

    fn free(&mut self, line: u64) {
        self.free.push(fit((line - self.pages.start()) / 64));
    }
}

#[repr(align(64))]
struct OwnLine([u8; 64]);

/// Eight slices by the published XOR masks, as a table.
fn map() -> SliceMap {
    let text = "part = 'p'\nsource = 's'\nslices = 8\nvalid_bits = [6, 37]\n\
                perm_masks = [0x1B5F575400, 0x2EB5FAA800, 0x3CCCC93000]\n\
                base = [0, 1, 2, 3, 4, 5, 6, 7]\n";
    SliceMap::new(&TableFile::read(text).expect("is valid")).expect("is valid")
}

fn pages() -> (HugePages, FromZero) {
    let mut pages = HugePages::map(BYTES, HugePageSize::TwoMiB).unwrap_or_else(|reason| {
        println!("transparent huge pages or none: {reason}");
        HugePages::plain(BYTES, HugePageSize::TwoMiB).expect("there is memory")
    });
    pages.bytes_mut().fill(0);
    let addresses = FromZero(pages.start());
    (pages, addresses)
}

/// Lines that are given back before new ones are taken.
const BATCH: usize = 32;

/// A round: each of `choices` in the lines in use is replaced, batch by batch.
fn replace<'a, S: 'a, T: 'a>(
    (choices, live): (&'a [usize], usize),
    mut state: S,
    take: impl Fn(&mut S) -> T + 'a,
    give_back: impl Fn(&mut S, T) + 'a,
) -> Box<dyn FnMut() + 'a> {
    let mut live: Vec<Option<T>> = (0..live).map(|_| Some(take(&mut state))).collect();
    Box::new(move || {
        for batch in choices.chunks(BATCH) {
            for &choice in batch {
                live[choice].take().into_iter().for_each(|old| give_back(&mut state, old));
            }
            for &choice in batch {
                // A line that was chosen twice is given back and taken once.
                if live[choice].is_none() {
                    live[choice] = Some(black_box(take(&mut state)));
                }
            }
        }
    })
}

/// Writes to a line, as its user would.
fn write(lines: &mut [u8], start: u64, line: u64) -> u64 {
    lines[usize_from(line - start)] = low_u8(line);
    line
}

/// A memory with an owner of these slices.
fn memory(slices: &[u16]) -> (SliceMemory, SliceOwner) {
    let (pages, addresses) = pages();
    let mut memory = SliceMemory::from_pages(&map(), pages, &addresses).expect("is covered");
    let slices: Vec<SliceId> = slices.iter().copied().map(SliceId).collect();
    let owner = memory.claim(&slices).expect("is free");
    (memory, owner)
}

fn main() {
    for live in LIVE {
        println!("{live} lines in use");
        compare(live);
    }
}

fn compare(live: usize) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let choices: Vec<usize> = (0..PAIRS).map(|_| usize_from(random.next_u64()) % live).collect();
    let lines_in_use = (&choices[..], live);
    let of = |slices: &[u16], bytes, written: bool| {
        let take = move |(memory, owner): &mut (SliceMemory, SliceOwner)| {
            let line = memory.allocate(*owner, bytes).expect("there is room");
            let start = memory.start();
            if written {
                write(memory.as_lines_mut().as_flattened_mut(), start, line)
            } else {
                line
            }
        };
        let give_back = |(memory, _): &mut (SliceMemory, SliceOwner), line| {
            memory.free(line).expect("is handed out");
        };
        replace(lines_in_use, memory(slices), take, give_back)
    };
    let plain = |written: bool| {
        let take = move |arena: &mut PlainArena| {
            let (line, start) = (arena.allocate(), arena.pages.start());
            if written { write(arena.pages.bytes_mut(), start, line) } else { line }
        };
        replace(lines_in_use, PlainArena::new(), take, PlainArena::free)
    };
    let (page_memory, addresses) = pages();
    let located =
        locate(&page_memory.pages().expect("there is memory"), &addresses).expect("is told");
    let lines = LineAllocator::new(&map(), &located).expect("is covered");
    let allocator = replace(
        lines_in_use,
        lines,
        |lines| lines.allocate(&[SliceId(3)]).expect("there is room"),
        |lines, line| lines.free(line).expect("is handed out"),
    );
    let own_line = |(): &mut ()| {
        let mut line = Box::new(OwnLine([0; 64]));
        line.0[0] = 1;
        line
    };
    let malloc = replace(lines_in_use, (), own_line, |(), line| drop(line));
    let subjects: Vec<Subject<'_>> = vec![
        ("plain arena", plain(true)),
        ("malloc, aligned", malloc),
        ("one slice of 8", of(&[3], 64, true)),
        ("three slices of 8", of(&[0, 2, 4], 64, true)),
        ("16 bytes in one slice of 8", of(&[3], 16, true)),
    ];
    println!("lines that are written to:");
    report("line", PAIRS, subjects);
    let subjects: Vec<Subject<'_>> = vec![
        ("plain arena", plain(false)),
        ("one slice of 8", of(&[3], 64, false)),
        ("three slices of 8", of(&[0, 2, 4], 64, false)),
        ("line allocator alone, one slice of 8", allocator),
    ];
    println!("the bookkeeping alone:");
    report("line", PAIRS, subjects);
}
