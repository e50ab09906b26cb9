//! Does one screen say what can be seen and changed, and what would allow the rest?

use std::fs;

use crate::on_machine::OnMachine;

const MACHINES: [&str; 6] =
    ["haswell", "skylake", "cascade-lake", "ice-lake", "sapphire-rapids", "turin"];

/// The finding of one check, in one line.
fn said(text: &str, heading: &str, what: &str) -> String {
    let (_, below) = text.split_once(&format!("{heading}\n")).expect("the heading");
    let (_, found) =
        below.split_once(&format!("  {what} ")).unwrap_or_else(|| panic!("{what}: {text}"));
    let (first, rest) = found.split_once('\n').expect("a line");
    let more = rest.lines().take_while(|line| line.starts_with("          "));
    let words = std::iter::once(first).chain(more).flat_map(str::split_whitespace);
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_machine_fits_on_a_screen_and_nothing_is_written() {
    for (name, path, ports) in [
        (
            "haswell",
            "2 of the ways of the inclusive LLC",
            "no Haswell has no switch at its root ports that",
        ),
        ("skylake", "IIO ways of the non-inclusive LLC", "yes steered writes (TPH"),
        ("ice-lake", "register does not confine them", "no Ice Lake has no publicly documented"),
        ("turin", "all others to memory", "no Turin has no publicly documented"),
    ] {
        let machine = OnMachine::new(name, &[]);
        let before = machine.content();
        let run = machine.run(&["doctor"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(run.out.lines().count() <= 30, "{name}: {}", run.out);
        assert!(run.out.lines().all(|line| line.chars().count() <= 100), "{name}: {}", run.out);
        let part = said(&run.out, "SEEN", "this part");
        assert!(part.starts_with("yes") && part.contains(path), "{name}: {part}");
        assert!(said(&run.out, "CHANGED", "DDIO of root ports").starts_with(ports), "{}", run.out);
        assert!(machine.content() == before && !machine.path().join("var").exists());
    }
}

#[test]
fn what_fails_is_said_with_what_would_allow_it() {
    for (failure, heading, what, expected) in [
        ("msr-module-absent", "SEEN", "registers", "→ modprobe msr"),
        ("msr-module-absent", "CHANGED", "ways of I/O", "→ modprobe msr"),
        ("not-root", "SEEN", "PCI configuration", "→ run as root"),
        ("not-root", "SEEN", "hits and misses", "perf_event_paranoid"),
        ("no-uncore-driver", "SEEN", "hits and misses", "→ modprobe intel_uncore"),
        ("resctrl-not-mounted", "SEEN", "groups and occupancy", "→ mount -t resctrl"),
        ("resctrl-not-mounted", "CHANGED", "masks of groups", "→ mount -t resctrl"),
        ("lockdown", "CHANGED", "ways of I/O", "no the kernel is locked down (integrity)"),
        ("lockdown", "CHANGED", "DDIO of root ports", "no the kernel is locked down (integrity)"),
        ("lockdown", "CHANGED", "masks of groups", "yes"),
        ("registers-dead", "CHANGED", "ways of I/O", "reads as all ones"),
        ("registers-dead", "SEEN", "registers", "no MSR 0xc8b of socket 0: reads as all ones"),
        (
            "port-dead",
            "CHANGED",
            "DDIO of root ports",
            "yes root port 0000:16:00.0 is left out: ROOT/sys/bus/pci/devices/0000:16:00.0/config: reads as all",
        ),
        ("not-root", "SEEN", "slices", "perf_event_paranoid"),
        ("no-uncore-driver", "SEEN", "slices", "yes look-ups at 18 of them, through registers"),
        ("no-uncore-driver", "CHANGED", "counters of slices", "yes 54 registers"),
        ("", "CHANGED", "counters of slices", "yes not needed"),
        ("", "SEEN", "addresses of lines", "yes"),
        ("", "SEEN", "copy engines", "no the kernel lists none"),
    ] {
        let failures: &[&str] = if failure.is_empty() { &[] } else { &[failure] };
        let run = OnMachine::new("skylake", failures).run(&["doctor"]);
        let found = said(&run.out, heading, what);
        assert!(found.contains(expected), "{failure}, {what}: {found}");
        assert!(run.out.lines().count() <= 40, "{failure}: {}", run.out);
    }
}

#[test]
fn it_foresees_what_tune_does() {
    for name in MACHINES {
        for failure in
            ["", "not-root", "msr-module-absent", "writes-refused", "resctrl-not-mounted"]
        {
            let failures: &[&str] = if failure.is_empty() { &[] } else { &[failure] };
            let machine = OnMachine::new(name, failures);
            let screen = machine.run(&["doctor"]).out;
            for (what, change) in [
                ("ways of I/O", ["tune", "ddio-ways", "4"].as_slice()),
                ("DDIO of root ports", &["tune", "ddio", "off"]),
                ("allocation for I/O", &["tune", "io-alloc", "on"]),
                ("masks of groups", &["tune", "cat", "default", "0x3"]),
            ] {
                let is_possible = machine.run(change).code == Some(0);
                let found = said(&screen, "CHANGED", what);
                assert_eq!(
                    found.starts_with("yes"),
                    is_possible,
                    "{name} {failure} {what}: {found}"
                );
            }
        }
    }
}

#[test]
fn a_virtual_machine_and_changes_in_force_are_said() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    let cpuinfo = machine.path().join("proc/cpuinfo");
    let text = fs::read_to_string(&cpuinfo).expect("cpuinfo");
    fs::write(&cpuinfo, text.replace("flags\t\t: fpu", "flags\t\t: hypervisor fpu"))
        .expect("cpuinfo");
    let run = machine.run(&["doctor", "--format", "json"]);
    let found: serde_json::Value = serde_json::from_str(&run.out).expect("one JSON object");
    let check = &found["seen"][0];
    assert_eq!(check["finding"], "no", "{check}");
    assert!(check["reason"].as_str().expect("a reason").contains("virtual machine"), "{check}");
    assert_eq!(found["changes_pending"], 2);
}
