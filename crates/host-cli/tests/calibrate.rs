//! `skipline-host calibrate` as people call it.

use std::path::Path;
use std::process::{Command, Output};

const MEASURED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/calibrate/epyc.measured.json");
const PLATFORM: &str = include_str!("../../host/tests/calibrate/epyc.toml");

fn calibrate(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_skipline-host"))
        .arg("calibrate")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_platform_is_made_again_from_an_earlier_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let output = calibrate(folder.path(), &["--from", MEASURED, "--out", "host.toml"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let written = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(written("host.toml"), PLATFORM);
    assert!(written("host.measured.json").contains("\"format\": 1"));
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("skipline host compare host.toml"), "{told}");
    assert!(told.contains("CPUID says"), "{told}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "no temporary file is left");
}

#[test]
fn bad_input_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("broken.json"), "{\"format\": 7}").unwrap();
    let cases: [(&[&str], &str); 5] = [
        (&["--out", "nowhere/host.toml"], "not a file in a directory that exists"),
        (&["--from", "absent.json"], "--from absent.json"),
        (&["--from", "broken.json"], "broken.json: not a measurement"),
        (&["--cpu", "1000"], "--cpu 1000: not a processor"),
        (&["--seconds", "0"], "allowed: a whole number from 1 to 3600"),
    ];
    for (arguments, told) in cases {
        let output = calibrate(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(told), "{}", stderr(&output));
    }
    assert!(!folder.path().join("this-host.toml").exists());
}

#[test]
fn a_directory_tree_has_no_caches_to_measure() {
    let folder = tempfile::tempdir().unwrap();
    let output = calibrate(folder.path(), &["--root", "."]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
