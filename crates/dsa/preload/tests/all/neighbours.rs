//! Other libraries that are preloaded, and programs built with a sanitizer or run by valgrind.

use crate::built::{behind, below_a_run, library};
use crate::inside::Report;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The C program of these tests, built with further options.
pub fn workload(directory: &Path, options: &[&str]) -> PathBuf {
    compiled(directory, "workload", options)
}

fn compiled(directory: &Path, name: &str, options: &[&str]) -> PathBuf {
    let program = directory.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(format!("{name}.c"));
    let mut compiler = Command::new("cc");
    // The compiler must not replace calls by code of its own.
    compiler.args(["-std=gnu11", "-O1", "-g", "-fno-builtin", "-pthread"]).args(options);
    let status = compiler.arg(source).arg("-o").arg(&program).status();
    assert!(status.expect("a C compiler is there").success());
    program
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Runs the program below `skipline-dsa run OPTIONS` with `LD_PRELOAD`, for a shell; returns its output.
#[track_caller]
pub fn run_with(
    program: &Path,
    preloaded: &str,
    options: &[&str],
    settings: &[(&str, &str)],
) -> String {
    let directory = TempDir::new().expect("can be created");
    let output = below_a_run(directory.path(), options, preloaded)
        .arg(program)
        .envs(settings.iter().copied())
        .output()
        .expect("starts");
    let (out, errors) = text(&output);
    assert!(output.status.success(), "{preloaded}: {}\n{out}\n{errors}", output.status);
    assert_eq!(errors, "", "{preloaded}");
    out
}

/// The same with statistics.
#[track_caller]
pub fn run(program: &Path, preloaded: &str, settings: &[(&str, &str)]) -> (String, Report) {
    let directory = TempDir::new().expect("can be created");
    let file = directory.path().join("statistics.%p");
    let mut all = vec![("SKIPLINE_DSA_PRELOAD_STATISTICS", file.to_str().expect("is text"))];
    all.extend(settings);
    (run_with(program, preloaded, &[], &all), Report::read(directory.path()))
}

/// The output of the program without the library.
pub fn plain(program: &Path) -> String {
    let output = Command::new(program).output().expect("starts");
    let (out, errors) = text(&output);
    assert!(output.status.success(), "{out}\n{errors}");
    out
}

#[track_caller]
pub fn is_used(report: &Report) {
    for function in ["memcpy", "memmove", "memset", "memcmp"] {
        // Overlapping moves are the C library's.
        let by = if function == "memmove" { "cpu" } else { "device" };
        assert!(report.calls(function, by) > 0, "{function}\n{}", report.0);
    }
}

/// A library that the linker finds by its name.
fn installed(name: &str) -> Option<PathBuf> {
    let places = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
    places.iter().map(|place| Path::new(place).join(name)).find(|path| path.is_file())
}

/// Preloads another library before and behind ours; says so, and fails in a soak, if it is not installed.
fn works_beside(name: &str, package: &str) {
    let Some(other) = installed(name) else {
        println!("not run: {name} is not installed (package {package})");
        assert!(!soak::amount(false, true), "install the package {package}");
        return;
    };
    let directory = TempDir::new().expect("can be created");
    let program = workload(directory.path(), &[]);
    let (expected, other) = (plain(&program), other.display());
    for preloaded in [
        format!("{}:{other}", behind()),
        format!("\"$LD_PRELOAD:{other}:{}\"", library().display()),
    ] {
        let (out, report) = run(&program, &preloaded, &[]);
        assert_eq!(out, expected, "{preloaded}");
        is_used(&report);
    }
}

#[test]
fn constructors_threads_and_children_of_a_program_get_what_they_would_get() {
    let directory = TempDir::new().expect("can be created");
    let program = workload(directory.path(), &[]);
    let (out, report) = run(&program, &behind(), &[]);
    assert_eq!(out, plain(&program));
    is_used(&report);
}

#[test]
fn constructors_that_run_before_the_library_s_own_get_what_they_would_get() {
    let directory = TempDir::new().expect("can be created");
    let program = workload(directory.path(), &[]);
    let early = compiled(directory.path(), "early", &["-shared", "-fPIC"]);
    let preloaded = format!("{}:{}", behind(), early.display());
    let (out, report) = run(&program, &preloaded, &[]);
    assert_eq!(out, plain(&program));
    is_used(&report);
}

#[test]
fn children_that_open_queues_get_what_they_would_get() {
    let directory = TempDir::new().expect("can be created");
    let program = workload(directory.path(), &[]);
    let (out, report) = run(&program, &behind(), &[("SKIPLINE_DSA_PRELOAD_CHILDREN", "on")]);
    assert_eq!(out, plain(&program));
    is_used(&report);
}

#[test]
fn jemalloc_works_before_and_behind_the_library() {
    works_beside("libjemalloc.so.2", "libjemalloc2");
}

#[test]
fn libfaketime_works_before_and_behind_the_library() {
    works_beside("faketime/libfaketime.so.1", "libfaketime");
}

/// Where the compiler has the sanitizer's library.
fn sanitizer() -> String {
    let output = Command::new("cc").arg("-print-file-name=libasan.so").output().expect("starts");
    let (path, _) = text(&output);
    std::fs::canonicalize(path.trim()).expect("the compiler has it").display().to_string()
}

#[test]
fn a_program_with_the_address_sanitizer_works_and_its_errors_are_still_found() {
    let directory = TempDir::new().expect("can be created");
    let program = workload(directory.path(), &["-fsanitize=address"]);
    let (expected, sanitizer) = (plain(&program), sanitizer());
    let ours = library();
    let last = format!("\"{sanitizer}:$LD_PRELOAD:{}\"", ours.display());
    let first = format!("\"$LD_PRELOAD:{}:{sanitizer}\"", ours.display());
    for preloaded in [&last, &first] {
        let settings = [("ASAN_OPTIONS", "verify_asan_link_order=0")];
        let (out, report) = run(&program, preloaded, &settings);
        assert_eq!(out, expected, "{preloaded}");
        assert_eq!(report.calls("memcpy", "device"), 0, "{}", report.0);
        assert!(report.0.contains("note: __asan_init is loaded"), "{}", report.0);
        for (bytes, is_error) in [("9999", false), ("10000", true)] {
            let own = TempDir::new().expect("can be created");
            let output = below_a_run(own.path(), &[], preloaded)
                .arg(&program)
                .args(["overflow", bytes])
                .env("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0")
                .output();
            let (_, errors) = text(&output.expect("starts"));
            assert_eq!(errors.contains("heap-buffer-overflow"), is_error, "{bytes}: {errors}");
        }
    }
}

#[test]
fn valgrind_finds_no_error_and_no_leak_in_the_library() {
    let directory = TempDir::new().expect("can be created");
    let program = workload(directory.path(), &[]);
    // Without a device: valgrind knows none of its instructions. All calls are counted.
    let report = directory.path().join("statistics");
    let output = Command::new("valgrind")
        .args([
            "--quiet",
            "--error-exitcode=9",
            "--leak-check=full",
            "--show-leak-kinds=definite,indirect",
        ])
        .arg("--errors-for-leak-kinds=definite,indirect")
        .arg(&program)
        .env("LD_PRELOAD", library())
        .env("SKIPLINE_DSA_PRELOAD_STATISTICS", &report)
        .output()
        .expect("valgrind is installed");
    let (out, errors) = text(&output);
    assert!(output.status.success(), "{errors}");
    assert_eq!(out, plain(&program), "{errors}");
    let report = std::fs::read_to_string(report).expect("is written");
    assert!(report.contains("memcpy by cpu, no queue"), "{report}");
}
