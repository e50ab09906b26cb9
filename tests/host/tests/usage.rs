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
