//! Which links are followed, and which lead no program of root to another file?

use crate::shared_directory::{OTHER_USER, SharedDirectory, read};
use durable::directory::BaseDirectory;
use durable::error::{DurableError, DurableReason};
use durable::output::OutputFile;
use durable::whole_file::WriteOptions;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn write(path: &Path, text: &str) -> Result<(), DurableError> {
    OutputFile::prepare(path, WriteOptions::RESULT)?.write(text)
}

#[track_caller]
fn is_refused(place: &SharedDirectory, path: &str) {
    let before = (place.names("shared"), place.names("open"), place.names("own"));
    let error = write(&place.path(path), "new").expect_err(path);
    assert!(matches!(error.reason, DurableReason::Foreign(_)), "{path}: {error}");
    let words = error.to_string();
    assert!(words.contains(&format!("is a link of user {OTHER_USER}")), "{words}");
    assert!(words.contains("remedy: "), "{words}");
    assert_eq!(place.precious(), "precious", "{path}");
    assert_eq!(before, (place.names("shared"), place.names("open"), place.names("own")));
}

#[test]
fn a_link_of_another_user_in_a_directory_of_all_is_not_followed() {
    let Some(place) = SharedDirectory::new() else { return };
    let precious = place.path("own/precious").display().to_string();
    for shared in ["shared", "open"] {
        place.link(&format!("{shared}/absolute"), &precious, OTHER_USER);
        place.link(&format!("{shared}/relative"), "../own/precious", OTHER_USER);
        place.link(&format!("{shared}/not-yet"), "../own/new", OTHER_USER);
        place.link(&format!("{shared}/folder"), "../own", OTHER_USER);
        place.link(&format!("{shared}/null"), "/dev/null", OTHER_USER);
        for name in ["absolute", "relative", "not-yet", "folder/precious", "null"] {
            is_refused(&place, &format!("{shared}/{name}"));
        }
    }
    // A link of root that leads to one of another user.
    symlink("../shared/relative", place.path("own/hop")).expect("a link");
    is_refused(&place, "own/hop");
    symlink("../shared/folder", place.path("own/hops")).expect("a link");
    is_refused(&place, "own/hops/precious");
}

#[test]
fn a_directory_of_another_user_or_of_another_group_is_one_of_all() {
    let Some(place) = SharedDirectory::new() else { return };
    place.set_mode("shared", 0o755);
    place.link("shared/link", "../own/precious", OTHER_USER);
    place.give("shared", OTHER_USER);
    is_refused(&place, "shared/link");
    place.give("shared", 0);
    std::os::unix::fs::chown(place.path("shared"), None, Some(OTHER_USER)).expect("root may");
    place.set_mode("shared", 0o775);
    is_refused(&place, "shared/link");
    // Root alone can have put it here.
    place.set_mode("shared", 0o755);
    write(&place.path("shared/link"), "new").expect("is followed");
    assert_eq!(place.precious(), "new");
}

#[test]
fn own_links_are_followed_everywhere() {
    let Some(place) = SharedDirectory::new() else { return };
    place.link("shared/own", "../own/precious", 0);
    place.link("open/own", "../shared/own", 0);
    for (number, name) in ["shared/own", "open/own"].into_iter().enumerate() {
        write(&place.path(name), &number.to_string()).expect("is followed");
        assert_eq!(place.precious(), number.to_string());
        assert!(place.path(name).is_symlink());
    }
    assert_eq!(place.names("own"), ["precious"]);
}

/// A link that appears between the check and the use is replaced, not followed.
#[test]
fn a_link_that_comes_later_is_replaced_itself() {
    let Some(place) = SharedDirectory::new() else { return };
    let file = place.path("shared/result");
    let prepared = OutputFile::prepare(&file, WriteOptions::RESULT).expect("can be written");
    place.link("shared/result", "../own/precious", OTHER_USER);
    prepared.write("new").expect("is written");
    assert_eq!((place.precious().as_str(), read(&file).as_str()), ("precious", "new"));
    assert!(!file.is_symlink());
    // A directory on the way that becomes a link is not left.
    fs::create_dir(place.path("shared/folder")).expect("a directory");
    let file = place.path("shared/folder/precious");
    let prepared = OutputFile::prepare(&file, WriteOptions::RESULT).expect("can be written");
    fs::rename(place.path("shared/folder"), place.path("shared/aside")).expect("another name");
    place.link("shared/folder", "../own", OTHER_USER);
    prepared.write("new").expect("is written");
    assert_eq!(place.precious(), "precious");
    assert_eq!(read(&place.path("shared/aside/precious")), "new");
}

