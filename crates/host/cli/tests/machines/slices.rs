//! Does the tool find out which slice a line is in, does it say so if not, and is nothing left behind?

use std::fs;
use std::path::PathBuf;

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use slices::{Coverage, SliceMap, TableFile};

use crate::on_machine::{OnMachine, Run, screen};

pub const INTEL: [&str; 5] = ["haswell", "skylake", "cascade-lake", "ice-lake", "sapphire-rapids"];

/// A machine, and a directory for tables outside of it.
pub struct Mapped {
    pub machine: OnMachine,
    pub out: tempfile::TempDir,
}

impl Mapped {
    pub fn new(machine: &str, failures: &[&str]) -> Self {
        let machine = OnMachine::new(machine, failures);
        Self { machine, out: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn table(&self) -> PathBuf {
        self.out.path().join("slices.toml")
    }

    /// Learns the function, also where one is published.
    pub fn map(&self, arguments: &[&str]) -> Run {
        self.slices(&[&["map", "--recover"], arguments].concat())
    }

    /// Runs `slices ACTION`, with this directory's table.
    pub fn slices(&self, arguments: &[&str]) -> Run {
        let table = self.table().display().to_string();
        let option = if arguments[0] == "map" { "--out" } else { "--table" };
        let (action, rest) = arguments.split_first().expect("an action");
        let run = self.machine.run(&[&["slices", action, option, &table], rest].concat());
        let folder = self.out.path().display().to_string();
        Run { out: run.out.replace(&folder, "OUT"), err: run.err.replace(&folder, "OUT"), ..run }
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let run = self.map(&[arguments, &["--format", "json"]].concat());
        serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("no JSON: {}{}", run.out, run.err))
    }

    /// A function that is published for the machine, or another one, in place of its own.
    pub fn follows(&self, file: &TableFile) {
        fs::write(self.machine.path().join("slices.toml"), file.write()).expect("a file");
    }

    pub fn found(&self) -> TableFile {
        read(&self.table())
    }

    /// The function that the machine follows.
    pub fn described(&self) -> SliceMap {
        map(&read(&self.machine.path().join("slices.toml")))
    }

    /// Changes a file of the machine.
    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let path = self.machine.path().join(path);
        let text = fs::read_to_string(&path).expect("a file of the machine");
        assert!(text.contains(from), "{} has no {from}", path.display());
        fs::write(&path, text.replace(from, to)).expect("a file of the machine");
    }

    pub fn noise(&self, wrong: f64, unclear: f64) {
        self.edit("registers.toml", "wrong_share = 0.05", &format!("wrong_share = {wrong:?}"));
        self.edit(
            "registers.toml",
            "unclear_share = 0.02",
            &format!("unclear_share = {unclear:?}"),
        );
    }
}

pub fn read(path: &std::path::Path) -> TableFile {
    let text = fs::read_to_string(path).expect("a table");
    TableFile::read(&text).expect("a table")
}

pub fn map(file: &TableFile) -> SliceMap {
    SliceMap::new(file).expect("a slice function")
}

/// Addresses below the table's limit.
pub fn addresses(file: &TableFile, count: usize) -> impl Iterator<Item = u64> {
    let limit = 2u64 << file.table.valid_bits.1;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    (0..count).map(move |_| random.next_u64() % limit)
}

#[test]
fn the_function_of_every_machine_is_found_at_5_percent_noise_without_a_mismatch() {
    for name in INTEL {
        let machine = Mapped::new(name, &[]);
        let report = machine.json(&[]);
        assert_eq!(report["verdict"], "established", "{name}: {report}");
        let evidence = &report["table"]["evidence"];
        let share = evidence["contradicting_share"].as_f64().expect("a share");
        assert!((0.04..0.06).contains(&share), "{name}: {share}");
        assert!(evidence["unclear_answers"].as_u64() > Some(1000), "{name}: {evidence}");
        let (file, described) = (machine.found(), machine.described());
        assert!(matches!(file.coverage, Coverage::Below(_)), "{name}: {:?}", file.coverage);
        let found = map(&file);
        let wrong = addresses(&file, 1_000_000)
            .filter(|&address| found.slice_of(address) != described.slice_of(address))
            .count();
        assert_eq!(wrong, 0, "{name}");
    }
}

