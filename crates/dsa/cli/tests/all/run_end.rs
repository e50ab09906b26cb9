//! How a run ends: as its program does, and with nothing left.

use crate::runs::{Place, client};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn the_code_is_that_of_the_program() {
    for code in [0, 1, 7, 255] {
        let text = format!("exit {code}");
        Place::new().run(&[], &["bash", "-c", &text]).with(code);
    }
    Place::new().client(&[], &["exit", "wq0.1", "9"]).with(9);
}

#[test]
fn the_code_of_a_signal_is_128_and_its_number() {
    for (signal, code) in [("KILL", 137), ("TERM", 143), ("HUP", 129), ("USR1", 138)] {
        Place::new().script(&[], &format!("$client load wq0.1 50 1; kill -{signal} $$")).with(code);
    }
}

#[test]
fn a_signal_to_the_command_reaches_the_program() {
    for signal in ["TERM", "INT", "HUP", "QUIT"] {
        let place = Place::new();
        let script =
            format!("trap 'echo caught; exit 5' {signal}; echo ready; while :; do :; done");
        let mut command = std::process::Command::new("env");
        // A shell does not trap what was ignored before it began, as it is below `nohup`.
        command.arg(format!("--default-signal={signal}")).arg(crate::runs::command());
        place.for_tests(&mut command).args(["run", "--", "bash", "-c", &script]);
        let mut run = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
        let mut lines = BufReader::new(run.stdout.take().expect("is piped")).lines();
        assert_eq!(lines.next().expect("is said").expect("is text"), "ready");
        let (name, number) = (format!("-{signal}"), run.id().to_string());
        let killed = std::process::Command::new("kill").args([&name, &number]).status();
        assert!(killed.expect("runs").success());
        assert_eq!(lines.next().expect("is said").expect("is text"), "caught");
        assert_eq!(run.wait().expect("ends").code(), Some(5));
        assert_eq!(place.left(), [""; 0]);
    }
}

#[test]
fn a_signal_that_is_ignored_stays_so_for_the_program() {
    let place = Place::new();
    let mut command = std::process::Command::new("bash");
    // As `nohup` does.
    let script = "trap '' HUP; exec \"$0\" run -q -- bash -c 'kill -HUP $$; echo alive'";
    place.for_tests(&mut command).args(["-c", script]).arg(crate::runs::command());
    assert_eq!(crate::runs::ended(&mut command).with(0), "alive\n");
}

#[test]
fn a_command_that_is_killed_leaves_no_devices_and_the_next_run_works() {
    let place = Place::new();
    let mut command = std::process::Command::new(crate::runs::command());
    place.for_tests(&mut command).args(["run", "--"]).arg(client()).args(["holds", "wq0.1"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut run = command.spawn().expect("starts");
    let mut lines = BufReader::new(run.stdout.take().expect("is piped")).lines();
    assert_eq!(lines.next().expect("is said").expect("is text"), "open");
    run.kill().expect("SIGKILL");
    run.wait().expect("ends");
    // Its end of the input is closed with this, which ends the program.
    drop(run.stdin.take());
    let list = crate::runs::ended(&mut place.command(&["list"])).with(0);
    assert!(list.starts_with("no run is under way") || list.starts_with("machine"), "{list}");
    crate::runs::ended(&mut place.command(&["run", "--", "true"])).with(0);
}

#[test]
fn nothing_of_a_run_is_seen_outside_of_it() {
    let place = Place::new();
    let seen = |path: &str| std::path::Path::new(path).exists();
    let before = ["/sys/bus/dsa", "/dev/dsa", "/sys/module/idxd"].map(seen);
    let mut command = place.command(&["run", "--"]);
    command.arg(client()).args(["holds", "wq0.1"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut run = command.spawn().expect("starts");
    let mut lines = BufReader::new(run.stdout.take().expect("is piped")).lines();
    assert_eq!(lines.next().expect("is said").expect("is text"), "open");
    assert_eq!(["/sys/bus/dsa", "/dev/dsa", "/sys/module/idxd"].map(seen), before);
    drop(run.stdin.take());
    assert!(run.wait().expect("ends").success());
    assert_eq!(place.left(), [""; 0]);
}

#[test]
fn a_program_outside_of_a_run_loads_the_library_in_peace() {
    let library = crate::runs::command().with_file_name("libskipline_dsa_trap.so");
    let mut command = std::process::Command::new(client());
    command.arg("cpuid");
    let without = crate::runs::ended(&mut command).with(0);
    let with = crate::runs::ended(command.env("LD_PRELOAD", library));
    assert_eq!(with.errors, "");
    assert_eq!(with.with(0), without);
}