#[test]
fn the_message_of_a_link_prints_no_control_characters() {
    let Some(place) = SharedDirectory::new() else { return };
    place.link("shared/link", "\u{1b}[2J\u{7}nowhere", OTHER_USER);
    let words = write(&place.path("shared/link"), "").expect_err("is refused").to_string();
    assert!(words.contains("nowhere") && !words.contains('\u{1b}'), "{words:?}");
}

#[test]
fn a_circle_of_links_is_reported() {
    let place = tempfile::tempdir().expect("a directory");
    symlink("other", place.path().join("one")).expect("a link");
    symlink("one", place.path().join("other")).expect("a link");
    let error = write(&place.path().join("one"), "").expect_err("is a circle");
    assert_eq!(error.reason.errno(), Some(rustix::io::Errno::LOOP), "{error}");
}

#[test]
fn no_link_and_no_path_leads_out_of_a_directory_that_stands_in_for_the_root() {
    let place = tempfile::tempdir().expect("a directory");
    let outside = place.path().join("outside");
    let tree = place.path().join("tree");
    for directory in [&outside, &tree, &tree.join("var")] {
        fs::create_dir(directory).expect("a directory");
    }
    fs::write(outside.join("file"), "outside").expect("a file");
    let up = "../".repeat(20) + outside.to_str().expect("a path").trim_start_matches('/');
    symlink(&outside, tree.join("absolute")).expect("a link");
    symlink("../outside", tree.join("relative")).expect("a link");
    symlink(&up, tree.join("var/upwards")).expect("a link");
    let base = BaseDirectory::confined(&tree).expect("a directory");
    let paths = ["absolute/file", "relative/file", "var/upwards/file", "../outside/file", &up];
    for path in paths {
        let path = Path::new(path);
        base.replace(path, b"inside", WriteOptions::STATE).expect_err("is not there");
        assert_eq!(base.read_text(path, 100).expect("is not there"), None, "{}", path.display());
        base.remove(path).expect_err("is not there");
    }
    // A file created at the end of such a link is inside.
    let new = Path::new("absolute/new");
    base.create_directories(new).expect_err("to what the link leads is not there");
    let inside = tree.join(outside.strip_prefix("/").expect("is absolute"));
    fs::create_dir_all(&inside).expect("a directory");
    base.create_directories(new).expect("is created");
    assert!(inside.join("new").is_dir());
    assert_eq!(crate::shared_directory::names(&outside), ["file"]);
    assert_eq!(read(&outside.join("file")), "outside");
}

#[test]
fn a_second_name_of_a_link_of_root_is_chosen_by_whoever_made_it() {
    let Some(place) = SharedDirectory::new() else { return };
    symlink("../own/precious", place.path("own/link")).expect("a link");
    fs::hard_link(place.path("own/link"), place.path("shared/name")).expect("root may");
    let error = write(&place.path("shared/name"), "new").expect_err("is not followed");
    assert!(matches!(error.reason, DurableReason::Foreign(_)), "{error}");
    assert_eq!(place.precious(), "precious");
}

/// Path of a shared place, for this test program within a user namespace.
const PLACE: &str = "DURABLE_TEST_PLACE";

/// The writes of a program in a namespace in which `shared` is of a user who has no number there.
fn write_in_namespace(place: &Path) {
    let error = write(&place.join("shared/link"), "new").expect_err("is not followed");
    assert!(error.to_string().contains("is a link of user 65534"), "{error}");
    let base = BaseDirectory::filesystem().expect("a directory");
    base.check_own(&place.join("shared/file")).expect_err("another user could replace it");
    // The links of the system are followed as ever.
    write(Path::new("/dev/stdout"), "").expect("is standard output");
}

#[test]
fn users_without_a_number_in_a_namespace_are_not_taken_for_root() {
    const NAME: &str = "links::users_without_a_number_in_a_namespace_are_not_taken_for_root";
    if let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) {
        return write_in_namespace(&place);
    }
    for user in [0, 1234] {
        let Some(place) = SharedDirectory::new() else { return };
        place.give("own/precious", user);
        place.set_mode("shared", 0o755);
        place.link("shared/link", "../own/precious", OTHER_USER);
        fs::write(place.path("shared/file"), "").expect("a file");
        place.give("shared", OTHER_USER);
        let run = |arguments: &[&str]| {
            let mut within = Command::new("unshare");
            within.args(["--user", "--map-root-user"]).uid(user).gid(user);
            within.arg(std::env::current_exe().expect("a program")).args(arguments);
            within.env(PLACE, place.path("")).output()
        };
        // Where the system allows no namespaces, or the user not this program, there is nothing to see.
        if !run(&["--list"]).is_ok_and(|ended| ended.status.success()) {
            eprintln!("skipped: user {user} can make no user namespace here");
            continue;
        }
        let ended = run(&["--exact", NAME]).expect("starts");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
        assert_eq!(place.precious(), "precious");
    }
}
