//! Are settings held only as long as they should be, and put back however that ends?

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::on_machine::{OnMachine, Run, STATE};

/// Two kinds of controls, both sockets.
const SETTINGS: [&str; 6] = ["run", "--ddio-ways", "4", "--cat", "web=0x3", "--apply"];

fn run_shell(machine: &OnMachine, script: &str) -> Run {
    machine.run(&[&SETTINGS[..], &["--", "sh", "-c", script]].concat())
}

fn is_as_before(
    machine: &OnMachine,
    before: &std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>,
) {
    assert!(machine.content() == *before);
    assert!(!machine.path().join(STATE).join("journal.json").exists());
}

#[test]
fn a_command_runs_under_the_settings_and_its_exit_code_is_passed_on() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    let root = machine.path().display();
    let script = format!("cat {root}/registers.state {root}/sys/fs/resctrl/web/schemata; exit 7");
    let run = run_shell(&machine, &script);
    assert_eq!(run.code, Some(7), "{}", run.err);
    // Standard output is the command's alone: 0x780 in the register of both sockets.
    assert_eq!(run.out.matches("1920").count(), 2, "{}", run.out);
    assert!(run.out.contains("L3:0=003;1=003"), "{}", run.out);
    assert!(run.err.contains("MSR 0xc8b of socket 1: put back"), "{}", run.err);
    is_as_before(&machine, &before);
    assert_eq!(run_shell(&machine, "true").code, Some(0));
    is_as_before(&machine, &before);
}

#[test]
fn settings_are_put_back_however_the_command_ends() {
    for (script, code) in [
        ("kill -KILL $$", 137),
        ("kill -SEGV $$", 139),
        // Passed on; without that it would end by itself, and with 0.
        ("kill -TERM $PPID; exec sleep 60", 143),
        ("kill -HUP $PPID; exec sleep 60", 129),
        // As Ctrl-C, to this program alone.
        ("kill -INT $PPID; kill -QUIT $PPID; exit 3", 3),
    ] {
        let machine = OnMachine::new("skylake", &[]);
        let before = machine.content();
        let run = run_shell(&machine, script);
        assert_eq!(run.code, Some(code), "{script}: {}", run.err);
        is_as_before(&machine, &before);
    }
}

#[test]
fn a_command_that_cannot_be_started_leaves_nothing_behind() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    for (program, code) in [("/no/such/program", 127), ("/etc/passwd", 126)] {
        let run = machine.run(&[&SETTINGS[..], &["--", program]].concat());
        assert_eq!(run.code, Some(code), "{}", run.err);
        assert!(run.err.contains("cannot be started"), "{}", run.err);
        is_as_before(&machine, &before);
    }
}

#[test]
fn after_a_kill_of_the_tool_itself_its_guard_puts_back_once_the_command_has_ended() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    let root = machine.path().display().to_string();
    let tool = format!("{} --root {root}", env!("CARGO_BIN_EXE_skipline-host"));
    // The guard has standard error to its end, so that the run is read until then. What the command has
    // of descriptors is nothing to the guard.
    let script = format!(
        // The tool has told its guard of the command before it passes signals on, each in a thread.
        "until [ $(ls /proc/$PPID/task | wc -l) -gt 2 ]; do :; done
         kill -KILL $PPID; exec 9>&- 8>&- 7>&- 6>&- 5>&- 4>&- 3>&-
         for time in 1 2 3 4 5; do {tool} status >> {root}/run/seen; done
         {tool} tune ddio-ways 6 --apply 2> {root}/run/refused; echo $? >> {root}/run/refused"
    );
    let run = run_shell(&machine, &script);
    assert_eq!(run.code, None, "{}", run.err);
    assert!(run.err.contains("skipline-host was killed while it held settings\n"), "{}", run.err);
    assert_eq!(run.err.matches(": put back").count(), 4, "{}", run.err);
    let read = |name: &str| fs::read_to_string(machine.path().join(name)).expect("a file");
    assert_eq!(read("run/seen").matches("MSR 0xc8b = 0x780").count(), 10, "held to its end");
    let refused = read("run/refused");
    assert!(refused.contains("lock") && refused.ends_with("3\n"), "no other process: {refused}");
    is_as_before(&machine, &before);
    // Also while it writes, and where nothing waits for a command.
    // The end of standard error may be seen just before that of the lock.
    let hour = ["--wait", "tune", "ddio-ways", "4", "--apply", "--for", "1h"];
    let steer = ["--wait", "steer", "--apply", "--windows", "100"];
    let command = [&["--wait"][..], &SETTINGS, &["--", "true"]].concat();
    for step in ["journalled", "written", "read-back", "recorded"] {
        for arguments in [&command[..], &hour, &steer] {
            let run = machine.run_and_crash(step, arguments);
            assert_eq!(run.code, None, "{step} {arguments:?}: {}", run.err);
            is_as_before(&machine, &before);
        }
    }
}

