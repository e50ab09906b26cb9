//! Does a dry run say what the kernel makes of the writes?

use std::fs;

use crate::on_machine::OnMachine;

const ALLOW_WRITES: &str = "sys/module/msr/parameters/allow_writes";

fn put(machine: &OnMachine, path: &str, text: &str) {
    let path = machine.path().join(path);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(path, text).expect("a file");
}

/// The output of a dry run, in one line.
fn said(machine: &OnMachine, change: &[&str]) -> String {
    let run = machine.run(change);
    assert_eq!(run.code, Some(0), "{}", run.err);
    run.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

const WAYS: [&str; 3] = ["tune", "ddio-ways", "4"];
const PORTS: [&str; 3] = ["tune", "ddio", "off"];
const GROUP: [&str; 4] = ["tune", "cat", "web", "0x3"];

#[test]
fn lockdown_is_said_before_registers_are_written_and_not_for_groups() {
    let machine = OnMachine::new("skylake", &["lockdown"]);
    let expected = "the kernel is locked down (integrity) and refuses writes to registers";
    for (change, is_said) in [(&WAYS[..], true), (&PORTS, true), (&GROUP, false)] {
        assert_eq!(said(&machine, change).contains(expected), is_said, "{change:?}");
    }
    assert!(!said(&OnMachine::new("skylake", &[]), &WAYS).contains("locked down"));
}

#[test]
fn what_the_kernel_makes_of_the_registers_of_boxes_is_said_too() {
    let map = ["slices", "map", "--recover", "--oracle", "counters"];
    let locked = OnMachine::new("skylake", &["no-uncore-driver", "lockdown"]);
    assert!(said(&locked, &map).contains("the kernel is locked down (integrity)"));
    let machine = OnMachine::new("skylake", &["no-uncore-driver"]);
    assert!(!said(&machine, &map).contains("locked down"));
    put(&machine, ALLOW_WRITES, "off\n");
    assert!(said(&machine, &map).contains("the msr driver refuses writes"));
}

#[test]
fn the_filter_of_the_msr_driver_and_taint_are_said() {
    let machine = OnMachine::new("skylake", &[]);
    let taint = "taints the kernel until the next boot (flag S, CPU out of specification";
    // Kernels before 5.9 neither filter nor taint.
    assert!(!said(&machine, &WAYS).contains("taints"));
    for (mode, tainted, expected) in [
        ("default", "0", format!("{taint}), and its log names this program")),
        ("on", "12288", format!("{taint})")),
        ("on", "4", format!("{taint}; it is set already)")),
        ("off", "0", "the msr driver refuses writes (msr.allow_writes is off)".to_owned()),
    ] {
        put(&machine, ALLOW_WRITES, &format!("{mode}\n"));
        put(&machine, "proc/sys/kernel/tainted", &format!("{tainted}\n"));
        let words = said(&machine, &WAYS);
        assert!(words.contains(&expected), "{mode}: {words}");
        assert_eq!(words.contains("taints"), mode != "off", "{words}");
        assert_eq!(words.contains("its log names"), mode == "default", "{words}");
        // Neither filter nor taint are about configuration space and groups.
        for change in [&PORTS[..], &GROUP] {
            let words = said(&machine, change);
            assert!(!words.contains("taints") && !words.contains("allow_writes"), "{words}");
        }
    }
}

#[test]
fn a_register_that_keeps_its_value_is_no_write() {
    let machine = OnMachine::new("skylake", &["lockdown"]);
    assert!(!said(&machine, &["tune", "ddio-ways", "2"]).contains("locked down"));
}
