//! Are slices told apart and ordered by how far they are, and only if they differ?

use std::fs;

use serde_json::Value;

use crate::slices::{Mapped, addresses, map};

#[test]
fn timing_finds_the_function_up_to_the_names_of_slices() {
    let machine = Mapped::new("haswell", &[]);
    let report = machine.json(&["--oracle", "timing"]);
    assert_eq!(report["verdict"], "established", "{report}");
    let (file, described) = (machine.found(), machine.described());
    let found = map(&file);
    let mut name_of = [None; 8];
    for address in addresses(&file, 100_000) {
        let known = described.slice_of(address).expect("is covered").0;
        let found = found.slice_of(address).expect("is covered").0;
        assert_eq!(*name_of[usize::from(known)].get_or_insert(found), found);
    }
    let mut names: Vec<_> = name_of.iter().flatten().collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 8, "each slice has a name of its own");
    assert!(file.table.source.contains("numbered by their distance from processor 0"));
}

/// Two siblings of a core see the same: from the first four processors, two cores, slices look alike.
#[test]
fn timing_asks_from_cores_where_siblings_have_neighbouring_numbers() {
    let machine = Mapped::new("haswell", &[]);
    for cpu in 0..16 {
        let core = format!("sys/devices/system/cpu/cpu{cpu}/topology/core_id");
        fs::write(machine.machine.path().join(core), format!("{}\n", cpu % 8 / 2)).expect("a core");
    }
    let report = machine.json(&["--oracle", "timing"]);
    assert_eq!(report["verdict"], "established", "{report}");
}

#[test]
fn timing_that_cannot_tell_slices_apart_is_not_enough() {
    for (jitter, delayed) in [("60.0", "0.02"), ("3.0", "0.9")] {
        let machine = Mapped::new("haswell", &[]);
        machine.edit("registers.toml", "jitter_cycles = 3.0", &format!("jitter_cycles = {jitter}"));
        machine.edit(
            "registers.toml",
            "delayed_share = 0.02",
            &format!("delayed_share = {delayed}"),
        );
        if delayed == "0.9" {
            machine.edit("registers.toml", "hop_cycles = 3.0", "hop_cycles = 0.0");
        }
        let run = machine.map(&["--oracle", "timing"]);
        assert_eq!(run.code, Some(1), "{}{}", run.out, run.err);
        assert!(run.out.contains("Not enough evidence"), "{}", run.out);
        assert!(!machine.table().exists());
    }
}

#[test]
fn each_core_s_own_slice_is_its_nearest_and_the_file_has_a_row_for_each_core() {
    let machine = Mapped::new("skylake", &[]);
    assert_eq!(machine.map(&[]).code, Some(0));
    let table = machine.table().display().to_string();
    let out = machine.out.path().join("latencies.toml");
    let out_name = out.display().to_string();
    let arguments = ["slices", "latency", "--table", &table, "--out", &out_name];
    let run = machine.machine.run(&[arguments.as_slice(), &["--format", "json"]].concat());
    let report: Value = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}", run.err));
    assert_eq!(report["tells_apart"], true);
    for row in report["nearest"].as_array().expect("rows") {
        let cpu = row["cpu"].as_u64().expect("a number");
        assert_eq!(row["slices"][0].as_u64(), Some(cpu % 18), "tiles have a core and a slice");
    }
    let text = fs::read_to_string(&out).expect("latencies");
    assert_eq!(text.lines().filter(|line| line.starts_with("  [")).count(), 36);
    assert!(text.contains("kind = \"measured\"") && text.contains("time stamp counter"), "{text}");
    let text = machine.machine.run(&["slices", "nearest", "--table", &table]).out;
    assert!(text.contains("Gold 6140") && !text.contains("within the noise"), "{text}");
}

#[test]
fn latencies_need_a_table_of_this_machine() {
    let machine = Mapped::new("skylake", &[]);
    let other = Mapped::new("haswell", &[]);
    assert_eq!(other.map(&[]).code, Some(0));
    let foreign = other.table().display().to_string();
    for (table, expected) in [
        (foreign.as_str(), "has 8 slices, a socket of this machine has 18"),
        ("/nowhere/slices.toml", "make it with skipline-host slices map"),
        ("/proc/self/status", "--table /proc/self/status: "),
    ] {
        let run = machine.machine.run(&["slices", "latency", "--table", table]);
        assert_eq!(run.code, Some(2), "{}", run.err);
        assert!(run.err.contains(expected), "{}", run.err);
    }
}

#[test]
fn slices_that_are_equally_far_are_not_put_in_an_order_in_silence() {
    let machine = Mapped::new("skylake", &[]);
    assert_eq!(machine.map(&[]).code, Some(0));
    machine.edit("registers.toml", "hop_cycles = 2.0", "hop_cycles = 0.0");
    let table = machine.table().display().to_string();
    let run = machine.machine.run(&["slices", "latency", "--table", &table]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains("within the noise: these orders mean nothing"), "{}", run.out);
}
