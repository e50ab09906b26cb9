//! Does `slices sets` find the index of a part, or refuse it with a reason?

use crate::slices::{INTEL, Mapped};
use serde_json::Value;

/// Enough pages for three times the ways of lines in each slice.
const PAGES: &str = "4096";

fn sets(machine: &Mapped, arguments: &[&str]) -> (Value, Option<i32>) {
    let hugepages = "sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages";
    let path = machine.machine.path().join(hugepages);
    std::fs::write(path, "4096\n").expect("a file of the machine");
    std::fs::copy(machine.machine.path().join("slices.toml"), machine.table()).expect("a table");
    let all = [&["sets", "--pages", PAGES, "--format", "json"], arguments].concat();
    let run = machine.slices(&all);
    let read = serde_json::from_str(&run.out);
    (read.unwrap_or_else(|_| panic!("no JSON: {}{}", run.out, run.err)), run.code)
}

#[test]
fn the_plain_index_of_every_machine_is_found() {
    for name in INTEL {
        let (report, code) = sets(&Mapped::new(name, &[]), &["--apply"]);
        assert_eq!(code, Some(0), "{name}: {report}");
        let bits = (&report["lowest_bit"], &report["highest_bit"]);
        assert_eq!(bits, (&6.into(), &16.into()), "{name}: {report}");
    }
}

#[test]
fn a_hashed_index_is_refused_with_the_reason() {
    for name in ["haswell", "skylake"] {
        let machine = Mapped::new(name, &[]);
        machine.edit("registers.toml", "[slices.sets]", "[slices.sets]\nhashed = true");
        let (report, code) = sets(&machine, &["--apply"]);
        assert_eq!((code, &report["verdict"]), (Some(6), &"not established".into()), "{report}");
        let reason = report["reason"].as_str().expect("a reason");
        assert!(reason.contains("take part in the index (a hash)"), "{reason}");
    }
}

#[test]
fn without_apply_nothing_is_loaded() {
    let (report, code) = sets(&Mapped::new("skylake", &[]), &[]);
    assert_eq!((code, &report["verdict"]), (Some(0), &"dry-run".into()), "{report}");
    assert_eq!(report["loads"], 0);
}

#[test]
fn a_virtual_machine_is_refused() {
    let machine = Mapped::new("skylake", &[]);
    machine.edit("proc/cpuinfo", "flags\t\t: fpu", "flags\t\t: hypervisor fpu");
    std::fs::copy(machine.machine.path().join("slices.toml"), machine.table()).expect("a table");
    let run = machine.slices(&["sets", "--apply"]);
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(run.err.contains("this is a virtual machine"), "{}", run.err);
}

#[test]
fn too_few_pages_are_told_with_how_many_help() {
    let machine = Mapped::new("skylake", &[]);
    std::fs::copy(machine.machine.path().join("slices.toml"), machine.table()).expect("a table");
    let run = machine.slices(&["sets", "--apply", "--pages", "64"]);
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.err.contains("remedy: --pages"), "{}", run.err);
}
