//! Is the switch of a root port only seen and written where it is one?

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt;

use crate::on_machine::{OnMachine, STATE};

const PORT: &str = "0000:16:00.0";

/// Gives a port's configuration space other words.
pub fn put(machine: &OnMachine, port: &str, words: &[(u64, u32)]) {
    let path = machine.path().join(format!("sys/bus/pci/devices/{port}/config"));
    let config = fs::File::options().write(true).open(path).expect("configuration space");
    for (offset, word) in words {
        config.write_all_at(&word.to_le_bytes(), *offset).expect("a register");
    }
}

/// A journal that names the switch of a port.
pub fn journal_of(machine: &OnMachine, port: &str, old: u32) {
    let boot = fs::read_to_string(machine.path().join("proc/sys/kernel/random/boot_id"));
    let entry = serde_json::json!({
        "time_unix_s": 1,
        "boot_id": boot.expect("boot id").trim(),
        "command": "tune ddio off",
        "target": { "kind": "port", "function": port, "offset": 0x180 },
        "old": old,
        "asked": 0x8,
        "read_back": null,
    });
    let journal = serde_json::json!({ "entries": [entry] });
    let state = machine.path().join(STATE);
    fs::create_dir_all(&state).expect("a directory");
    fs::write(state.join("journal.json"), journal.to_string()).expect("a journal");
}

fn state_of(machine: &OnMachine, port: &str) -> serde_json::Value {
    let run = machine.run(&["status", "--format", "json"]);
    let status: serde_json::Value = serde_json::from_str(&run.out).expect("one JSON object");
    let ports = status["sockets"].as_array().into_iter().flatten();
    let mut ports = ports.flat_map(|socket| socket["ports"].as_array().into_iter().flatten());
    ports.find(|found| found["port"] == port).expect("a port")["ddio"].clone()
}

#[test]
fn an_ice_lake_port_has_no_switch() {
    let machine = OnMachine::new("ice-lake", &[]);
    let before = machine.content();
    assert_eq!(state_of(&machine, PORT), serde_json::Value::Null);
    for change in [["tune", "ddio", "off", "--apply"].as_slice(), &["tune", "ddio", "on"]] {
        let run = machine.run(change);
        assert_eq!((run.code, run.out.as_str()), (Some(3), ""), "{change:?}");
        let expected = "Ice Lake has no publicly documented switch at its root ports (offset 0x180";
        assert!(run.err.contains(expected), "{}", run.err);
    }
    journal_of(&machine, PORT, 0x80);
    let run = machine.run(&["restore", "--all"]);
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.out.contains("is not a control of this machine"), "{}", run.out);
    assert!(machine.content() == before);
}

#[test]
fn a_register_that_a_capability_has_taken_is_no_switch() {
    let machine = OnMachine::new("skylake", &[]);
    // The list goes from error reporting to a vendor-specific capability of 16 bytes at 0x180.
    put(&machine, PORT, &[(0x148, 0x1801_0001), (0x180, 0x1d01_000b), (0x184, 0x0101_0003)]);
    let before = machine.content();
    assert_eq!(state_of(&machine, PORT), serde_json::Value::Null);
    let expected = "lies in its vendor-specific capability 0x0b at 0x180 (16 bytes)";
    for change in [
        ["tune", "ddio", "off", "--device", "17:00.0", "--apply"].as_slice(),
        &["tune", "ddio", "off", "--apply"],
    ] {
        let run = machine.run(change);
        assert_eq!(run.code, Some(3), "{change:?}: {}", run.out);
        assert!(run.err.contains(expected), "{}", run.err);
    }
    let status = machine.run(&["status"]).out;
    let said = status.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(expected), "{status}");
    journal_of(&machine, PORT, 0x80);
    let run = machine.run(&["restore", "--all"]);
    assert!(run.code == Some(1) && run.out.contains(expected), "{}", run.out);
    assert!(machine.content() == before);
}

#[test]
fn a_port_that_does_not_answer_is_neither_read_as_a_switch_nor_written() {
    for (failure, state) in [("registers-dead", "no-response"), ("port-dead", "")] {
        let machine = OnMachine::new("skylake", &[failure]);
        let before = machine.content();
        if !state.is_empty() {
            assert_eq!(state_of(&machine, PORT)["state"], state);
        }
        let status = machine.run(&["status"]).out;
        let said = status.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("reads as all ones: the device or register does not"), "{status}");
        assert!(!status.contains("Part of the root complex"), "{status}");
        for device in ["17:00.0", "16:00.0"] {
            let change = ["tune", "ddio", "off", "--device", device, "--apply"];
            let run = machine.run(&change);
            // A port that is gone is no port to name.
            let code = if failure == "port-dead" { 2 } else { 3 };
            assert_eq!(run.code, Some(code), "{failure} {device}: {}{}", run.out, run.err);
        }
        assert!(machine.content() == before, "{failure}");
        assert!(!machine.path().join(STATE).join("journal.json").exists(), "{failure}");
        journal_of(&machine, PORT, 0x80);
        let run = machine.run(&["restore", "--all"]);
        assert_eq!(run.code, Some(1), "{failure}: {}", run.out);
        assert!(machine.content() == before, "{failure}");
    }
}

