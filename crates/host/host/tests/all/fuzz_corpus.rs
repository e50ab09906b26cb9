//! Does everything that the fuzzer has found worth keeping still pass, and does it reach all that reads?

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::machines::machine;
use crate::readers::{TARGETS, tree};

#[test]
fn the_kept_corpus_is_read_without_a_fault() {
    for (target, read) in TARGETS {
        fuzz_corpus::replay(target, 30, read);
    }
}

/// The kind of a file: its path without numbers and without the names of boxes, functions and groups.
fn kind(path: &str) -> String {
    let plain: String = path.chars().filter(|c| !c.is_ascii_digit()).collect();
    let last = plain.rsplit('/').next().unwrap_or_default();
    for folder in ["sys/bus/event_source/", "sys/bus/pci/", "sys/bus/dsa/", "sys/fs/resctrl/"] {
        if plain.starts_with(folder) && !plain.contains("/info/") {
            let is_format = plain.contains("/format/");
            return format!("{folder}{}", if is_format { "format" } else { last });
        }
    }
    plain
}

/// Files of a machine's tree, links followed once.
fn files(folder: &Path, below: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let at = if below.is_empty() { name } else { format!("{below}/{name}") };
        if path.is_dir() && !at.starts_with("sys/devices/pci") {
            files(&path, &at, found);
        } else if path.is_file() {
            found.insert(at);
        }
    }
}

/// Files that are not read; of those below a folder only the names are.
const LISTED: [&str; 5] = [
    "sys/bus/pci/operstate",
    "sys/bus/pci/state",
    "sys/fs/resctrl/.keep",
    "sys/class/iommu/",
    "sys/devices/system/node/node/cpu/",
];

#[test]
fn each_file_that_is_fuzzed_has_a_place_on_some_machine() {
    assert_eq!(tree::without_a_place(), Vec::<&str>::new());
}

#[test]
fn every_kind_of_file_of_a_machine_is_among_those_that_are_fuzzed() {
    let fuzzed: BTreeSet<String> = tree::VICTIMS.iter().map(|path| kind(path)).collect();
    for name in fake_machines::machines().expect("the library") {
        let directory = machine(&name);
        let mut found = BTreeSet::new();
        files(directory.path(), "", &mut found);
        for path in found {
            let kind = kind(&path);
            let is_listed = LISTED.iter().any(|listed| kind.starts_with(listed));
            assert!(is_listed || fuzzed.contains(&kind), "{name}: {path} is not fuzzed");
        }
    }
}