#[test]
fn the_verdict_is_told_with_its_evidence() {
    let screens = ["haswell", "skylake"].map(|name| {
        let run = Mapped::new(name, &[]).map(&[]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        screen(name, &run.out)
    });
    insta::assert_snapshot!(screens.join("\n\n"), @r#"
    == haswell ==
    Slices of Intel(R) Xeon(R) CPU E5-2667 v3 @ 3.20GHz, socket 0
      asked       8 slices, counted through perf, accessed by processor 0
      function    XOR masks 0x1b5f575440, 0x2eb5faa880, 0x3cccc93100
      holds for   all physical addresses below 256 GiB
      evidence    183339 questions, 3500 of them without a clear answer; 5.1 % of the answers contradict
                  the table, 12.3 % were allowed for; 32768 fresh addresses compared, at most 0.11 % of
                  all contradict it; 64 pages, 46 of them as the others predicted; a table is wrong with
                  a probability of 1e-6
      table       OUT/slices.toml
    Established.

    == skylake ==
    Slices of Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz, socket 0
      asked       18 slices, counted through perf, accessed by processor 0
      function    base sequence of 4096 lines, rearranged by 12 masks
      holds for   all physical addresses below 128 GiB
      evidence    277478 questions, 5376 of them without a clear answer; 5.2 % of the answers contradict
                  the table, 15.2 % were allowed for; 32768 fresh addresses compared, at most 0.11 % of
                  all contradict it; 64 pages, 47 of them as the others predicted; a table is wrong with
                  a probability of 1e-6
      table       OUT/slices.toml
    Established.
    "#);
}

#[test]
fn few_pages_say_for_which_addresses_the_table_holds() {
    let machine = Mapped::new("skylake", &[]);
    let report = machine.json(&["--pages", "3"]);
    assert_eq!(report["table"]["covers_all"], false, "{report}");
    let (file, described) = (machine.found(), machine.described());
    let found = map(&file);
    let covered: Vec<u64> =
        addresses(&file, 4_000_000).filter(|&address| found.slice_of(address).is_ok()).collect();
    assert!(!covered.is_empty() && covered.len() < 4000, "{}", covered.len());
    assert!(covered.iter().all(|&address| found.slice_of(address) == described.slice_of(address)));
}

#[test]
fn pages_above_2_tib_are_left_out_and_that_is_told() {
    let machine = Mapped::new("skylake", &[]);
    machine.edit("registers.toml", "memory_bits = 37", "memory_bits = 42");
    let report = machine.json(&[]);
    assert_eq!(report["verdict"], "established", "{report}");
    let pages = report["pages"].as_u64().expect("a number");
    assert!((16..48).contains(&pages), "about half of 64: {pages}");
    let note = format!("{} of 64 huge pages are left out: they are not below 2 TiB", 64 - pages);
    assert!(report["notes"][0].as_str().is_some_and(|told| told.starts_with(&note)), "{report}");
    let (file, described) = (machine.found(), machine.described());
    assert!(file.table.source.contains(&note), "{}", file.table.source);
    let found = map(&file);
    let both =
        |&address: &u64| found.slice_of(address).is_ok() && described.slice_of(address).is_ok();
    let known: Vec<u64> = addresses(&file, 1_000_000).filter(both).collect();
    assert!(known.len() > 1000, "{}", known.len());
    assert!(known.iter().all(|&address| found.slice_of(address) == described.slice_of(address)));
}

#[test]
fn pages_above_2_tib_alone_are_no_memory_to_ask_about() {
    let machine = Mapped::new("skylake", &[]);
    machine.edit("registers.toml", "memory_bits = 37", "memory_bits = 46");
    let run = machine.map(&["--pages", "1"]);
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.err.contains("none of 1 huge pages is below 2 TiB"), "{}", run.err);
    assert!(!machine.table().exists());
}

#[test]
fn at_any_noise_the_table_is_right_or_there_is_none() {
    let mut verdicts = Vec::new();
    for wrong in [0.0, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7, 0.9, 1.0] {
        let machine = Mapped::new("haswell", &[]);
        machine.noise(wrong, 0.05);
        let run = machine.map(&[]);
        let established = run.code == Some(0);
        if established {
            let (file, described) = (machine.found(), machine.described());
            let found = map(&file);
            assert!(
                addresses(&file, 100_000).all(|at| found.slice_of(at) == described.slice_of(at)),
                "{wrong}"
            );
        } else {
            assert_eq!(run.code, Some(1), "{wrong}: {}", run.err);
            assert!(run.out.contains("Not enough evidence"), "{wrong}: {}", run.out);
            assert!(!machine.table().exists(), "{wrong}");
        }
        verdicts.push(established);
    }
    assert_eq!(verdicts[..4], [true; 4], "up to a quarter of wrong answers are outvoted");
    assert_eq!(verdicts[5..], [false; 6], "above a third nothing is accepted");
}

#[test]
fn a_budget_that_is_too_small_is_told_with_what_was_being_done() {
    let run = Mapped::new("skylake", &[]).map(&["--budget", "20000"]);
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("all 20000 questions of the budget were asked while"), "{}", run.out);
}