#[test]
fn what_a_device_read_as_when_it_did_not_answer_is_never_written_to_it() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    journal_of(&machine, PORT, u32::MAX);
    for arguments in [["restore", "--all"].as_slice(), &["restore", "--all", "--dry-run"]] {
        let run = machine.run(arguments);
        let expected = "0xffffffff is what a device reads as that does not answer";
        assert!(run.out.contains(expected), "{}", run.out);
    }
    assert!(machine.content() == before);
}

#[test]
fn a_register_of_ways_that_reads_as_all_ones_is_not_changed() {
    let machine = OnMachine::new("skylake", &["registers-dead"]);
    let before = machine.content();
    let run = machine.run(&["tune", "ddio-ways", "4", "--apply"]);
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(run.err.contains("MSR 0xc8b of socket 0: reads as all ones"), "{}", run.err);
    assert!(machine.content() == before);
    assert!(!machine.path().join(STATE).join("journal.json").exists());
}

#[test]
fn status_shows_every_port_that_tune_would_change() {
    for name in ["haswell", "skylake", "cascade-lake"] {
        let machine = OnMachine::new(name, &[]);
        // Cards whose class is neither network nor storage, like accelerators.
        for card in ["0000:17:00.0", "0000:17:00.1", "0000:05:00.0", "10001:17:00.0"] {
            let class = machine.path().join(format!("sys/bus/pci/devices/{card}/class"));
            if class.exists() {
                fs::write(class, "0x120000\n").expect("a class");
            }
        }
        let json = |arguments: &[&str]| -> serde_json::Value {
            let run = machine.run(&[arguments, &["--format", "json"]].concat());
            assert_eq!(run.code, Some(0), "{}", run.err);
            serde_json::from_str(&run.out).expect("one JSON object")
        };
        let plan = json(&["tune", "ddio", "off", "--unmeasured"]);
        let changes = plan["plan"]["changes"].as_array().expect("changes");
        let planned: BTreeSet<String> =
            changes.iter().map(|change| change["target"]["function"].to_string()).collect();
        let status = json(&["status"]);
        let sockets = status["sockets"].as_array().expect("sockets").iter();
        let ports = sockets.flat_map(|socket| socket["ports"].as_array().expect("ports"));
        let ports = ports.chain(status["elsewhere"].as_array().expect("ports"));
        let shown: BTreeSet<String> = ports
            .filter(|port| port["ddio"]["state"] == "on")
            .map(|port| port["port"].to_string())
            .collect();
        assert_eq!(shown, planned, "{name}");
        assert!(shown.len() >= 3, "{name}: {shown:?}");
    }
}

/// The output of a dry run, in one line.
fn said(machine: &OnMachine, change: &[&str]) -> String {
    let run = machine.run(change);
    assert_eq!(run.code, Some(0), "{}", run.err);
    run.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn ddio_off_clears_one_bit_and_says_so_with_its_source() {
    for (name, port, device) in
        [("haswell", "0000:00:03.0", "05:00.0"), ("skylake", PORT, "17:00.0")]
    {
        let machine = OnMachine::new(name, &[]);
        put(&machine, port, &[(0x180, 0x0f00_0080)]);
        let change = ["tune", "ddio", "off", "--unmeasured", "--device", device];
        let words = said(&machine, &change);
        assert!(words.contains("new 0xf000000 "), "{words}");
        assert!(words.contains("this clears Use_Allocating_Flow_Wr (bit 7) and nothing else"));
        assert!(words.contains("ddio-bench's later code clears bit 7 only"), "{words}");
        let run = machine.run(&[&change[..], &["--apply"]].concat());
        assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
        assert_eq!(machine.run(&["restore"]).code, Some(0));
    }
}

#[test]
fn a_dry_run_says_what_becomes_of_steered_writes_and_of_no_snoop() {
    let machine = OnMachine::new("skylake", &[]);
    let off = ["tune", "ddio", "off"];
    let words = said(&machine, &off);
    let clear = "steered writes (TPH with a steering tag) are not switched: they follow their tag, because TPHDIS (bit 0) is clear";
    assert!(words.contains(clear), "{words}");
    put(&machine, PORT, &[(0x180, 0x81)]);
    let words = said(&machine, &off);
    assert!(words.contains(&format!("they are switched only at {PORT}, where TPHDIS")), "{words}");
    let words = said(&machine, &["tune", "ddio", "off", "--device", "17:00.0"]);
    assert!(words.contains("steered writes (TPH) are switched too, because TPHDIS"), "{words}");
    put(&machine, PORT, &[(0x180, 0x08)]);
    let words = said(&machine, &["tune", "ddio", "on", "--device", "17:00.0"]);
    assert!(words.contains("new 0x88 "), "{words}");
    assert!(words.contains(&format!("writes with No Snoop stay off at {PORT}")), "{words}");
}

#[test]
fn a_change_of_an_earlier_version_which_set_two_bits_is_put_back_whole() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    journal_of(&machine, PORT, 0x80);
    put(&machine, PORT, &[(0x180, 0x08)]);
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    assert!(machine.content() == before);
}

