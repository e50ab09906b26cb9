//! Is a lock held by one process at a time, and by no other user?

use crate::shared_directory::{OTHER_USER, SharedDirectory};
use durable::directory::BaseDirectory;
use durable::error::DurableReason;
use durable::lock;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn base(directory: &Path) -> BaseDirectory {
    BaseDirectory::confined(directory).expect("a directory")
}

#[test]
fn a_second_one_is_kept_away_until_the_first_is_closed() {
    let place = tempfile::tempdir().expect("a directory");
    let (base, path) = (base(place.path()), Path::new("lock"));
    let first = lock::take(&base, path, false).expect("is free");
    let second = lock::take(&base, path, false).expect_err("is held");
    assert!(matches!(second.reason, DurableReason::Locked), "{second}");
    drop(first);
    lock::take(&base, path, true).expect("is free");
}

#[test]
fn a_lock_is_its_owner_s_alone_also_if_the_file_was_another_program_s() {
    let place = tempfile::tempdir().expect("a directory");
    fs::write(place.path().join("old"), "").expect("a file");
    let old = place.path().join("old");
    fs::set_permissions(&old, PermissionsExt::from_mode(0o666)).expect("its mode");
    for name in ["old", "new"] {
        lock::take(&base(place.path()), Path::new(name), false).expect("is free");
        let found = fs::metadata(place.path().join(name)).expect("a file");
        assert_eq!(found.mode() & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_link_and_a_second_name_of_a_file_are_refused() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("file");
    fs::write(&file, "").expect("a file");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("its mode");
    symlink("file", place.path().join("link")).expect("a link");
    fs::hard_link(&file, place.path().join("name")).expect("a name");
    for (lock, words) in [("link", "link is a link"), ("name", "name has 2 names")] {
        let error = lock::take(&base(place.path()), Path::new(lock), false).expect_err(lock);
        assert!(error.to_string().ends_with(words), "{error}");
    }
    assert_eq!(fs::metadata(&file).expect("a file").mode() & 0o777, 0o644);
}

#[test]
fn a_lock_of_another_user_is_refused() {
    let Some(place) = SharedDirectory::new() else { return };
    fs::write(place.path("shared/lock"), "").expect("a file");
    place.give("shared/lock", OTHER_USER);
    let base = base(&place.path("shared"));
    let error = lock::take(&base, Path::new("lock"), false).expect_err("is another's");
    assert!(error.to_string().ends_with("lock belongs to user 4321"), "{error}");
}

/// A program of a user that holds the lock of a file until its standard input ends.
fn held(file: &Path, user: u32) -> Child {
    let mut holding = Command::new("flock");
    holding.arg(file).args(["sh", "-c", "echo held; read line"]).uid(user).gid(user);
    let mut holding = holding.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let mut line = String::new();
    let said = holding.stdout.take().expect("is piped");
    BufReader::new(said).read_line(&mut line).expect("a line");
    assert_eq!(line, "held\n");
    holding
}

fn ended(mut holding: Child) {
    drop(holding.stdin.take());
    holding.wait().expect("its end");
}

#[test]
fn who_holds_a_lock_is_named_and_waited_for_no_longer_than_the_limit() {
    let Some(place) = SharedDirectory::new() else { return };
    let base = base(&place.path("own"));
    let (file, path) = (place.path("own/lock"), Path::new("lock"));
    let holding = held(&file, 0);
    for limit in [Duration::ZERO, Duration::from_millis(1)] {
        let error = lock::take_within(&base, path, limit).expect_err("is held");
        assert!(matches!(error.reason, DurableReason::Locked), "{error}");
    }
    let holder = lock::holder(&rustix::fs::stat(&file).expect("a file")).expect("is seen");
    assert_eq!(holder.to_string(), format!("process {} (flock) of user 0", holding.id()));
    ended(holding);
    assert_eq!(lock::holder(&rustix::fs::stat(&file).expect("a file")), None);
    lock::take(&base, path, false).expect("is free");
}

#[test]
fn a_lock_that_another_user_could_take_keeps_no_program_of_root_away() {
    let Some(place) = SharedDirectory::new() else { return };
    // As an earlier version or another program may have left it.
    let (file, path) = (place.path("own/lock"), Path::new("lock"));
    fs::write(&file, "").expect("a file");
    place.set_mode("own/lock", 0o666);
    let holding = held(&file, OTHER_USER);
    let base = base(&place.path("own"));
    let taken = lock::take(&base, path, false).expect("is root's");
    let second = lock::take(&base, path, false).expect_err("is held");
    assert!(matches!(second.reason, DurableReason::Locked), "{second}");
    drop(taken);
    assert_eq!(fs::metadata(&file).expect("a file").mode() & 0o777, 0o600);
    // The other user is left alone, and keeps what no program looks at any more.
    lock::take(&base, path, false).expect("is free");
    ended(holding);
    lock::take(&base, path, false).expect("is free");
}
