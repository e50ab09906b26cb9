//! Do scripts learn from exit code and JSON how a command ended?

use std::fs;

use crate::on_machine::{OnMachine, Run};

fn json(run: &Run) -> serde_json::Value {
    serde_json::from_str(&run.out).expect("one JSON object")
}

/// Without any traffic.
fn silent(name: &str) -> OnMachine {
    let machine = OnMachine::new(name, &[]);
    let path = machine.path().join("registers.toml");
    let text = fs::read_to_string(&path).expect("registers");
    let mut table: toml::Table = text.parse().expect("a table");
    table.remove("traffic");
    fs::write(path, table.to_string()).expect("registers");
    machine
}

#[test]
fn exit_codes_tell_refused_ignored_without_effect_and_not_judged_apart() {
    let four = ["tune", "ddio-ways", "4", "--apply", "--verify"].as_slice();
    let skylake = |failures: &[&str]| OnMachine::new("skylake", failures);
    for (machine, change, code) in [
        (skylake(&[]), four, 0),
        (skylake(&["msr-module-absent"]), four, 1),
        (skylake(&[]), &["tune", "ddio-ways", "1"], 2),
        (skylake(&["writes-refused"]), four, 3),
        (skylake(&["msr-refused"]), four, 3),
        (skylake(&["not-root"]), four, 3),
        (skylake(&["not-root"]), &["tune", "ddio", "off"], 3),
        (skylake(&["registers-dead"]), four, 3),
        (skylake(&["msr-short-read"]), four, 1),
        (skylake(&["counters-refused"]), &["monitor", "--windows", "1"], 3),
        (skylake(&[]), &["tune", "io-alloc", "on"], 3),
        (skylake(&["writes-ignored"]), four, 4),
        (OnMachine::new("cascade-lake", &[]), &["tune", "cat", "batch", "0x400", "--apply"], 4),
        (OnMachine::new("ice-lake", &[]), four, 5),
        (silent("skylake"), four, 6),
    ] {
        let run = machine.run(change);
        assert_eq!(run.code, Some(code), "{change:?}: {}{}", run.out, run.err);
    }
}

#[test]
fn help_and_documentation_list_the_same_exit_codes() {
    let help = OnMachine::new("skylake", &[]).run(&["--help"]).out;
    let (_, listed) = help.split_once("Exit codes:\n").expect("exit codes");
    let listed = listed.split("\n\n").next().expect("lines").lines();
    let of_help: Vec<(&str, &str)> =
        listed.filter_map(|line| line.trim().split_once("  ")).collect();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/host.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, table) = page.split_once("| exit code | meaning |\n| --- | --- |\n").expect("a table");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let of_page: Vec<(&str, &str)> =
        rows.filter_map(|row| row.trim_matches(['|', ' ']).split_once(" | ")).collect();
    assert_eq!(of_help, of_page);
    assert!(of_help.len() >= 8);
}

#[test]
fn json_says_its_version_and_has_masks_as_people_write_them() {
    let machine = OnMachine::new("skylake", &[]);
    let applied = json(&machine.run(&["tune", "ddio-ways", "4", "--apply", "--format", "json"]));
    assert_eq!(applied["schema_version"], 1);
    let (change, done) = (&applied["plan"]["changes"][0], &applied["applied"][0]);
    assert_eq!([&change["old"], &change["asked"], &change["owned"]], ["0x600", "0x780", "0x7ff"]);
    assert_eq!([&done["old"], &done["asked"]], ["0x600", "0x780"]);
    let status = json(&machine.run(&["status", "--format", "json"]));
    assert_eq!(status["schema_version"], 1);
    assert_eq!(status["sockets"][0]["io_ways"]["mask"], "0x780");
    let resource = &status["caches"]["resources"][0];
    assert_eq!([&resource["all_ways"], &resource["shareable"]], ["0x7ff", "0x600"]);
    assert_eq!(status["caches"]["groups"][1]["masks"][0]["masks"][0][1], "0x1f");
    let restored = json(&machine.run(&["restore", "--format", "json"]));
    let entry = &restored["restored"][0]["entry"];
    assert_eq!([&entry["old"], &entry["read_back"]], ["0x600", "0x780"]);
    let window = json(&machine.run(&["monitor", "--windows", "1", "--format", "json"]));
    assert_eq!(window["schema_version"], 1);
}

#[test]
fn a_mask_without_ways_is_refused_or_said_to_keep_nothing() {
    for (change, allowed) in [
        (["tune", "cat", "web", "0x0"], "the mask selects no way (allowed: 0x1 to 0x7ff"),
        (["tune", "cat", "web", "0"], "the mask selects no way (allowed: 0x1 to 0x7ff"),
        (
            ["tune", "ddio-mask", "0", "--apply"],
            "allowed are masks of one way or more within 0x7ff",
        ),
    ] {
        let run = OnMachine::new("skylake", &[]).run(&change);
        assert_eq!(run.code, Some(2), "{}", run.out);
        assert!(run.err.contains(allowed), "{}", run.err);
    }
    // AMD's masks may be empty.
    let machine = OnMachine::new("turin", &[]);
    let before = machine.content();
    for (change, whose) in [
        (["tune", "cat", "db", "0x0"].as_slice(), "the tasks of this group"),
        (&["tune", "io-alloc", "0x0"], "devices"),
    ] {
        let run = machine.run(change);
        let words = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = format!("a mask without ways: lines of {whose} are not kept in the L3");
        assert!(words.contains(&expected) && words.contains("none of 16 ways"), "{}", run.out);
        let run = machine.run(&[change, &["--apply"]].concat());
        assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    }
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    assert!(machine.content() == before);
}
