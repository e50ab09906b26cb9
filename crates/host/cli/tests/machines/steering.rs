//! Does a controller follow the misses of devices, within its limits, and leave nothing behind?

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::on_machine::{OnMachine, STATE};

const STEER: [&str; 4] = ["steer", "--apply", "--socket", "0"];

fn is_as_before(
    machine: &OnMachine,
    before: &std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>,
) {
    assert!(machine.content() == *before);
    assert!(!machine.path().join(STATE).join("journal.json").exists());
}

/// Ways in each window.
fn ways(out: &str) -> Vec<u64> {
    let row = |line: &str| -> serde_json::Value { serde_json::from_str(line).expect("JSON") };
    out.lines().map(|line| row(line)["ways"].as_u64().expect("a number")).collect()
}

#[test]
fn without_apply_it_says_what_it_would_set() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    let run = machine.run(&["steer", "--windows", "3"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(run.out.matches("2 ways, would be 3").count(), 6, "{}", run.out);
    assert!(run.err.contains("nothing is written"), "{}", run.err);
    is_as_before(&machine, &before);
}

#[test]
fn devices_that_miss_get_ways_up_to_the_bound_and_the_first_ones_come_back() {
    for controller in ["threshold", "iat"] {
        let machine = OnMachine::new("skylake", &[]);
        let before = machine.content();
        let own = ["--windows", "6", "--max-ways", "5", "--controller", controller];
        let run = machine.run(&[&STEER[..], &own, &["--format", "json"]].concat());
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert_eq!(ways(&run.out), [2, 3, 4, 5, 5, 5], "{controller}: {}", run.out);
        assert!(run.err.contains("MSR 0xc8b of socket 0: put back"), "{}", run.err);
        is_as_before(&machine, &before);
    }
}

#[test]
fn a_minute_has_no_more_changes_than_allowed() {
    let machine = OnMachine::new("skylake", &[]);
    let own = ["--changes-per-minute", "2", "--window", "10000", "--format", "json", "--for", "2m"];
    let run = machine.run(&[&STEER[..], &own].concat());
    // Twelve windows of ten seconds; the third change has to wait for the second minute.
    assert_eq!(ways(&run.out), [2, 3, 4, 4, 4, 4, 4, 5, 6, 6, 6, 6], "{}", run.out);
    assert!(run.out.contains("too-often"), "{}", run.out);
}

#[test]
fn a_signal_ends_it_and_puts_back() {
    for signal in [Signal::INT, Signal::TERM, Signal::QUIT] {
        let machine = OnMachine::new("skylake", &[]);
        let before = machine.content();
        let mut command = machine.command(&[&STEER[..], &["--window", "10"]].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("runs");
        let mut said = BufReader::new(child.stdout.take().expect("standard output")).lines();
        assert!(said.any(|line| line.expect("a line").contains("now 4")));
        assert!(machine.content() != before);
        kill_process(Pid::from_child(&child), signal).expect("a signal");
        drop(said);
        // A reader that has gone ends it as well, if it writes first.
        let code = child.wait().expect("its end").code();
        assert!(matches!(code, Some(0 | 130)), "{code:?}");
        is_as_before(&machine, &before);
    }
}

#[test]
fn a_kill_at_any_step_leaves_a_journal_for_restore() {
    for step in ["journalled", "written", "read-back", "recorded"] {
        let machine = OnMachine::new("skylake", &[]);
        let before = machine.content();
        let run = machine.run_and_crash(step, &[&STEER[..], &["--windows", "4"]].concat());
        assert_eq!(run.code, None, "{step}: {}", run.err);
        assert_eq!(machine.run(&["restore"]).code, Some(0), "{step}");
        is_as_before(&machine, &before);
    }
}

/// A machine with failures, further arguments, the exit code and words of the message.
type Case = (&'static str, &'static [&'static str], &'static [&'static str], i32, &'static str);

#[test]
fn what_cannot_be_steered_is_refused_at_once() {
    let cases: [Case; 9] = [
        ("haswell", &[], &[], 3, "no publicly documented register"),
        ("turin", &[], &[], 3, "no publicly documented register"),
        ("skylake", &["no-uncore-driver"], &[], 3, "cannot be counted here"),
        ("skylake", &["counters-refused"], &["--windows", "2"], 1, "the counters are gone"),
        ("skylake", &["writes-ignored"], &["--windows", "2"], 4, "does not hold what was asked"),
        ("skylake", &["writes-refused"], &["--windows", "2"], 3, "does not hold what was asked"),
        ("skylake", &["msr-refused"], &["--windows", "2"], 3, "firmware or hypervisor refuse it"),
        ("skylake", &[], &["--min-ways", "1"], 2, "allowed are 2 to 11"),
        ("skylake", &[], &["--shrink-below", "2000000"], 2, "up to --grow-above"),
    ];
    for (name, failures, own, code, words) in cases {
        let machine = OnMachine::new(name, failures);
        let before = machine.content();
        let run = machine.run(&[&STEER[..], own].concat());
        assert_eq!(run.code, Some(code), "{name} {failures:?} {own:?}: {}{}", run.out, run.err);
        assert!(run.err.contains(words), "{name} {failures:?} {own:?}: {}", run.err);
        is_as_before(&machine, &before);
    }
}

#[test]
fn on_top_of_earlier_changes_nothing_is_steered() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "3", "--apply"]).code, Some(0));
    let run = machine.run(&[&STEER[..], &["--windows", "2"]].concat());
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert!(run.err.contains("remedy: skipline-host restore"), "{}", run.err);
}