#[test]
fn what_the_guard_cannot_put_back_it_says_and_leaves_for_restore() {
    let machine = OnMachine::new("skylake", &[]);
    let state = machine.path().join("registers.state").display().to_string();
    // Another program writes the ways meanwhile: 0x780 becomes 0x7c0.
    let run = run_shell(
        &machine,
        &format!(
            "until [ $(ls /proc/$PPID/task | wc -l) -gt 2 ]; do :; done
             kill -KILL $PPID; sed -i s/1920/1984/ {state}"
        ),
    );
    assert_eq!(run.code, None);
    assert!(run.err.contains("another program set it to 0x7c0"), "{}", run.err);
    assert!(run.err.contains("it stays in the journal"), "{}", run.err);
    assert_eq!(machine.run(&["restore", "--all", "--wait"]).code, Some(0));
}

#[test]
fn after_a_kill_of_the_guard_too_the_journal_is_left_for_restore() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    // The guard is the other child of the tool. A stopped one does not hold the tool up.
    let guard = "for status in $(grep -l \"^PPid:.$PPID$\" /proc/[0-9]*/status 2>/dev/null); do
        child=${status#/proc/}; child=${child%/status}
        [ $child = $$ ] || kill -SIGNAL $child 2>/dev/null
    done";
    assert_eq!(run_shell(&machine, &guard.replace("SIGNAL", "STOP")).code, Some(0));
    is_as_before(&machine, &before);
    let script = guard.replace("SIGNAL", "KILL") + "; kill -KILL $PPID";
    assert_eq!(run_shell(&machine, &script).code, None);
    assert!(machine.content() != before);
    assert_eq!(machine.run(&["restore", "--wait"]).code, Some(0));
    is_as_before(&machine, &before);
}

#[test]
fn names_that_look_like_options_are_names_to_the_guard_too() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    let script = ["--", "sh", "-c", "kill -KILL $PPID"];
    let run = machine.run(&[&["--state-dir=-s"], &SETTINGS[..], &script].concat());
    assert_eq!(run.code, None, "{}", run.err);
    assert!(run.err.contains("killed while it held settings"), "{}", run.err);
    fs::remove_dir_all(machine.path().join("-s")).expect("the journal's directory");
    assert!(machine.content() == before);
}

#[test]
fn without_apply_and_where_a_setting_is_not_taken_the_command_does_not_run() {
    let command = |machine: &OnMachine, settings: &[&str]| {
        let mark = machine.path().join("run-mark").display().to_string();
        let run = machine.run(&[settings, &["--", "touch", &mark]].concat());
        assert!(!machine.path().join("run-mark").exists(), "{settings:?}");
        run
    };
    let machine = OnMachine::new("skylake", &[]);
    let run = command(&machine, &SETTINGS[..5]);
    assert_eq!(run.code, Some(0));
    assert!(run.out.contains("nothing was written. --apply writes these 4 values."), "{}", run.out);
    assert_eq!(command(&machine, &["run", "--apply"]).code, Some(2));
    assert_eq!(command(&machine, &["run", "--io-alloc", "on", "--apply"]).code, Some(3));
    let widened = OnMachine::new("cascade-lake", &[]);
    let before = widened.content();
    let run = command(&widened, &["run", "--ddio-ways", "4", "--cat", "batch=0x400", "--apply"]);
    assert_eq!(run.code, Some(4), "{}", run.err);
    is_as_before(&widened, &before);
    let refused = OnMachine::new("skylake", &["writes-refused"]);
    let run = command(&refused, &SETTINGS);
    assert_eq!(run.code, Some(3), "{}", run.err);
    // Earlier changes must not be undone by this.
    assert_eq!(machine.run(&["tune", "ddio-ways", "3", "--apply"]).code, Some(0));
    let before = machine.content();
    let run = command(&machine, &SETTINGS);
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(run.err.contains("remedy: skipline-host restore"), "{}", run.err);
    assert!(machine.content() == before);
}

