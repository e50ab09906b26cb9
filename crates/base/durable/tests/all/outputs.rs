//! Does the file that a user names become whole, and does a pipe or device stay what it is?

use crate::shared_directory::{OTHER_USER, SharedDirectory, names, read};
use durable::error::DurableReason;
use durable::output::OutputFile;
use durable::whole_file::WriteOptions;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;

fn prepare(path: &Path) -> Result<OutputFile, durable::error::DurableError> {
    OutputFile::prepare(path, WriteOptions::RESULT)
}

#[test]
fn a_file_is_replaced_when_it_is_finished_and_not_before() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("result");
    fs::write(&path, "a much longer old text").expect("a file");
    let output = prepare(&path).expect("can be written");
    assert!(output.is_kept() && !output.is_standard_output());
    assert_eq!(names(place.path()), ["result"]);
    let mut writer = output.begin().expect("a draft");
    writer.write_all(b"half").expect("is written");
    assert_eq!(read(&path), "a much longer old text");
    drop(writer);
    assert_eq!(names(place.path()), ["result"], "no draft is left");
    output.write("new").expect("is written");
    assert_eq!(read(&path), "new");
    assert_eq!(names(place.path()), ["result"]);
}

#[test]
fn a_new_file_has_the_permissions_that_were_chosen() {
    let place = tempfile::tempdir().expect("a directory");
    let plain = place.path().join("plain");
    fs::write(&plain, "").expect("a file");
    let of_umask = fs::metadata(&plain).expect("a file").mode() & 0o777;
    for (options, mode) in [
        (WriteOptions::RESULT, of_umask),
        (WriteOptions { mode: 0o600, ..WriteOptions::RESULT }, 0o600),
        (WriteOptions::STATE, of_umask & 0o644),
    ] {
        let path = place.path().join("result");
        OutputFile::prepare(&path, options).and_then(|it| it.write("")).expect("is written");
        assert_eq!(fs::metadata(&path).expect("a file").mode() & 0o777, mode);
    }
}

#[test]
fn a_path_relative_to_the_current_directory_is_found_from_there() {
    let error = prepare(Path::new("no/such/directory")).expect_err("does not exist");
    assert_eq!(error.to_string(), "no/such/directory: No such file or directory (os error 2)");
    let error = prepare(Path::new("..")).expect_err("is a directory");
    assert_eq!(error.to_string(), ".. is a directory");
    let error = prepare(Path::new("src")).expect_err("is a directory");
    assert_eq!(error.to_string(), "src is a directory");
    prepare(Path::new("../durable/README.md")).expect("can be written");
}

#[test]
fn a_pipe_gets_the_text_and_stays() {
    let place = tempfile::tempdir().expect("a directory");
    let pipe = place.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from(0o600), 0).expect("a pipe");
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || fs::read_to_string(pipe).expect("a pipe"))
    };
    let output = prepare(&pipe).expect("can be written");
    assert!(!output.is_kept());
    output.write("text").expect("is written");
    drop(output);
    assert_eq!(reader.join().expect("no panic"), "text");
    assert!(fs::metadata(&pipe).expect("a pipe").file_type().is_fifo());
    assert_eq!(names(place.path()), ["pipe"]);
}

#[test]
fn a_pipe_of_another_user_in_a_directory_of_all_gets_nothing() {
    let Some(place) = SharedDirectory::new() else { return };
    let pipe = place.path("shared/pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from(0o666), 0).expect("a pipe");
    place.give("shared/pipe", OTHER_USER);
    // Without a reader an open would wait for ever.
    let error = prepare(&pipe).expect_err("is refused");
    assert!(error.to_string().contains("is a pipe of user 4321"), "{error}");
}

#[test]
fn devices_are_written_to_and_never_replaced() {
    let place = tempfile::tempdir().expect("a directory");
    for (name, device) in [("null", "/dev/null"), ("full", "/dev/full")] {
        std::os::unix::fs::symlink(device, place.path().join(name)).expect("a link");
    }
    prepare(&place.path().join("null")).and_then(|it| it.write("text")).expect("is taken");
    let full = prepare(&place.path().join("full")).and_then(|it| it.write("text"));
    let error = full.expect_err("is full");
    assert_eq!(error.reason.errno(), Some(rustix::io::Errno::NOSPC), "{error}");
    for device in ["/dev/null", "/dev/full"] {
        assert!(fs::metadata(device).expect("a device").file_type().is_char_device());
    }
    assert_eq!(names(place.path()), ["full", "null"]);
}

#[test]
fn an_open_file_of_the_process_is_found_by_its_number() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("result");
    let file = fs::File::create(&path).expect("a file");
    let number = std::os::fd::AsRawFd::as_raw_fd(&file);
    prepare(Path::new(&format!("/dev/fd/{number}"))).and_then(|it| it.write("new")).expect("is");
    assert_eq!(read(&path), "new");
    // Standard output is not replaced, whatever it is.
    assert!(prepare(Path::new("/dev/stdout")).expect("is open").is_standard_output());
}

#[test]
fn where_a_regular_file_is_needed_nothing_else_is_opened() {
    let place = tempfile::tempdir().expect("a directory");
    let pipe = place.path().join("pipe");
    // Without a reader an open would wait for ever.
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from(0o600), 0).expect("a pipe");
    let paths = [&pipe, Path::new("/dev/null"), Path::new("/dev/stdout"), place.path()];
    for path in paths.into_iter().chain([Path::new("/"), Path::new("src/..")]) {
        let error = OutputFile::prepare_regular(path, WriteOptions::RESULT).expect_err("is none");
        assert!(matches!(error.reason, DurableReason::NotReplaceable(_)), "{error}");
    }
    let file = place.path().join("file");
    OutputFile::prepare_regular(&file, WriteOptions::RESULT).expect("can be written");
}

#[test]
fn sockets_and_directories_are_refused() {
    let place = tempfile::tempdir().expect("a directory");
    let socket = place.path().join("socket");
    let _listener = UnixListener::bind(&socket).expect("a socket");
    for (path, words) in [(socket.as_path(), "a socket"), (place.path(), "a directory")] {
        let error = prepare(path).expect_err("is refused");
        assert!(matches!(error.reason, DurableReason::NotReplaceable(is) if is == words));
    }
    assert!(fs::metadata(&socket).expect("a socket").file_type().is_socket());
}

#[test]
fn a_directory_that_may_not_be_written_is_reported_before_the_work() {
    let place = tempfile::tempdir().expect("a directory");
    fs::set_permissions(place.path(), PermissionsExt::from_mode(0o555)).expect("its mode");
    // Root writes everywhere.
    if fs::write(place.path().join("try"), "").is_ok() {
        return;
    }
    let error = prepare(&place.path().join("result")).expect_err("may not be written");
    assert!(error.to_string().contains("Permission denied"), "{error}");
}

#[test]
fn a_name_with_a_slash_at_its_end_is_that_of_a_directory() {
    let place = tempfile::tempdir().expect("a directory");
    for name in ["name/", "name//", "name/.", "new/name/"] {
        let error = prepare(&place.path().join(name)).expect_err(name);
        assert!(error.to_string().contains("names a directory, by the `/` or `.`"), "{error}");
    }
    assert_eq!(fs::read_dir(place.path()).expect("a directory").count(), 0);
}
