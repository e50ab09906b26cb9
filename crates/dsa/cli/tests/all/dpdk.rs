//! DPDK's own tests of DMA devices, with its unmodified idxd driver: the package `dpdk-dev` of Debian.

use crate::runs::Place;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{ExitStatus, Stdio};

/// Names of DPDK's tests of a device.
const TESTS: [&str; 4] = ["copy", "burst capacity", "error handling", "fill"];

/// Operations that were submitted, that were completed, and that failed.
type Counts = (u64, u64, u64);

/// The last counts of each test of each device.
fn counts_by_device(output: &str) -> BTreeMap<String, BTreeMap<String, Counts>> {
    let mut devices = BTreeMap::<_, BTreeMap<_, _>>::new();
    let (mut device, mut test) = (String::new(), String::new());
    // Progress is written over itself.
    for line in output.split(['\r', '\n']) {
        if let Some((_, name)) = line.split_once("### Test dmadev instance ") {
            device = name.to_owned();
        } else if let Some((_, name)) = line.split_once(": Running ") {
            test = name.split_once(" Tests").map_or(name, |(name, _)| name).to_owned();
        } else if line.starts_with("Ops submitted: ") {
            let numbers = line.split('\t').filter_map(|part| part.rsplit(' ').next()?.parse().ok());
            let numbers: Vec<u64> = numbers.collect();
            let [submitted, completed, errors] = numbers[..] else { panic!("{line}") };
            let counts = (submitted, completed, errors);
            devices.entry(device.clone()).or_default().insert(test.clone(), counts);
        }
    }
    devices
}

/// Runs them on a number of devices, with further options; returns how the program ended, and its output.
fn run_its_tests(devices: usize, options: &[&str], name: &str) -> (ExitStatus, String) {
    let place = Place::new();
    let (count, prefix) = (devices.to_string(), format!("skipline-dsa-{name}"));
    let mut command = place.command(&["run", "--devices", &count]);
    command.args(options).args(["--", "dpdk-test", "--no-huge", "-m", "512", "--no-pci"]);
    command.args(["--no-shconf", "--no-telemetry", "-l", "0", "--file-prefix", &prefix]);
    let started =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut program = started.expect("starts");
    let mut commands = program.stdin.take().expect("is piped");
    commands.write_all(b"dmadev_autotest\nquit\n").expect("is read");
    let output = program.wait_with_output().expect("ends");
    (output.status, String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether they say so of themselves.
fn has_line(text: &str, wanted: &str) -> bool {
    text.split(['\r', '\n']).any(|line| line == wanted)
}

fn passes_its_tests(devices: usize, options: &[&str], name: &str) {
    let (status, text) = run_its_tests(devices, options, name);
    assert!(status.success(), "dpdk-test (package dpdk-dev): {status}\n{text}");
    assert!(has_line(&text, "Test OK"), "{text}");
    let failed = text.split(['\r', '\n']).filter(|line| line.starts_with("Failed"));
    assert!(failed.clone().all(|line| line.ends_with(": 0")), "{:?}", failed.collect::<Vec<_>>());

    let found = counts_by_device(&text);
    // DPDK numbers them in the order of the directory, which need not be that of the names.
    let mut ours: Vec<_> = found.keys().filter_map(|name| name.split_once(" [wq")).collect();
    ours.sort_by_key(|(_, name)| *name);
    let names: Vec<_> = ours.iter().map(|(_, name)| format!("[wq{name}")).collect();
    let wanted: Vec<_> = (0..devices).map(|number| format!("[wq{number}.0]")).collect();
    assert_eq!(names, wanted);
    for (device, tests) in found.iter().filter(|(name, _)| name.contains("[wq")) {
        for test in TESTS {
            let counts =
                tests.get(test).unwrap_or_else(|| panic!("{device}: no {test}: {tests:?}"));
            let (submitted, completed, errors) = *counts;
            assert!(submitted > 0 && submitted == completed, "{device} {test}: {counts:?}");
            // The test of errors makes some, and looks itself at what each of them is.
            assert_eq!(errors > 0, test == "error handling", "{device} {test}: {counts:?}");
        }
    }
}

#[test]
fn one_device_passes_the_tests_of_dpdk() {
    passes_its_tests(1, &[], "1");
}

#[test]
fn four_devices_pass_the_tests_of_dpdk() {
    passes_its_tests(4, &[], "4");
}

#[test]
fn a_device_without_namespaces_passes_the_tests_of_dpdk() {
    passes_its_tests(1, &["--without-namespaces"], "plain");
}

/// Runs them under a plan; the program has to end by itself.
fn under(plan: &str, name: &str) -> String {
    let place = Place::new();
    let path = place.path().join("plan.toml");
    std::fs::write(&path, plan).expect("is written");
    let path = path.to_str().expect("is text");
    let (status, text) = run_its_tests(1, &["--inject", path], name);
    assert!(status.success(), "{plan}: {status}\n{text}");
    text
}

#[test]
fn what_is_only_late_passes_them_too() {
    let plan = "seed = 3\n[delays]\nrate = 0.02\nnanoseconds = 50_000\n";
    assert!(has_line(&under(plan, "late"), "Test OK"));
}

#[test]
fn what_fails_is_reported_and_ends() {
    let plans = [
        ("hardware", "seed = 3\n[hardware_errors]\nread_rate = 0.02\n"),
        ("lost", "seed = 3\n[queue_full]\nrate = 0.02\n"),
        ("reset", "seed = 3\n[reset]\nafter_descriptors = 100\n"),
    ];
    for (name, plan) in plans {
        let text = under(plan, name);
        assert!(has_line(&text, "Test Failed"), "{name}: {text}");
    }
}