#[test]
fn settings_that_undo_each_other_are_refused_before_anything_is_written() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    let twice = ["--cat", "default=0x3", "--cat", "default=0x7", "--", "true"];
    for run in [&["run"][..], &["run", "--apply"]] {
        let run = machine.run(&[run, &twice].concat());
        assert_eq!(run.code, Some(2), "{}", run.err);
        assert!(run.err.contains("0x3 and 0x7 are both asked for"), "{}", run.err);
    }
    is_as_before(&machine, &before);
}

#[test]
fn what_is_held_knows_journals_of_other_directories() {
    let machine = OnMachine::new("skylake", &[]);
    let elsewhere = ["--state-dir", "x1", "tune", "ddio-ways", "4", "--apply"];
    assert_eq!(machine.run(&elsewhere).code, Some(0));
    let run = run_shell(&machine, "true");
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert!(run.err.contains("restore --state-dir x1"), "{}", run.err);
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    // And the other way round.
    assert_eq!(machine.run(&elsewhere[2..]).code, Some(0));
    let run =
        machine.run(&["--state-dir", "x1", "tune", "ddio-ways", "5", "--apply", "--for", "1ms"]);
    assert_eq!(run.code, Some(3), "{}", run.err);
}

/// Started by a shell that ignores SIGHUP, as nohup does.
#[test]
fn what_nohup_has_ignored_ends_neither_the_tool_nor_the_command() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    let tool =
        machine.command(&[&SETTINGS[..], &["--", "sh", "-c", "kill -HUP $PPID; exit 4"]].concat());
    // Without `env` and its reset of signals.
    let words = tool.get_args().skip(1);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).args(words);
    let ended = shell.output().expect("a shell");
    assert_eq!(ended.status.code(), Some(4), "{}", String::from_utf8_lossy(&ended.stderr));
    is_as_before(&machine, &before);
}

#[test]
fn an_error_that_nobody_can_read_keeps_its_exit_code() {
    let machine = OnMachine::new("skylake", &[]);
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
    for (arguments, code) in [
        (&["tune", "ddio-ways", "99"][..], 2),
        (&["run", "--ddio-ways", "4", "--apply", "--", "/no/such/program"], 127),
    ] {
        let ended = machine.command(arguments).stderr(full()).status().expect("it runs");
        assert_eq!(ended.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn a_change_for_a_time_that_nobody_can_read_is_not_held() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
    let change = ["tune", "ddio-ways", "4", "--apply", "--for", "10h"];
    let ended = machine.command(&change).stdout(full).status().expect("it runs");
    assert_eq!(ended.code(), Some(1));
    is_as_before(&machine, &before);
}

/// Started, with its standard error.
fn start(machine: &OnMachine, arguments: &[&str]) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut command = machine.command(arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    let said = BufReader::new(child.stderr.take().expect("standard error"));
    (child, said)
}

fn read_until(said: &mut impl BufRead, words: &str) {
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert_ne!(said.read_line(&mut line).expect("a line"), 0, "it ended before \"{words}\"");
    }
}

#[test]
fn a_change_for_a_time_ends_with_it_or_with_a_signal() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    let change = ["tune", "ddio-ways", "4", "--apply"];
    let run = machine.run(&[&change[..], &["--for", "1ms"]].concat());
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("set, reads back 0x780"), "{}", run.out);
    is_as_before(&machine, &before);
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        let (mut child, mut said) = start(&machine, &[&change[..], &["--for", "1h"]].concat());
        read_until(&mut said, "held for 3600 s");
        assert!(machine.content() != before);
        // Held: no other change comes in between.
        let refused = machine.run(&change);
        assert_eq!(refused.code, Some(3), "{}", refused.err);
        assert!(refused.err.contains("another skipline-host"), "{}", refused.err);
        kill_process(Pid::from_child(&child), signal).expect("a signal");
        assert_eq!(child.wait().expect("its end").code(), Some(130));
        is_as_before(&machine, &before);
    }
    for (time, words) in [("10", "with its unit"), ("0s", "with its unit"), ("31d", "allowed")] {
        let run = machine.run(&[&change[..], &["--for", time]].concat());
        assert_eq!(run.code, Some(2), "{}", run.out);
        assert!(run.err.contains(words), "{}", run.err);
    }
}

