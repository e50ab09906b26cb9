//! Are only the bits written that a change is about?

use std::fs;

use crate::on_machine::{OnMachine, STATE};
use crate::ports::put;

/// Skylake with another value in the register of ways, of which all bits can be written.
fn with_ways(value: u64) -> OnMachine {
    let machine = OnMachine::new("skylake", &[]);
    let path = machine.path().join("registers.toml");
    let mut registers = fs::read_to_string(&path).expect("registers");
    for (described, changed) in [
        ("value = 1536\n", format!("value = {value}\n")),
        ("writable = 2047\n", format!("writable = {}\n", u64::from(u32::MAX))),
        ("sticky = 1536\n", "sticky = 0\n".to_owned()),
    ] {
        assert_eq!(registers.matches(described).count(), 1, "{described}");
        registers = registers.replace(described, &changed);
    }
    fs::write(path, registers).expect("registers");
    machine
}

#[test]
fn bits_outside_the_ways_are_refused_unless_they_are_to_be_kept() {
    let machine = with_ways(0x8000_0600);
    let before = machine.content();
    let change = ["tune", "ddio-ways", "4", "--socket", "0", "--apply"];
    let run = machine.run(&change);
    assert_eq!(run.code, Some(3), "{}", run.out);
    let expected = "holds 0x80000600: bits 0x80000000 lie outside its 11 ways";
    assert!(run.err.contains(expected) && run.err.contains("--keep-unknown-bits"), "{}", run.err);
    assert!(machine.content() == before);
    let run = machine.run(&[&change[..], &["--keep-unknown-bits"]].concat());
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("set, reads back 0x80000780"), "{}", run.out);
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    assert!(machine.content() == before);
}

#[test]
fn a_register_that_a_read_clears_is_neither_shown_nor_said_to_be_set() {
    let machine = OnMachine::new("clear-on-read", &[]);
    let status = machine.run(&["status"]).out;
    let words = status.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!status.contains("MSR 0xc8b =") && !status.contains("DDIO o"), "{status}");
    assert!(words.contains("gave 0x600 and, read again, 0x0: a read clears it"), "{status}");
    for change in [["tune", "ddio-ways", "4", "--apply"], ["tune", "ddio", "off", "--apply"]] {
        let machine = OnMachine::new("clear-on-read", &[]);
        let run = machine.run(&change);
        assert_eq!((run.code, run.out.as_str()), (Some(3), ""), "{change:?}");
        assert!(run.err.contains("and, read again, 0x0: a read clears it"), "{}", run.err);
        assert!(!machine.path().join(STATE).join("journal.json").exists());
    }
    // The zero that a read has left is no value that could be put back.
    let run = machine.run(&["tune", "ddio-ways", "4", "--apply"]);
    assert_eq!((run.code, run.out.as_str()), (Some(3), ""), "{}", run.err);
    assert!(run.err.contains("holds 0x0, which leaves I/O no way"), "{}", run.err);
}

#[test]
fn restore_keeps_what_is_not_the_tool_s_and_does_not_write_what_a_plan_would_not() {
    let machine = with_ways(0x600);
    let before = machine.content();
    let change = ["tune", "ddio-ways", "4", "--socket", "0", "--apply"];
    assert_eq!(machine.run(&change).code, Some(0));
    let registers = machine.path().join("registers.state");
    let text = fs::read_to_string(&registers).expect("registers that were written");
    // 0x780, and bit 31 of MSR 0xc8b, which no source describes.
    fs::write(&registers, text.replace("1920", "2147485568")).expect("registers");
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.out.contains("bits 0x80000000 lie outside its ways"), "{}", run.out);
    let run = machine.run(&["restore", "--all", "--dry-run"]);
    assert!(run.out.contains("would be put back to 0x80000600"), "{}", run.out);
    let run = machine.run(&["restore", "--all"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("put back to 0x80000600"), "{}", run.out);
    let text = fs::read_to_string(&registers).expect("registers that were written");
    assert!(text.contains("2147485184"), "0x80000600: {text}");
    fs::remove_file(&registers).expect("registers");
    // A journal that would leave no way.
    assert_eq!(machine.run(&change).code, Some(0));
    let journal = machine.path().join(STATE).join("journal.json");
    let text = fs::read_to_string(&journal).expect("the journal");
    fs::write(&journal, text.replace("\"old\": 1536", "\"old\": 0")).expect("the journal");
    let run = machine.run(&["restore", "--all"]);
    assert!(run.out.contains("0x0 leaves I/O no way of the LLC"), "{}", run.out);
    fs::write(&journal, text).expect("the journal");
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    assert!(machine.content() == before);
}

#[test]
fn other_bits_of_a_port_that_changed_since_stay_as_they_are() {
    let machine = OnMachine::new("skylake", &[]);
    let change = ["tune", "ddio", "off", "--device", "17:00.0", "--apply"];
    assert_eq!(machine.run(&change).code, Some(0));
    put(&machine, "0000:16:00.0", &[(0x180, 0x0f00_0008)]);
    let run = machine.run(&["restore"]);
    // Another program has set bit 3, NoSnoopOpWrEn; the described port takes writes of bits 3 and 7 only.
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("put back to 0xf000088"), "{}", run.out);
    let config = machine.path().join("sys/bus/pci/devices/0000:16:00.0/config");
    let space = fs::read(config).expect("configuration space");
    assert_eq!(space[0x180..0x184], 0x0f00_0088u32.to_le_bytes());
}
