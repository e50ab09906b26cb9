//! Does `skipline-host calibrate` write what it measured, and refuse what it cannot use?

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use rustix::fs::{CWD, FileType, Mode, mknodat};

const MEASURED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/all/calibrate/epyc.measured.json");
const PLATFORM: &str = include_str!("../../../host/tests/all/calibrate/epyc.toml");

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

#[test]
fn a_described_machine_brings_its_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let machine = folder.path().join("skylake");
    fake_machines::expand("skylake", &[], &machine).unwrap();
    let output = calibrate(folder.path(), &["--root", "skylake", "--out", "server.toml"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let platform = fs::read_to_string(folder.path().join("server.toml")).unwrap();
    assert!(platform.contains("simulated as skylake-gold-6140"), "{platform}");
    assert!(folder.path().join("server.measured.json").exists());
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("they hold twice as much"), "{told}");
    fs::write(machine.join("measured.json"), "{}").unwrap();
    let output = calibrate(folder.path(), &["--root", "skylake"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("measured.json: not a measurement"), "{}", stderr(&output));
}

#[test]
fn a_platform_goes_into_a_pipe_and_nothing_lies_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from(0o600), 0).unwrap();
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || fs::read_to_string(pipe).unwrap())
    };
    let output = calibrate(folder.path(), &["--from", MEASURED, "--out", "pipe"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo(), "the pipe is still there");
    assert_eq!(reader.join().unwrap(), PLATFORM);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Through links, so that a tool that replaces what it is given breaks only these.
#[test]
fn devices_are_written_to_and_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let link = |name: &str, device: &str| symlink(device, folder.path().join(name)).unwrap();
    link("out", "/dev/stdout");
    let output = calibrate(folder.path(), &["--from", MEASURED, "--out", "out"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with(PLATFORM) && printed.contains("CPUID says"), "{printed}");
    assert!(!printed.contains("skipline host compare"), "{printed}");

    link("full", "/dev/full");
    let output = calibrate(folder.path(), &["--from", MEASURED, "--out", "full"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("full: cannot be written: No space"), "{}", stderr(&output));
    for name in ["out", "full"] {
        assert!(folder.path().join(name).is_symlink(), "{name}");
    }
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing lies beside them");
}

#[test]
fn what_is_printed_into_a_file_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let printed = folder.path().join("printed");
    symlink("/dev/stdout", folder.path().join("out")).unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_skipline-host"))
        .args(["calibrate", "--from", MEASURED, "--out", "out"])
        .current_dir(folder.path())
        .stdout(File::create(&printed).unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    let printed = fs::read_to_string(printed).unwrap();
    assert!(printed.starts_with(PLATFORM) && printed.contains("CPUID says"), "{printed}");
}

#[test]
fn a_link_stays_and_the_file_at_its_end_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("kept")).unwrap();
    fs::write(folder.path().join("kept/old.toml"), "old").unwrap();
    symlink("kept/old.toml", folder.path().join("there.toml")).unwrap();
    symlink("kept/new.toml", folder.path().join("not-yet.toml")).unwrap();
    for (link, file) in [("there.toml", "kept/old.toml"), ("not-yet.toml", "kept/new.toml")] {
        let output = calibrate(folder.path(), &["--from", MEASURED, "--out", link]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(folder.path().join(link).is_symlink(), "{link}");
        assert_eq!(fs::read_to_string(folder.path().join(file)).unwrap(), PLATFORM, "{file}");
    }
}

#[test]
fn what_is_no_place_for_a_text_is_refused_and_left() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let table = ["slices", "map", "--out"];
    let latencies = ["slices", "latency", "--out"];
    let platform = ["calibrate", "--from", MEASURED, "--out"];
    for arguments in [&table[..], &latencies, &platform] {
        let output = Command::new(env!("CARGO_BIN_EXE_skipline-host"))
            .args(arguments)
            .arg(&socket)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("is a socket and would be lost"), "{}", stderr(&output));
        assert!(fs::metadata(&socket).unwrap().file_type().is_socket(), "{arguments:?}");
    }
}

#[test]
fn platforms_that_differ_after_a_dot_have_measurements_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    for (platform, measurement) in [
        ("node.1", "node.1.measured.json"),
        ("node.2.toml", "node.2.measured.json"),
        ("node", "node.measured.json"),
    ] {
        let output = calibrate(folder.path(), &["--from", MEASURED, "--out", platform]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(folder.path().join(measurement).exists(), "{platform}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6);
}

#[test]
fn a_result_that_cannot_be_printed_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_skipline-host"))
        .args(["calibrate", "--from", MEASURED, "--format", "json"])
        .current_dir(folder.path())
        .stdout(File::options().write(true).open("/dev/full").unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot write the output"), "{}", stderr(&output));
}