#[test]
fn a_change_for_a_time_that_is_cut_short_is_put_back_and_says_so() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    let tool = machine.command(&["tune", "ddio", "off", "--apply", "--for", "1h"]);
    // Without `env` and its reset of signals. The journal of one port fits into 512 bytes, that of two
    // does not.
    let words = tool.get_args().skip(1);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh"]).args(words);
    let ended = shell.output().expect("a shell");
    let [out, err] = [&ended.stdout, &ended.stderr].map(|text| String::from_utf8_lossy(text));
    assert_eq!(ended.status.code(), Some(1), "{out}{err}");
    assert_eq!(out.matches("set, reads back").count(), 1, "{out}");
    assert!(err.contains("what was written before is put back"), "{err}");
    assert!(!err.contains("restore") && !out.contains("restore"), "{out}{err}");
    is_as_before(&machine, &before);
}

#[test]
fn what_is_held_is_not_left_to_a_restore() {
    let machine = OnMachine::new("skylake", &[]);
    let change = ["tune", "ddio-ways", "4", "--apply"];
    let run = machine.run(&[&change[..], &["--for", "1ms"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(!run.out.contains("restore") && run.err.contains("put back"), "{}", run.out);
    assert!(machine.run(&change).out.contains("`skipline-host restore` puts"));
    // Whether a tool that holds the change still runs is not known to these.
    for screen in ["status", "doctor"] {
        let said = machine.run(&[screen]).out;
        assert!(said.contains("`tune --for` that still runs does so at its end"), "{said}");
    }
}

#[test]
fn with_wait_a_change_comes_after_the_tool_that_has_the_lock() {
    let machine = OnMachine::new("skylake", &[]);
    let lock = fs::File::create(machine.lock_file()).expect("a lock");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("the lock");
    let change = ["tune", "ddio-ways", "4", "--apply", "--wait"];
    let (mut child, mut said) = start(&machine, &change);
    read_until(&mut said, "waiting for the lock");
    assert_eq!(child.try_wait().expect("its state"), None);
    drop(lock);
    assert_eq!(child.wait().expect("its end").code(), Some(0));
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("the rest");
    assert_eq!(rest, "");
    assert_eq!(machine.run(&["status"]).out.matches("MSR 0xc8b = 0x780").count(), 2);
}

#[test]
fn with_wait_a_change_begins_at_what_the_tool_that_had_the_lock_left() {
    for later in [
        ["tune", "ddio-ways", "5", "--apply", "--wait"].as_slice(),
        &["run", "--ddio-ways", "5", "--apply", "--wait", "--", "true"],
    ] {
        let machine = OnMachine::new("skylake", &[]);
        let before = machine.content();
        let hold = ["run", "--ddio-ways", "4", "--apply", "--", "sh", "-c", "echo held; read line"];
        let mut holding = machine.command(&hold);
        holding.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut holding = holding.spawn().expect("starts");
        read_until(&mut BufReader::new(holding.stdout.take().expect("is piped")), "held");
        let (mut waiting, mut said) = start(&machine, later);
        read_until(&mut said, "waiting for the lock");
        drop(holding.stdin.take());
        holding.wait().expect("its end");
        assert_eq!(waiting.wait().expect("its end").code(), Some(0), "{later:?}");
        assert_eq!(machine.run(&["restore"]).code, Some(0));
        is_as_before(&machine, &before);
    }
}

#[test]
fn with_wait_groups_are_changed_after_the_program_that_has_their_lock() {
    let machine = OnMachine::new("skylake", &[]);
    let mount = fs::File::open(machine.path().join("sys/fs/resctrl")).expect("resctrl");
    rustix::fs::flock(&mount, rustix::fs::FlockOperation::LockExclusive).expect("the lock");
    let change = ["tune", "cat", "web", "0x3", "--apply"];
    assert_eq!(machine.run(&change).code, Some(3));
    let (mut child, _said) = start(&machine, &[&change[..], &["--wait"]].concat());
    // The lock of the machine is taken first: from then on only that of the groups is missing.
    let lock = machine.path().join("run/skipline-host/lock");
    let lock = fs::File::open(lock).expect("the lock of the first run");
    let free = || {
        let taken = rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockShared);
        taken.and_then(|()| rustix::fs::flock(&lock, rustix::fs::FlockOperation::Unlock)).is_ok()
    };
    while free() && child.try_wait().expect("its state").is_none() {
        std::thread::yield_now();
    }
    rustix::fs::flock(&mount, rustix::fs::FlockOperation::Unlock).expect("no lock");
    assert_eq!(child.wait().expect("its end").code(), Some(0));
    assert_eq!(machine.run(&["restore"]).code, Some(0));
}
