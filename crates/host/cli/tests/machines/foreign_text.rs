//! Does a name or text that others chose do more than show letters, and does a file end where it has no end?

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::on_machine::{OnMachine, Run};

/// Colours, hides, renames the window, turns letters around, and says so in two ways.
const NASTY: &str = "web\u{1b}[8m\u{1b}]0;pwn\u{7}\u{9b}2J\u{202e}\u{200b}\r";

fn is_clean(run: &Run, what: &[&str]) {
    for text in [&run.out, &run.err] {
        let odd = text.chars().find(|&c| inputs::foreign::is_unprintable(c));
        assert_eq!(odd, None, "{what:?}: {text:?}");
    }
}

#[test]
fn no_text_of_the_machine_reaches_the_terminal_as_it_is() {
    let machine = OnMachine::new("skylake", &[]);
    let path = machine.path();
    let cpuinfo = fs::read_to_string(path.join("proc/cpuinfo")).expect("CPUs");
    fs::write(path.join("proc/cpuinfo"), cpuinfo.replace("Xeon", &format!("Xeon{NASTY}")))
        .expect("CPUs");
    let groups = path.join("sys/fs/resctrl");
    fs::rename(groups.join("web"), groups.join(NASTY)).expect("a group");
    let devices = path.join("sys/bus/pci/devices");
    let device = fs::read_dir(&devices).expect("devices").next().expect("a device").expect("it");
    fs::create_dir_all(device.path().join("net").join(NASTY)).expect("a name");
    fs::write(path.join("sys/devices/system/cpu/smt/control"), format!("{NASTY}\n")).ok();
    let mask = ["tune", "cat", NASTY, "0x3"];
    let commands: [&[&str]; 14] = [
        &["status"],
        &["status", "--explain"],
        &["status", "--format", "json"],
        &["doctor"],
        &["doctor", "--format", "json"],
        &["monitor", "--windows", "1"],
        &["monitor", "--windows", "1", "--format", "csv"],
        &["monitor", "--windows", "1", "--format", "json"],
        &mask,
        &["tune", "cat", "web", "0x3"],
        &["run", "--ddio-ways", "4", "--", "true"],
        &["calibrate", "--out", "/dev/null"],
        &["slices", "check"],
        &["restore"],
    ];
    let mut shown = 0;
    for command in commands {
        let run = machine.run(command);
        is_clean(&run, command);
        shown += usize::from(run.out.contains("web\u{fffd}[8m") || run.err.contains("web\u{fffd}"));
    }
    assert!(shown >= 6, "the names are shown all the same: {shown}");
    // Changes, and the journal that has them.
    let applied = [&mask[..], &["--apply"]].concat();
    for command in [&applied[..], &["status"], &["restore", "--dry-run"], &["restore"]] {
        is_clean(&machine.run(command), command);
    }
}

#[test]
fn names_of_files_and_arguments_are_printed_without_what_is_not_printable() {
    let machine = OnMachine::new("skylake", &[]);
    let file = machine.path().join(NASTY).display().to_string();
    for command in [
        &["slices", "check", "--table", &file][..],
        &["calibrate", "--from", &file, "--out", "/dev/null"],
        &["calibrate", "--out", &format!("{file}/x")],
        &["--state-dir", NASTY, "status"],
        &[NASTY],
        &["status", NASTY],
        &["tune", "ddio-ways", NASTY],
        &["run", "--ddio-ways", "4", "--apply", "--", &file],
    ] {
        is_clean(&machine.run(command), command);
    }
}

#[test]
fn an_argument_that_is_not_utf_8_is_a_wrong_one() {
    let machine = OnMachine::new("skylake", &[]);
    let odd = OsStr::from_bytes(b"\xff\x1b[2J");
    for before in [&[][..], &["tune"], &["tune", "ddio-ways"], &["run", "--ddio-ways"]] {
        let ended = machine.command(before).arg(odd).output().expect("the binary runs");
        assert_eq!(ended.status.code(), Some(2), "{before:?}");
        let words = String::from_utf8(ended.stderr).expect("is UTF-8");
        assert!(words.starts_with("error: ") && !words.contains('\u{1b}'), "{words:?}");
    }
}

#[test]
fn a_file_of_the_user_ends_at_a_bound() {
    let machine = OnMachine::new("skylake", &[]);
    for (command, limit) in [
        (&["slices", "check", "--table", "/dev/zero"][..], "4 MiB"),
        (&["slices", "latency", "--table", "/dev/zero"], "4 MiB"),
        (&["calibrate", "--from", "/dev/zero", "--out", "/dev/null"], "16 MiB"),
    ] {
        let run = machine.run(command);
        assert_eq!(run.code, Some(2), "{command:?}: {}", run.err);
        let words = format!("/dev/zero: longer than {limit}, which no text of this kind is");
        assert!(run.err.contains(&words), "{}", run.err);
    }
}
