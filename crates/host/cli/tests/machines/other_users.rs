//! Can another user have a file of root's written over?

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, mknodat};

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
    let may_give = lchown(&precious, Some(0), None).is_ok();
    if !may_give {
        eprintln!("skipped: without the right to give files to other users");
    }
    may_give.then_some((place, shared))
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
fn a_directory_of_the_lock_that_others_could_enter_stops_everything_before_a_write() {
    let machine = OnMachine::new("skylake", &[]);
    let directory = machine.lock_file().parent().expect("its directory").to_owned();
    let before = machine.content();
    let is_refused = |words: &str| {
        let run = machine.run(&["tune", "ddio-ways", "4", "--apply"]);
        assert_eq!(run.code, Some(3), "{}{}", run.out, run.err);
        assert!(run.err.contains(words), "{}", run.err);
        assert!(machine.content() == before);
    };
    fs::set_permissions(&directory, PermissionsExt::from_mode(0o755)).expect("its mode");
    is_refused("run/skipline-host can be entered by others (mode 755, not 700)");
    fs::set_permissions(&directory, PermissionsExt::from_mode(0o700)).expect("its mode");
    if lchown(&directory, Some(OTHER_USER), None).is_ok() {
        is_refused("run/skipline-host belongs to user 4321");
    }
    fs::remove_dir(&directory).expect("is empty");
    symlink("elsewhere", &directory).expect("a link");
    is_refused("run/skipline-host is a link");
}

fn calibrate(place: &Path, out: &str) -> (Option<i32>, String) {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_skipline-host"));
    tool.args(["calibrate", "--from", MEASURED, "--out", out]).current_dir(place);
    let ended = tool.output().expect("the binary runs");
    (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

#[test]
fn nothing_else_of_another_user_stands_for_a_result_either() {
    let Some((place, shared)) = shared_place() else { return };
    let (file, measured) = (shared.join("node.toml"), shared.join("node.measured.json"));
    for pipe in [&file, &measured] {
        mknodat(CWD, pipe, FileType::Fifo, Mode::from(0o666), 0).expect("a pipe");
        lchown(pipe, Some(OTHER_USER), None).expect("root may");
        let (code, words) = calibrate(place.path(), "shared/node.toml");
        assert_eq!(code, Some(3), "{words}");
        assert!(words.contains("is a pipe of user 4321 in a directory that others"), "{words}");
        fs::remove_file(pipe).expect("a pipe");
    }
    // A second name of a link of root's, where the kernel allows another user to make one.
    symlink("../precious", shared.join("own")).expect("a link");
    fs::hard_link(shared.join("own"), &measured).expect("a name");
    let (code, words) = calibrate(place.path(), "shared/node.toml");
    assert_eq!(code, Some(3), "{words}");
    fs::remove_file(&measured).expect("a name");
    // A second name of a file is that of a new file afterwards.
    fs::hard_link(place.path().join("precious"), &file).expect("a name");
    let (code, words) = calibrate(place.path(), "shared/node.toml");
    assert_eq!(code, Some(0), "{words}");
    assert!(fs::read_to_string(&file).expect("a result").contains("source = \"measured"));
    // The directory itself is another user's.
    fs::create_dir(shared.join("theirs")).expect("a directory");
    link(&shared.join("theirs/node.toml"), "../../precious", OTHER_USER);
    lchown(shared.join("theirs"), Some(OTHER_USER), None).expect("root may");
    let (code, words) = calibrate(&shared.join("theirs"), "node.toml");
    assert_eq!(code, Some(3), "{words}");
    let content = fs::read_to_string(place.path().join("precious")).expect("a file");
    assert_eq!(content, "precious");
}

#[test]
fn a_name_that_ends_as_that_of_a_directory_is_refused_in_words() {
    let place = tempfile::tempdir().expect("a directory");
    for out in ["name/", "name/.", "new/name/"] {
        let (code, words) = calibrate(place.path(), out);
        assert_eq!(code, Some(2), "{words}");
        assert!(words.contains(&format!("--out {out} names a directory, by the")), "{words}");
    }
    assert_eq!(fs::read_dir(place.path()).expect("a directory").count(), 0);
}

#[test]
fn a_journal_of_another_user_or_group_chooses_no_register() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    let journal = machine.path().join("var/lib/skipline-host/journal.json");
    if lchown(&journal, Some(OTHER_USER), None).is_err() {
        return;
    }
    let before = machine.content();
    for (user, group, mode) in [(OTHER_USER, 0, 0o644), (0, OTHER_USER, 0o664), (0, 0, 0o664)] {
        lchown(&journal, Some(user), Some(group)).expect("root may");
        fs::set_permissions(&journal, PermissionsExt::from_mode(mode)).expect("its mode");
        for command in
            [&["restore"][..], &["restore", "--all"], &["tune", "ddio-ways", "6", "--apply"]]
        {
            let run = machine.run(command);
            assert_eq!(run.code, Some(3), "{user} {mode:o} {command:?}: {}", run.err);
            assert!(run.err.contains("another user could choose what is written"), "{}", run.err);
            assert!(machine.content() == before);
        }
    }
    fs::set_permissions(&journal, PermissionsExt::from_mode(0o644)).expect("its mode");
    assert_eq!(machine.run(&["restore"]).code, Some(0));
}
