//! Does the program say what it can expand?

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fake-machines")).args(arguments).output().expect("it runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn machines_variants_and_failures_are_listed() {
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(2));
    for (kind, names) in [
        ("machines: ", fake_machines::machines()),
        ("variants of them: ", fake_machines::variants()),
        ("failures: ", fake_machines::failures()),
    ] {
        let names = names.expect("names");
        assert!(names.len() >= 6, "{kind}{names:?}");
        let line = format!("{kind}{}\n", names.join(" "));
        assert!(said(&output).contains(&line), "{line}{}", said(&output));
    }
}

#[test]
fn a_name_that_is_not_known_is_told_with_those_that_are_and_nothing_is_written() {
    let directory = format!("{}/unknown", env!("CARGO_TARGET_TMPDIR"));
    for (arguments, expected) in [
        (["skylke", &directory].as_slice(), "error: machine not found: skylke\n"),
        (&["storage", &directory, "port-deaf"], "error: failure not found: port-deaf\n"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2));
        let said = said(&output);
        assert!(said.starts_with(expected) && said.contains(" port-dead "), "{said}");
        assert!(!std::path::Path::new(&directory).exists());
    }
}

#[test]
fn a_directory_that_is_in_use_is_left_as_it_is() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("taken");
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("notes.txt");
    std::fs::write(&file, "mine").expect("a file");
    for (path, reason) in [(&folder, "it is not empty"), (&file, "it is not a directory")] {
        let path = path.to_str().expect("plain name");
        let output = run(&["skylake", path]);
        assert_eq!(output.status.code(), Some(2));
        let expected = format!("error: {path}: {reason}; a machine is expanded into a directory");
        assert!(said(&output).starts_with(&expected), "{}", said(&output));
    }
    assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 1);
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "mine");
}
