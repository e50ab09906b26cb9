//! Time of a look-up in a slice table: one address at a time, and many at once. Addresses are
//! random lines, as a caller's are; the target is 2 ns for one, coverage check included.

mod interleaved;

use interleaved::{Subject, report};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slices::{SliceMap, TableFile};
use std::fmt::Write;
use std::hint::black_box;
use units::SliceId;

/// Addresses that are looked up in turn: few enough to stay in L1.
const ADDRESSES: usize = 1024;

/// A table for 18 slices with 4096 lines, as large parts have; `covers` is added to the file.
fn map(covers: &str) -> SliceMap {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut text = String::from("part = 'p'\nsource = 's'\nslices = 18\nvalid_bits = [6, 36]\n");
    let mut numbers = |key: &str, count: u32, number: &mut dyn FnMut(u64) -> u64| {
        let list: Vec<String> = (0..count).map(|_| number(random.next_u64()).to_string()).collect();
        writeln!(text, "{key} = [{}]", list.join(", ")).expect("strings take all text");
    };
    numbers("perm_masks", 12, &mut |draw| (draw % (1 << 19)) << 18);
    numbers("base", 4096, &mut |draw| draw % 18);
    text.push_str(covers);
    SliceMap::new(&TableFile::read(&text).expect("the table is valid")).expect("it is valid")
}

fn main() {
    let span: Vec<String> = (6..30).map(|bit| (1u64 << bit).to_string()).collect();
    let one_page = format!("[covers]\norigin = 0x140000000\nspan = [{}]\n", span.join(", "));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let addresses: Vec<u64> =
        (0..ADDRESSES).map(|_| 0x1_4000_0000 | (random.next_u64() % (1 << 30))).collect();
    let (all, page) = (map(""), map(&one_page));
    let one = |map: &SliceMap| {
        let slice = |&address: &u64| map.slice_of(black_box(address)).expect("is covered").0;
        black_box(addresses.iter().map(slice).fold(0, u16::wrapping_add));
    };
    let many = |map: &SliceMap, slices: &mut [SliceId]| {
        map.slices_of(black_box(&addresses), slices).expect("is covered");
        black_box(slices);
    };
    let (mut room, mut other) = (vec![SliceId(0); ADDRESSES], vec![SliceId(0); ADDRESSES]);
    let subjects: Vec<Subject<'_>> = vec![
        ("one at a time, all covered", Box::new(|| one(&all))),
        ("one at a time, one page covered", Box::new(|| one(&page))),
        ("batch, all covered", Box::new(|| many(&all, &mut room))),
        ("batch, one page covered", Box::new(|| many(&page, &mut other))),
    ];
    report("address", ADDRESSES, subjects);
}
