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
    let (base, path) = (base(place.path()), Path::new("run/tool/lock"));
    let first = lock::take(&base, path, false).expect("is free");
    for limit in [Duration::ZERO, Duration::from_millis(1)] {
        let second = lock::take_within(&base, path, limit).expect_err("is held");
        assert!(matches!(second.reason, DurableReason::Locked), "{second}");
    }
    drop(first);
    lock::take(&base, path, true).expect("is free");
}

#[test]
fn no_other_user_can_enter_the_directory_of_a_lock() {
    let place = tempfile::tempdir().expect("a directory");
    let base = base(place.path());
    lock::take(&base, Path::new("run/tool/lock"), false).expect("is free");
    let mode = |name: &str| fs::metadata(place.path().join(name)).expect("is there").mode() & 0o777;
    assert_eq!((mode("run/tool"), mode("run/tool/lock")), (0o700, 0o600));
    for open in [0o710, 0o701, 0o755, 0o1777, 0o740] {
        let directory = place.path().join("run/tool");
        fs::set_permissions(&directory, PermissionsExt::from_mode(open)).expect("its mode");
        let error = lock::take(&base, Path::new("run/tool/lock"), false).expect_err("is open");
        let words = format!("run/tool can be entered by others (mode {open:o}, not 700)");
        assert!(error.to_string().ends_with(&words), "{error}");
    }
}

#[test]
fn a_link_in_place_of_the_directory_or_the_file_is_refused() {
    let place = tempfile::tempdir().expect("a directory");
    let base = base(place.path());
    lock::take(&base, Path::new("tool/lock"), false).expect("is free");
    symlink("tool", place.path().join("link")).expect("a link");
    let error = lock::take(&base, Path::new("link/lock"), false).expect_err("is a link");
    assert!(error.to_string().ends_with("link is a link"), "{error}");
    symlink("lock", place.path().join("tool/other")).expect("a link");
    lock::take(&base, Path::new("tool/other"), false).expect_err("is a link");
    fs::create_dir(place.path().join("tool/folder")).expect("a directory");
    lock::take(&base, Path::new("tool/folder"), false).expect_err("is a directory");
}

#[test]
fn a_directory_that_another_user_has_or_could_replace_is_refused() {
    let Some(place) = SharedDirectory::new() else { return };
    let base = base(&place.path("."));
    fs::create_dir(place.path("shared/tool")).expect("a directory");
    place.set_mode("shared/tool", 0o700);
    place.give("shared/tool", OTHER_USER);
    let error = lock::take(&base, Path::new("shared/tool/lock"), false).expect_err("is another's");
    assert!(error.to_string().ends_with("tool belongs to user 4321"), "{error}");
    place.set_mode("shared", 0o777);
    let error = lock::take(&base, Path::new("shared/mine/lock"), false).expect_err("is open");
    assert!(error.to_string().contains("can be written by others"), "{error}");
}

/// A program of a user that holds the lock of a file until its standard input ends: `script` takes it.
fn held(script: &str, file: &Path, user: u32) -> Child {
    let mut holding = Command::new("sh");
    holding.args(["-c", script]).env("FILE", file).uid(user).gid(user);
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

/// The process that takes the lock stays.
const TAKER_STAYS: &str = "exec flock $FILE sh -c 'echo held; read line'";
/// The process that takes the lock ends, and leaves it to the one that started it.
const TAKER_ENDS: &str = "exec 9<$FILE; flock 9; echo held; read line";

#[test]
fn who_holds_a_lock_is_named() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("lock");
    fs::write(&file, "").expect("a file");
    let holder = || lock::holder(&rustix::fs::stat(&file).expect("a file"));
    let user = rustix::process::geteuid().as_raw();
    for (script, command) in [(TAKER_STAYS, "flock"), (TAKER_ENDS, "sh")] {
        let holding = held(script, &file, user);
        let words = format!("process {} ({command}) of user {user}", holding.id());
        assert_eq!(holder().expect("is seen").to_string(), words);
        ended(holding);
        assert_eq!(holder(), None);
    }
}

/// Number of CAP_SYS_PTRACE, as a bit.
const SYS_PTRACE: u64 = 1 << 19;

fn has_sys_ptrace() -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("its state");
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:")).expect("capabilities");
    u64::from_str_radix(set.trim(), 16).expect("a number") & SYS_PTRACE != 0
}

#[test]
fn a_process_of_another_user_is_named_as_far_as_it_is_seen() {
    let Some(place) = SharedDirectory::new() else { return };
    let file = place.path("shared/file");
    fs::write(&file, "").expect("a file");
    let holding = held(TAKER_STAYS, &file, OTHER_USER);
    let words = match has_sys_ptrace() {
        true => format!("process {} (flock) of user {OTHER_USER}", holding.id()),
        false => format!("process {} took it and may have ended", holding.id()),
    };
    let holder = lock::holder(&rustix::fs::stat(&file).expect("a file"));
    assert_eq!(holder.expect("is known").to_string(), words);
    ended(holding);
}
