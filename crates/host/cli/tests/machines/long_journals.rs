//! Can everything be put back after very many changes?

use std::fs;

use crate::on_machine::{OnMachine, STATE};

const BOOT: &str = "5d1f0a52-6f0b-4c39-9a3b-3f3c8f0a7f11";

/// Records of a journal that is longer than 16 MiB: few with long commands in each run of the tests.
const RECORDS: [u64; 2] = [20_000, 100_000];

/// A journal of many changes of the ways of I/O on socket 0, from each value to the next.
fn journal(machine: &OnMachine, values: impl Iterator<Item = (u64, u64)>) -> u64 {
    let command = format!("tune ddio-ways{}", " ".repeat(soak::amount(800, 0)));
    let entries: Vec<String> = values
        .map(|(old, asked)| {
            format!(
                r#"{{"time_unix_s":1,"boot_id":"{BOOT}","command":"{command}","target":{{"kind":"msr","socket":0,"cpu":0,"address":3211}},"old":{old},"asked":{asked},"read_back":{asked}}}"#
            )
        })
        .collect();
    let state = machine.path().join(STATE);
    fs::create_dir_all(&state).expect("a directory");
    let text = format!("{{\"entries\":[{}]}}", entries.join(",\n"));
    fs::write(state.join("journal.json"), text).expect("a journal");
    length(machine)
}

fn length(machine: &OnMachine) -> u64 {
    let journal = machine.path().join(STATE).join("journal.json");
    fs::metadata(journal).expect("the journal").len()
}

/// Values of which each change begins with what the one before left, but the first is 0x600.
fn chain(changes: u64) -> impl Iterator<Item = (u64, u64)> {
    let value = |change: u64| if change == 0 { 0x600 } else { 0x600 | (0x780 >> (change % 2)) };
    (0..changes).map(move |change| (value(change), value(change + 1)))
}

#[test]
fn after_very_many_changes_the_first_value_is_put_back() {
    for change_first in [true, false] {
        let machine = OnMachine::new("skylake", &[]);
        let before = machine.content();
        assert_eq!(machine.run(&["tune", "ddio-ways", "3", "--apply"]).code, Some(0));
        assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
        let long = journal(&machine, chain(soak::amount(RECORDS[0], RECORDS[1])));
        assert!(long > 16 << 20, "{long}");
        if change_first {
            let run = machine.run(&["tune", "ddio-ways", "6", "--socket", "0", "--apply"]);
            assert_eq!(run.code, Some(0), "{}", run.err);
            assert!(length(&machine) < 2000, "{}", length(&machine));
        }
        let run = machine.run(&["restore"]);
        assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
        assert_eq!(run.out.matches("put back to 0x600").count(), 1, "{}", run.out);
        // The journal of the other socket was replaced.
        let state = machine.path().join("registers.state");
        let left = fs::read_to_string(&state).expect("socket 1");
        assert!(left.contains("socket1") && !left.contains("socket0"), "{left}");
        let after = machine.content();
        assert!(before.keys().all(|path| after.contains_key(path)));
    }
}

#[test]
fn a_journal_that_cannot_be_shortened_refuses_a_change_before_it_is_made() {
    let machine = OnMachine::new("skylake", &[]);
    // Another program wrote between all of them, never what was there before.
    journal(
        &machine,
        (0..soak::amount(5_000, 16_000)).map(|change| (0x600 | (change % 2) << 8, 0x780)),
    );
    let before = machine.content();
    let run = machine.run(&["tune", "ddio-ways", "6", "--apply"]);
    assert_eq!(run.code, Some(3));
    assert!(run.err.contains("would be longer than 4194304 bytes with this change"), "{}", run.err);
    assert!(run.err.contains("remedy: skipline-host restore"), "{}", run.err);
    assert!(machine.content() == before);
    let run = machine.run(&["restore", "--forget"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(machine.run(&["tune", "ddio-ways", "6", "--apply"]).code, Some(0));
}