#[test]
fn what_is_missing_is_told_with_what_helps() {
    let hugepages = "sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages";
    let virtual_machine = ("proc/cpuinfo", "flags\t\t: fpu", "flags\t\t: hypervisor fpu");
    let hidden = ("registers.toml", "pagemap = \"ok\"", "pagemap = \"eperm\"");
    let (no_pages, few_pages) = ((hugepages, "1000", "0"), (hugepages, "512", "0"));
    type Edit<'a> = Option<(&'a str, &'a str, &'a str)>;
    let cases: [(&str, &[&str], Edit<'_>, i32, &str); 9] = [
        ("skylake", &["not-root"], None, 3, "remedy: run as root, or grant CAP_PERFMON"),
        ("skylake", &["no-uncore-driver", "msr-module-absent"], None, 1, "modprobe msr"),
        ("skylake", &["no-uncore-driver", "not-root"], None, 3, "run as root"),
        ("skylake", &["no-uncore-driver", "msr-refused"], None, 3, "or hypervisor refuse it"),
        (
            "skylake",
            &["no-uncore-driver", "msr-refused"],
            Some(virtual_machine),
            3,
            "run it on the host",
        ),
        ("skylake", &[], Some(no_pages), 1, "memory of node 1, and slice numbers belong"),
        ("haswell", &[], Some(few_pages), 1, "echo 64 > /proc/sys/vm/nr_hugepages"),
        ("skylake", &[], Some(hidden), 3, "grant CAP_SYS_ADMIN"),
        ("turin", &[], None, 3, "AMD publishes no counter that distinguishes the slices of Turin"),
    ];
    for (name, failures, edit, code, expected) in cases {
        let machine = Mapped::new(name, failures);
        if let Some((path, from, to)) = edit {
            machine.edit(path, from, to);
        }
        let before = machine.machine.content();
        let run = machine.map(&["--oracle", "counters", "--apply"]);
        assert_eq!(run.code, Some(code), "{failures:?}: {}", run.out);
        assert!(run.err.contains(expected), "{failures:?}: {}", run.err);
        assert!(machine.machine.content() == before && !machine.table().exists(), "{failures:?}");
    }
}

#[test]
fn a_table_that_cannot_be_written_is_named_as_the_user_did() {
    // No file can be made there, by root either.
    let run = OnMachine::new("skylake", &[]).run(&["slices", "map", "--out", "/proc/table.toml"]);
    assert_eq!(run.code, Some(2), "{}", run.out);
    assert!(
        run.err.starts_with("error: --out /proc/table.toml: cannot be written:"),
        "{}",
        run.err
    );
    assert_eq!(run.err.matches("/proc").count(), 1, "{}", run.err);
}

#[test]
fn an_unknown_cpu_is_named_with_what_is_missing() {
    let machine = Mapped::new("skylake", &[]);
    machine.edit("proc/cpuinfo", "model\t\t: 85", "model\t\t: 158");
    let run = machine.map(&["--oracle", "counters"]);
    assert_eq!(run.code, Some(3));
    assert!(run.err.contains("GenuineIntel family 0x6 model 0x9e stepping 4"), "{}", run.err);
    let run = machine.map(&[]);
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("give it with --slices"), "{}", run.out);
}

#[test]
fn bad_wishes_name_what_is_allowed() {
    let machine = Mapped::new("skylake", &[]);
    for (arguments, expected) in [
        (["--cpu", "99"], "processor not found; online are 0-35"),
        (["--budget", "5"], "allowed: a whole number from 10000 to"),
        (["--pages", "0"], "allowed: a whole number from 1 to 4096"),
        (["--out", "/nowhere/slices.toml"], "not a file in a directory that exists"),
    ] {
        let run = machine.machine.run(&[&["slices", "map"], arguments.as_slice()].concat());
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.err);
        assert!(run.err.contains(expected), "{arguments:?}: {}", run.err);
    }
    let run = machine.map(&["--pages", "2000"]);
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("only 1000 huge pages are available"), "{}", run.err);
}
