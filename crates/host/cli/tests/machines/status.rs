//! What does the status screen say on each machine, and what does it say when reads fail?

use std::fs;

use crate::on_machine::{OnMachine, screen};

const MACHINES: [&str; 6] =
    ["haswell", "skylake", "cascade-lake", "ice-lake", "sapphire-rapids", "turin"];

#[test]
fn every_machine_of_the_library_is_tested_here() {
    let mut tested = MACHINES.map(str::to_owned);
    tested.sort_unstable();
    assert_eq!(fake_machines::machines().expect("the library"), tested);
}

#[test]
fn the_screen_of_every_machine_is_the_reviewed_one() {
    let screens = MACHINES.map(|machine| {
        let run = OnMachine::new(machine, &[]).run(&["status", "--explain"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{machine}");
        screen(machine, &run.out)
    });
    insta::assert_snapshot!("status_of_machines", screens.join("\n\n"));
}

#[test]
fn every_failure_is_told_with_its_reason_and_what_helps() {
    let failures = fake_machines::failures().expect("the library");
    let screens = failures.iter().map(|failure| {
        let run = OnMachine::new("skylake", &[failure]).run(&["status"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{failure}");
        screen(failure, &run.out)
    });
    insta::assert_snapshot!("status_of_failures", screens.collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn json_holds_what_the_screen_shows() {
    let run = OnMachine::new("cascade-lake", &[]).run(&["status", "--format", "json", "--explain"]);
    let status: serde_json::Value = serde_json::from_str(&run.out).expect("one JSON object");
    assert_eq!(status["generation"]["name"], "Cascade Lake");
    assert_eq!(status["sockets"][1]["io_ways"]["mask"], "0x600");
    assert_eq!(status["sockets"][0]["ports"][1]["ddio"]["state"], "on");
    assert_eq!(status["sockets"][0]["ports"][1]["devices"][0]["rings"][0][1]["rx"], 1024);
    assert_eq!(status["explanations"].as_array().map(Vec::len), Some(8));
}

#[test]
fn a_device_of_another_domain_is_not_put_below_a_port_of_the_same_bus_number() {
    let run = OnMachine::new("skylake", &[]).run(&["status", "--format", "json"]);
    let status: serde_json::Value = serde_json::from_str(&run.out).expect("one JSON object");
    let ports = status["sockets"][0]["ports"].as_array().expect("ports");
    let port = |bdf: &str| ports.iter().find(|port| port["port"] == bdf).expect("a port");
    assert_eq!(port("10001:16:00.0")["devices"][0]["bdf"], "10001:17:00.0");
    let below: Vec<_> = port("0000:16:00.0")["devices"].as_array().expect("devices").to_vec();
    assert!(
        below.iter().all(|device| device["bdf"].as_str().expect("a name").starts_with("0000:17"))
    );
}

#[test]
fn an_empty_directory_gives_reasons_and_no_panic() {
    let machine = OnMachine::new("skylake", &[]);
    for entry in std::fs::read_dir(machine.path()).expect("the tree") {
        let path = entry.expect("an entry").path();
        let removed =
            if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        removed.expect("removing");
    }
    let run = machine.run(&["status", "--explain"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!("empty_directory", run.out);
}

#[test]
fn a_root_that_is_not_there_is_bad_input() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_skipline-host"))
        .args(["--root", "/nowhere/at/all", "status"])
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: --root: /nowhere/at/all: does not exist\n"
    );
}

#[test]
fn this_very_machine_gets_a_screen() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_skipline-host"))
        .args(["status", "--format", "json"])
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(0));
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(!status["sockets"].as_array().expect("sockets").is_empty());
}

#[test]
fn a_clock_that_does_not_answer_or_is_one_die_s_is_not_shown() {
    let dead = OnMachine::new("haswell", &[]);
    let registers = |socket: u32| format!("\"socket{socket}.0x621\": {}", u64::MAX);
    let text = format!("{{{}, {}}}", registers(0), registers(1));
    fs::write(dead.path().join("registers.state"), text).expect("registers");
    let run = dead.run(&["status"]);
    assert!(run.out.contains("  Uncore      1.2 to "), "no clock now: {}", run.out);
    assert!(!run.out.contains("GHz now"), "{}", run.out);

    let dies = OnMachine::new("cascade-lake-ap", &[]);
    assert_eq!(dies.run(&["status"]).out.matches("1.8 GHz now").count(), 2);
    let die = "sys/devices/system/cpu/intel_uncore_frequency/package_00_die_01";
    fs::write(dies.path().join(die).join("max_freq_khz"), "800000\n").expect("a clock");
    let run = dies.run(&["status"]);
    assert_eq!(run.out.matches("1.8 GHz now").count(), 1, "socket 1's: {}", run.out);
    let words = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "its dies differ: die 0 1200 to 2400 MHz; die 1 1200 to 800 MHz";
    assert!(words.contains(expected), "{words}");
    fs::remove_dir_all(dies.path().join(die)).expect("one die less");
    let run = dies.run(&["status"]);
    assert!(run.out.contains("the kernel shows no clock of its die 1"), "{}", run.out);
    fs::remove_dir_all(dies.path().join("sys/devices/system/cpu/intel_uncore_frequency"))
        .expect("no driver");
    let run = dies.run(&["status"]);
    let words = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("MSR 0x620 is the clock of one of its 2 dies"), "{words}");
}
