//! Bad input: code 2, before the program starts.

use crate::runs::{Place, ended};

/// The errors of a refused run, whose program has not started.
#[track_caller]
fn refused(place: &Place, options: &[&str]) -> String {
    let errors = place.run(options, &["touch", "started"]).refused();
    assert!(!place.path().join("started").exists());
    errors
}

#[test]
fn a_program_that_is_not_there() {
    for name in ["no-such-program", "./no-such-program", "/", ""] {
        let errors = Place::new().run(&[], &[name]).refused();
        assert!(errors.contains(&format!("program {name} was not found")), "{errors}");
    }
}

#[test]
fn a_program_that_is_not_executable() {
    let place = Place::new();
    std::fs::write(place.path().join("text"), "no program").expect("is written");
    let errors = place.run(&[], &["./text"]).refused();
    assert!(errors.contains("program ./text was not found, or is not executable"), "{errors}");
}

#[test]
fn a_static_program() {
    let place = Place::new();
    std::fs::write(place.path().join("empty.c"), "int main(void) { return 0; }")
        .expect("is written");
    place.compile(&["-static", "empty.c", "-o", "empty"]);
    let errors = place.run(&[], &["./empty"]).refused();
    assert!(errors.contains("./empty: it is statically linked"), "{errors}");
}

#[test]
fn a_number_of_devices_that_is_none() {
    for value in ["0", "17", "-1", "many"] {
        let place = Place::new();
        let errors = refused(&place, &[&format!("--devices={value}")]);
        assert!(errors.contains("--devices <N>") && errors.contains(value), "{errors}");
    }
    let errors = refused(&Place::new(), &["--devices=17"]);
    assert!(errors.contains("1..=16"), "{errors}");
}

#[test]
fn a_configuration_that_is_none() {
    const QUEUE: &str = r#""dev":"wq0.0","size":16"#;
    let of_queue = |queue: &str| {
        format!(
            r#"[{{"dev":"dsa0","groups":[{{"dev":"group0.0","grouped_workqueues":[{{{queue}}}]}}]}}]"#
        )
    };
    let cases = [
        ("[".to_owned(), vec!["line 1"]),
        (r#"[{"dev":"dsa16"}]"#.to_owned(), vec!["dsa16", "dsa0 to dsa15"]),
        (of_queue(&format!(r#"{QUEUE},"mode":"exclusive""#)), vec!["wq0.0", "mode", "dedicated"]),
        (
            of_queue(&format!(r#"{QUEUE},"priority":16"#)),
            vec!["wq0.0", "priority", "16", "1 to 15"],
        ),
        (of_queue(&format!(r#"{QUEUE},"colour":"red""#)), vec!["wq0.0", "colour"]),
        (of_queue(r#""dev":"wq0.0","size":500"#), vec!["wq0.0", "size", "500", "0 to 128"]),
    ];
    for (text, words) in cases {
        let place = Place::new();
        std::fs::write(place.path().join("devices.json"), &text).expect("is written");
        let errors = refused(&place, &["--config", "devices.json"]);
        for word in words.into_iter().chain(["devices.json"]) {
            assert!(errors.contains(word), "{text}: {word} is not in: {errors}");
        }
    }
    let errors = refused(&Place::new(), &["--config", "nothing.json"]);
    assert!(errors.contains("--config nothing.json: No such file"), "{errors}");
}

#[test]
fn a_link_of_another_user_in_a_directory_of_all() {
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};
    let place = Place::new();
    let (shared, precious) = (place.path().join("shared"), place.path().join("precious"));
    std::fs::create_dir(&shared).expect("is created");
    std::fs::set_permissions(&shared, PermissionsExt::from_mode(0o1777)).expect("its mode");
    std::fs::write(&precious, "precious").expect("is written");
    symlink("../precious", shared.join("link")).expect("is created");
    // Only root can give a link away.
    if lchown(shared.join("link"), Some(4321), None).is_err() {
        return;
    }
    let run = refused(&place, &["--record", "shared/link"]);
    let command = |words: &[&str]| ended(&mut place.command(words)).refused();
    let bench = command(&["bench", "--on", "cpu", "--json", "shared/link"]);
    let digest = command(&["digest", "--make", "5", "shared/link"]);
    for said in [run, bench, digest] {
        assert!(said.contains("shared/link is a link of user 4321"), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&precious).expect("is there"), "precious");
    assert_eq!(shared.read_dir().expect("is a directory").count(), 1);
}

#[test]
fn files_that_cannot_be_written_or_read() {
    let place = Place::new();
    let errors = refused(&place, &["--record", "no/such/directory.jsonl"]);
    assert!(errors.contains("--record no/such/directory.jsonl: No such file"), "{errors}");
    assert!(!place.path().join("no").exists());
    for path in [".", "..", "/", "/dev/null"] {
        let errors = refused(&place, &["--record", path]);
        assert!(errors.contains(&format!("--record {path}: not a regular file")), "{errors}");
    }
    let errors = refused(&place, &["--inject", "nothing.toml"]);
    assert!(errors.contains("--inject nothing.toml: No such file"), "{errors}");
    for option in ["--inject", "--config"] {
        let errors = refused(&place, &[option, "/dev/zero"]);
        assert!(errors.contains("/dev/zero: longer than 4 MiB"), "{errors}");
    }
    let endless = ended(&mut place.command(&["config", "check", "/dev/zero"])).refused();
    assert!(endless.contains("/dev/zero: longer than 4 MiB"), "{endless}");
    assert_eq!(place.path().read_dir().expect("is a directory").count(), 0);
}

#[test]
fn options_that_exclude_each_other() {
    refused(&Place::new(), &["--unconfigured", "--config", "devices.json"]);
    let errors = refused(&Place::new(), &["--part", "granite-rapids"]);
    assert!(errors.contains("sapphire-rapids") && errors.contains("version-2"), "{errors}");
    crate::runs::ended(&mut Place::new().command(&["run"])).refused();
}