#[test]
fn a_change_of_all_ports_names_a_dead_one_and_is_not_as_asked() {
    let machine = OnMachine::new("skylake", &["port-dead"]);
    let before = machine.content();
    let left_out = format!(
        "root port {PORT} is left out: ROOT/sys/bus/pci/devices/{PORT}/config: reads as all ones"
    );
    // A dry run shows what would be written, as ever.
    assert!(said(&machine, &["tune", "ddio", "off"]).contains(&left_out));
    let run = machine.run(&["tune", "ddio", "off", "--apply"]);
    assert_eq!(run.code, Some(4), "{}{}", run.out, run.err);
    assert_eq!(run.out.matches("set, reads back").count(), 2, "{}", run.out);
    assert!(run.out.contains(&format!("\n  root port {PORT}: left out: ROOT/sys")), "{}", run.out);
    // Also where nothing is left to write.
    let run = machine.run(&["tune", "ddio", "off", "--apply", "--format", "json"]);
    assert_eq!(run.code, Some(4), "{}", run.out);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("one JSON object");
    assert_eq!(report["plan"]["left_out"][0]["place"], format!("root port {PORT}"));
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    // One port that answers is all that is asked for here.
    let run = machine.run(&["tune", "ddio", "off", "--device", "b1:00.0", "--apply"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    assert!(machine.content() == before);
}

#[test]
fn a_setting_that_cannot_reach_a_dead_port_is_not_held() {
    let machine = OnMachine::new("skylake", &["port-dead"]);
    let before = machine.content();
    for held in [
        ["tune", "ddio", "off", "--apply", "--for", "1h"].as_slice(),
        &["run", "--ddio", "off", "--apply", "--", "true"],
        // A dry run says so too.
        &["run", "--ddio", "off", "--", "true"],
    ] {
        let run = machine.run(held);
        assert_eq!(run.code, Some(3), "{}{}", run.out, run.err);
        assert!(run.err.contains(&format!("root port {PORT} is left out")), "{}", run.err);
        assert!(run.err.contains("remedy: --device BDF"), "{}", run.err);
        assert!(machine.content() == before);
    }
}

#[test]
fn dead_bridges_are_left_out_only_where_they_may_have_the_switch() {
    let machine = OnMachine::new("skylake", &["port-dead"]);
    let folder = machine.path().join(format!("sys/bus/pci/devices/{PORT}"));
    // Another bridge, which never had it.
    fs::write(folder.join("device"), "0xa193\n").expect("a number");
    let run = machine.run(&["tune", "ddio", "off", "--apply"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(!run.out.contains(PORT), "{}", run.out);
    // One of which the kernel does not say what it is.
    fs::remove_file(folder.join("device")).expect("a number");
    let run = machine.run(&["tune", "ddio", "off", "--apply"]);
    assert_eq!(run.code, Some(4), "{}{}", run.out, run.err);
    let expected = format!("bridge {PORT}, which may be a root port, is left out");
    let words = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&expected), "{}", run.out);
    // And none else is there.
    for port in ["0000:ae:00.0", "10001:16:00.0"] {
        let device = machine.path().join(format!("sys/bus/pci/devices/{port}/device"));
        fs::write(device, "0xa193\n").expect("a number");
    }
    let run = machine.run(&["tune", "ddio", "off", "--apply"]);
    assert_eq!(run.code, Some(3), "{}{}", run.out, run.err);
    assert!(run.err.contains(&expected), "{}", run.err);
}

#[test]
fn a_switch_that_nobody_has_measured_is_written_only_when_asked_for_by_name() {
    let machine = OnMachine::new("haswell", &[]);
    let before = machine.content();
    for change in [
        &["tune", "ddio", "off"][..],
        &["tune", "ddio", "off", "--apply"],
        &["run", "--ddio", "off", "--apply", "--", "true"],
    ] {
        let run = machine.run(change);
        assert_eq!(run.code, Some(3), "{change:?}: {}", run.out);
        assert!(run.err.contains("remedy: --unmeasured writes it all the same"), "{}", run.err);
        assert!(machine.content() == before, "{change:?}");
    }
    let run = machine.run(&["run", "--ddio", "off", "--unmeasured", "--apply", "--", "true"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(machine.content() == before);
}
