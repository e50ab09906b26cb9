//! Does a restore write to a counter box only what a count of look-ups can have found there, and only
//! where it counts?

use std::fs;

use crate::on_machine::{OnMachine, STATE};

/// The event select of the first counter of Skylake's first box.
const SELECT: u32 = 0xe01;

/// A journal that names an event select.
fn with_journal(name: &str, old: u64) -> OnMachine {
    let machine = OnMachine::new(name, &[]);
    let boot = fs::read_to_string(machine.path().join("proc/sys/kernel/random/boot_id"));
    let entry = serde_json::json!({
        "time_unix_s": 1,
        "boot_id": boot.expect("boot id").trim(),
        "command": "slices map",
        "target": { "kind": "msr", "socket": 0, "cpu": 0, "address": SELECT },
        "old": old,
        "asked": 0x40_0f34,
        "read_back": null,
    });
    let state = machine.path().join(STATE);
    fs::create_dir_all(&state).expect("a directory");
    let journal = serde_json::json!({ "entries": [entry] });
    fs::write(state.join("journal.json"), journal.to_string()).expect("a journal");
    machine
}

#[test]
fn what_no_count_of_look_ups_can_have_found_is_not_written() {
    for (name, old, expected) in [
        ("skylake", u64::MAX - 1, "has bits 0xffffffff00400000, never set before a change"),
        ("skylake", 0x40_0f34, "has bits 0x400000, never set before a change"),
        ("virtual", 0, "this is a virtual machine"),
        ("workstation", 0, "but not their brand"),
        ("cascade-lake-ap", 0, "has 2 dies"),
    ] {
        let machine = with_journal(name, old);
        let before = machine.content();
        for more in [[].as_slice(), &["--all"]] {
            let run = machine.run(&[&["restore"], more].concat());
            assert_eq!(run.code, Some(1), "{name}: {}{}", run.out, run.err);
            assert!(run.out.contains(expected), "{name}: {}", run.out);
        }
        assert!(machine.content() == before, "{name}");
    }
}

#[test]
fn an_event_select_that_was_at_rest_is_put_back() {
    let machine = with_journal("skylake", 0x35);
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("put back to 0x35"), "{}", run.out);
}
