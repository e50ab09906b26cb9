//! Are machines refused that have a server's model number and are none?

use std::fs;

use crate::on_machine::OnMachine;
use crate::ports::journal_of;

/// A described server with other words in /proc/cpuinfo.
fn with_cpuinfo(name: &str, words: &str, others: &str) -> OnMachine {
    let machine = OnMachine::new(name, &[]);
    let path = machine.path().join("proc/cpuinfo");
    let text = fs::read_to_string(&path).expect("cpuinfo");
    assert!(text.contains(words), "{words}: {text}");
    fs::write(path, text.replace(words, others)).expect("cpuinfo");
    machine
}

/// Without the PCI functions of the uncore.
fn without_uncore(name: &str) -> OnMachine {
    let machine = OnMachine::new(name, &[]);
    fs::remove_file(machine.path().join("sys/bus/pci/devices/0000:00:05.0")).expect("a function");
    machine
}

fn refuses(machine: &OnMachine, expected: &str) {
    let before = machine.content();
    for change in
        [["tune", "ddio-ways", "4", "--apply"].as_slice(), &["tune", "ddio", "off", "--apply"]]
    {
        let run = machine.run(change);
        assert_eq!((run.code, run.out.as_str()), (Some(3), ""), "{change:?}");
        assert!(run.err.contains(expected), "{change:?}: {}", run.err);
    }
    let status = machine.run(&["status"]);
    assert_eq!(status.code, Some(0), "{}", status.err);
    for control in ["I/O ways", "DDIO on", "DDIO off"] {
        assert!(!status.out.contains(control), "{control}: {}", status.out);
    }
    journal_of(machine, "0000:16:00.0", 0x80);
    assert_eq!(machine.run(&["restore", "--all"]).code, Some(1));
    assert!(machine.content() == before);
}

#[test]
fn a_virtual_machine_is_refused() {
    for name in ["skylake", "cascade-lake"] {
        let machine = with_cpuinfo(name, "flags\t\t: fpu", "flags\t\t: hypervisor fpu");
        refuses(&machine, "is refused: this is a virtual machine");
    }
}

#[test]
fn desktop_and_workstation_parts_are_refused_by_name() {
    let server = "Xeon(R) Gold 6140 CPU";
    for brand in ["Core(TM) i9-7900X CPU", "Xeon(R) W-2155 CPU", "Xeon(R) D-2146NT CPU"] {
        let machine = with_cpuinfo("skylake", server, brand);
        refuses(&machine, "has the model number of Skylake servers, but not their brand");
    }
}

#[test]
fn a_server_without_its_uncore_is_refused() {
    refuses(&without_uncore("skylake"), "8086:2024");
    refuses(&without_uncore("cascade-lake"), "a hypervisor or firmware hides the hardware");
}
