//! Is a journal read back as it was written, and not believed if another user could have written it?

use crate::shared_directory::{OTHER_USER, SharedDirectory, names, read};
use durable::directory::BaseDirectory;
use durable::error::DurableReason;
use durable::journal::JournalFile;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const DIRECTORY: &str = "var/lib/tool";

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Entries {
    entries: Vec<u32>,
}

fn journal(base: &BaseDirectory) -> JournalFile<'_> {
    let directory = Path::new(DIRECTORY);
    JournalFile { base, directory, name: "journal.json", most_bytes: 1000 }
}

#[test]
fn a_journal_is_read_as_it_was_written() {
    let place = tempfile::tempdir().expect("a directory");
    let base = BaseDirectory::confined(place.path()).expect("a directory");
    let journal = journal(&base);
    assert_eq!(journal.read::<Entries>().expect("there is none"), None);
    journal.remove().expect_err("there is no directory");
    journal.create_directory().expect("is created");
    for entries in [vec![], vec![1], vec![1, 2]] {
        let written = Entries { entries };
        journal.write(&written).expect("is written");
        assert_eq!(journal.read().expect("can be read"), Some(written));
    }
    let directory = place.path().join(DIRECTORY);
    // Files of earlier versions stay readable, and theirs those of this one.
    assert_eq!(read(&directory.join("journal.json")), "{\n  \"entries\": [\n    1,\n    2\n  ]\n}");
    // A draft that a crash has left, or that leads elsewhere, is not in the way.
    symlink("../elsewhere", directory.join("journal.json.new")).expect("a link");
    journal.write(&Entries { entries: vec![3] }).expect("is written");
    assert_eq!(names(&directory), ["journal.json"]);
    journal.remove().expect("is removed");
    journal.remove().expect("is not there");
    assert_eq!(names(&directory), [""; 0]);
}

#[test]
fn a_journal_cut_at_any_byte_is_damaged_and_left() {
    let place = tempfile::tempdir().expect("a directory");
    let base = BaseDirectory::confined(place.path()).expect("a directory");
    let journal = journal(&base);
    journal.create_directory().expect("is created");
    let whole = journal.text(&Entries { entries: vec![1, 2] }).expect("a text");
    let path = place.path().join(DIRECTORY).join("journal.json");
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).expect("is written");
        let error = journal.read::<Entries>().expect_err("is damaged");
        assert!(matches!(error.reason, DurableReason::Damaged(_)), "{error}");
        assert_eq!(read(&path), whole[..length]);
    }
    let long = " ".repeat(1001);
    for (bytes, words) in [(long.as_bytes(), "is longer than 1000 bytes"), (b"\xff", "UTF-8")] {
        fs::write(&path, bytes).expect("is written");
        let error = journal.read::<Entries>().expect_err(words);
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[track_caller]
fn is_distrusted(base: &BaseDirectory, words: &str) {
    for error in [
        journal(base).read::<Entries>().expect_err(words),
        journal(base).create_directory().expect_err(words),
    ] {
        assert!(matches!(error.reason, DurableReason::Distrusted(_)), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn a_journal_that_another_user_could_have_written_is_not_believed() {
    let Some(place) = SharedDirectory::new() else { return };
    let base = BaseDirectory::confined(&place.path("own")).expect("a directory");
    journal(&base).create_directory().expect("is created");
    journal(&base).write(&Entries { entries: vec![1] }).expect("is written");
    let directory = format!("own/{DIRECTORY}");
    let file = format!("{directory}/journal.json");
    for (name, words) in [
        (&file, "journal.json can be written by others (mode 666)"),
        (&directory, "tool can be written by others (mode 1777)"),
        (&"own/var/lib".to_owned(), "lib can be written by others (mode 777)"),
    ] {
        let mode = if name == &directory { 0o1777 } else { 0o777 };
        place.set_mode(name, if name == &file { 0o666 } else { mode });
        is_distrusted(&base, words);
        place.set_mode(name, if name == &file { 0o644 } else { 0o755 });
    }
    for (name, words) in [
        (&file, "journal.json belongs to user 4321"),
        (&directory, "tool belongs to user 4321"),
        (&"own/var".to_owned(), "var belongs to user 4321"),
    ] {
        place.give(name, OTHER_USER);
        is_distrusted(&base, words);
        place.give(name, 0);
    }
    // No group writes a journal: not another one, nor that which stands for a list of users (setfacl).
    for group in [OTHER_USER, 0] {
        std::os::unix::fs::chown(place.path(&file), None, Some(group)).expect("root may");
        place.set_mode(&file, 0o664);
        is_distrusted(&base, "journal.json can be written by others (mode 664)");
    }
    place.set_mode(&file, 0o644);
    std::os::unix::fs::chown(place.path(&directory), None, Some(OTHER_USER)).expect("root may");
    place.set_mode(&directory, 0o775);
    is_distrusted(&base, "tool can be written by others (mode 775)");
    place.set_mode(&directory, 0o755);
    // As /tmp is: no user can rename what is another's.
    place.set_mode("own/var", 0o1777);
    assert!(journal(&base).read::<Entries>().expect("is believed").is_some());
    place.set_mode("own/var", 0o755);
    let aside = place.path("own/aside");
    fs::rename(place.path(&file), &aside).expect("another name");
    symlink(&aside, place.path(&file)).expect("a link");
    is_distrusted(&base, "journal.json is a link");
    fs::remove_file(place.path(&file)).expect("a link");
    fs::rename(place.path(&directory), &aside).expect_err("is no directory");
    fs::remove_file(&aside).expect("a file");
    fs::rename(place.path(&directory), &aside).expect("another name");
    symlink("../../aside", place.path(&directory)).expect("a link");
    is_distrusted(&base, "tool is a link");
}

#[test]
fn a_link_on_the_way_is_followed_if_no_other_user_could_replace_it() {
    let place = tempfile::tempdir().expect("a directory");
    for directory in ["data", "open"] {
        fs::create_dir(place.path().join(directory)).expect("a directory");
    }
    symlink("data", place.path().join("var")).expect("a link");
    let base = BaseDirectory::confined(place.path()).expect("a directory");
    journal(&base).create_directory().expect("is created");
    assert!(place.path().join("data/lib/tool").is_dir());
    fs::remove_file(place.path().join("var")).expect("a link");
    // A link that others can replace on the way to a directory that they cannot.
    symlink("../data", place.path().join("open/hop")).expect("a link");
    symlink("open/hop", place.path().join("var")).expect("a link");
    let open = place.path().join("open");
    fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).expect("its mode");
    is_distrusted(&base, "open can be written by others (mode 777)");
    fs::remove_file(place.path().join("var")).expect("a link");
    symlink("var", place.path().join("var")).expect("a link");
    is_distrusted(&base, "var is a link in a circle");
}
