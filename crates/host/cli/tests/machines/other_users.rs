//! Can another user have a file of root's written over?

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::on_machine::OnMachine;

const MEASURED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/all/calibrate/epyc.measured.json");
const OTHER_USER: u32 = 4321;

/// A directory with `shared`, as /tmp is, and `precious`; `None` without the right to give links away.
fn shared_place() -> Option<(tempfile::TempDir, PathBuf)> {
    let place = tempfile::tempdir().expect("a directory");
    let shared = place.path().join("shared");
    fs::create_dir(&shared).expect("a directory");
    fs::set_permissions(&shared, PermissionsExt::from_mode(0o1777)).expect("its mode");
    let precious = place.path().join("precious");
    fs::write(&precious, "precious").expect("a file");
    lchown(&precious, Some(0), None).ok().map(|()| (place, shared))
}

fn link(path: &Path, target: &str, user: u32) {
    symlink(target, path).expect("a link");
    lchown(path, Some(user), None).expect("root may");
}

#[test]
fn no_link_of_another_user_is_followed_to_a_result() {
    let Some((place, shared)) = shared_place() else { return };
    let platform = ["calibrate", "--from", MEASURED, "--out"];
    let commands = [&platform[..], &["slices", "map", "--out"], &["slices", "latency", "--out"]];
    link(&shared.join("file"), "../precious", OTHER_USER);
    link(&shared.join("folder"), "..", OTHER_USER);
    link(&place.path().join("hop"), "shared/file", 0);
    // The name of the measurement is not one that the user has given.
    link(&shared.join("node.measured.json"), "../precious", OTHER_USER);
    for (named, of) in [
        ("shared/file", "shared/file"),
        ("shared/folder/precious", "shared/folder"),
        ("hop", "shared/file"),
        ("shared/node.toml", "shared/node.measured.json"),
    ] {
        for command in commands {
            if named == "shared/node.toml" && command != platform {
                continue;
            }
            let mut tool = Command::new(env!("CARGO_BIN_EXE_skipline-host"));
            let ended = tool.args(command).arg(named).current_dir(place.path()).output();
            let ended = ended.expect("the binary runs");
            let words = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(3), "{command:?} {named}: {words}");
            let expected =
                format!("{of} is a link of user {OTHER_USER} in a directory that others");
            assert!(words.contains(&expected) && words.contains("remedy: "), "{named}: {words}");
        }
    }
    let content = fs::read_to_string(place.path().join("precious")).expect("a file");
    assert_eq!(content, "precious");
    assert!(!shared.join("node.toml").exists());
    assert_eq!(fs::read_dir(place.path()).expect("a directory").count(), 3, "nothing is left");
}

#[test]
fn own_links_are_followed_where_all_write() {
    let Some((place, shared)) = shared_place() else { return };
    link(&shared.join("own"), "../precious", 0);
    let mut tool = Command::new(env!("CARGO_BIN_EXE_skipline-host"));
    let ended = tool.args(["calibrate", "--from", MEASURED, "--out", "shared/own"]);
    let ended = ended.current_dir(place.path()).output().expect("the binary runs");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let content = fs::read_to_string(place.path().join("precious")).expect("a file");
    assert!(content.contains("source = \"measured"), "{content}");
}

#[test]
fn a_lock_that_is_a_link_or_another_user_s_stops_everything_before_a_write() {
    let machine = OnMachine::new("skylake", &[]);
    fs::create_dir_all(machine.path().join("run")).expect("a directory");
    let lock = machine.path().join("run/skipline-host.lock");
    let file = machine.path().join("run/file");
    fs::write(&file, "").expect("a file");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("its mode");
    let before = machine.content();
    let is_refused = |words: &str| {
        let run = machine.run(&["tune", "ddio-ways", "4", "--apply"]);
        assert_eq!(run.code, Some(3), "{}{}", run.out, run.err);
        assert!(run.err.contains(words), "{}", run.err);
        assert!(machine.content() == before);
        let mode = fs::metadata(&file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
    };
    symlink("file", &lock).expect("a link");
    is_refused("run/skipline-host.lock is a link");
    fs::remove_file(&lock).expect("a link");
    fs::hard_link(&file, &lock).expect("a second name");
    is_refused("run/skipline-host.lock has 2 names");
    fs::remove_file(&lock).expect("a name");
    fs::write(&lock, "").expect("a file");
    if lchown(&lock, Some(OTHER_USER), None).is_ok() {
        is_refused("run/skipline-host.lock belongs to user 4321");
    }
}
