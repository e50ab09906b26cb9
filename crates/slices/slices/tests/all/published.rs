//! Are the published tables slice functions with the shares that their parts have, and are they given
//! to the right CPUs?

use proptest::prelude::*;
use slices::published::{self, CpuIdentity};
use slices::{Coverage, SliceMap, TableFile};
use units::LINE_BYTES;

/// Name, lines of the sequence, lines of the slices with fewest and most, highest valid bit. A slice
/// gets 0.69 of a fair share of lines (22 slices) or more.
const KNOWN: [(&str, usize, u32, u32, u32); 12] = [
    ("skx-14", 16384, 1024, 1200, 37),
    ("skx-16", 16, 1, 1, 37),
    ("skx-18", 4096, 192, 232, 37),
    ("skx-20", 256, 12, 13, 37),
    ("skx-22", 16384, 512, 772, 37),
    ("skx-24", 512, 21, 22, 37),
    ("skx-26", 16384, 512, 644, 37),
    ("skx-28", 4096, 128, 150, 37),
    ("icx-28", 16384, 512, 600, 37),
    ("icx-40", 512, 12, 13, 37),
    ("spr-56", 16384, 256, 300, 36),
    ("spr-60", 16384, 256, 278, 37),
];

/// Lines of each slice in one repetition of the sequence, looked up at `start`.
fn counts(map: &SliceMap, start: u64, lines: usize) -> Vec<u32> {
    let mut counts = vec![0; map.slices() as usize];
    for line in 0..lines as u64 {
        let slice = map.slice_of(start + line * LINE_BYTES).expect("is covered");
        counts[usize::from(slice.0)] += 1;
    }
    counts
}

#[test]
fn every_table_reaches_all_its_slices_with_the_known_shares_wherever_memory_is() {
    let names: Vec<&str> = published::all().iter().map(|table| table.name).collect();
    assert_eq!(names, KNOWN.map(|known| known.0));
    for (name, lines, fewest, most, highest) in KNOWN {
        let known = published::named(name).expect("is listed");
        let file = known.file();
        assert_eq!((file.table.base.len(), file.table.slices), (lines, known.slices), "{name}");
        assert_eq!(file.coverage, Coverage::Below(2 << highest), "{name}");
        let map = SliceMap::new(&file).expect("is a slice function");
        let block = lines as u64 * LINE_BYTES;
        for start in [0, 5 * block, (1 << 36) + 77 * block, (2 << highest) - block] {
            let counts = counts(&map, start, lines);
            assert_eq!(counts.iter().min(), Some(&fewest), "{name} at {start:#x}");
            assert_eq!(counts.iter().max(), Some(&most), "{name} at {start:#x}");
        }
        let least = f64::from(fewest) * f64::from(known.slices) / lines as f64;
        let expected = if name == "skx-16" { 1.0..=1.0 } else { 0.6875..=0.985 };
        assert!(expected.contains(&least), "{name}: {least} of a fair share");
        assert!(map.slice_of(2 << highest).is_err(), "{name}: nothing is known beyond");
    }
}

#[test]
fn tables_name_their_source_and_its_licence() {
    for table in published::all() {
        let source = table.file().table.source;
        assert!(source.contains("TR-2021-03") && source.contains("BSD-3-Clause"), "{source}");
    }
}

#[test]
fn a_name_stands_in_the_place_of_a_path() {
    let from_path = |path: &str| published::from_path(path.as_ref());
    let known = from_path("published:icx-40").expect("is no file").expect("is known");
    assert_eq!(known.name, "icx-40");
    assert!(from_path("published:icx-41").expect("is no file").is_err());
    assert!(from_path("./published:icx-40").is_none() && from_path("icx-40").is_none());
}

fn cpu(model: u32, stepping: u32) -> CpuIdentity<'static> {
    CpuIdentity { vendor: "GenuineIntel", family: 6, model, stepping }
}

#[test]
fn a_cpu_is_known_by_model_stepping_and_slices() {
    let name = |cpu, slices| published::find_for_cpu(cpu, slices).map(|table| table.name);
    assert_eq!(name(cpu(0x55, 4), 18), Some("skx-18"));
    assert_eq!(name(cpu(0x55, 7), 28), Some("skx-28"));
    assert_eq!(name(cpu(0x6a, 6), 28), Some("icx-28"));
    assert_eq!(name(cpu(0x8f, 8), 60), Some("spr-60"));
    assert_eq!(name(cpu(0x55, 11), 28), None, "Cooper Lake");
    assert_eq!(name(cpu(0x55, 4), 17), None);
    assert_eq!(name(cpu(0xcf, 2), 60), None, "Emerald Rapids");
    assert_eq!(name(CpuIdentity { vendor: "AuthenticAMD", ..cpu(0x55, 4) }, 18), None);
    let unknown = published::named("skx-17").expect_err("does not exist").to_string();
    assert!(unknown.contains("\"skx-17\"") && unknown.contains("skx-16, skx-18"), "{unknown}");
}

proptest! {
    #[test]
    fn a_table_survives_its_file_and_answers_the_same(
        which in 0..KNOWN.len(),
        addresses in proptest::collection::vec(0..1u64 << 37, 64),
    ) {
        let file = published::all()[which].file();
        let again = TableFile::read(&file.write()).expect("is a table file");
        prop_assert_eq!(&again, &file);
        let [one, other] = [&file, &again].map(|file| SliceMap::new(file).expect("is valid"));
        for address in addresses {
            let slice = one.slice_of(address).expect("is covered");
            prop_assert!(u32::from(slice.0) < one.slices());
            prop_assert_eq!(other.slice_of(address), Ok(slice));
        }
    }
}
