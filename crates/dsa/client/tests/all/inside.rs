//! A test that runs itself below `skipline-dsa run`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Set for the test inside.
const INSIDE: &str = "DSA_CLIENT_TEST_INSIDE";
/// Seconds after which a run is taken as hung; it then ends with 124.
const HANGS_SECONDS: &str = "900";

/// The command, once it and the library that it loads into programs are built.
pub fn command() -> PathBuf {
    static COMMAND: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let own = std::env::current_exe().expect("has a path");
        let built = own.ancestors().nth(2).expect("target/PROFILE/deps/test").to_owned();
        let profile = match built.file_name().and_then(|name| name.to_str()) {
            Some("debug") => "dev",
            Some(name) => name,
            None => panic!("{} names no profile", built.display()),
        };
        let status = Command::new(env!("CARGO"))
            .args(["build", "--locked", "--quiet", "--profile", profile])
            .args(["-p", "shared-features", "-p", "dsa-trap", "-p", "dsa-cli", "--lib", "--bins"])
            .arg("--target-dir")
            .arg(built.parent().expect("is in the target directory"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(status.expect("cargo runs").success(), "the command is not built");
        built.join("skipline-dsa")
    };
    COMMAND.get_or_init(build).clone()
}

/// Whether this is the test inside. Outside it runs the test of that name (`module::function`) below
/// `skipline-dsa run OPTIONS`, and fails if that fails.
#[track_caller]
#[must_use]
pub fn run(test: &str, options: &[&str]) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let directory = tempfile::TempDir::new().expect("can be created");
    // Processors that shipped have no delta records.
    let part: &[&str] = if options.contains(&"--part") { &[] } else { &["--part", "generous"] };
    let output = Command::new("timeout")
        .args(["--kill-after=5", HANGS_SECONDS])
        .arg(command())
        .arg("run")
        .args(part)
        .args(options)
        .arg("--")
        .arg(std::env::current_exe().expect("has a path"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("XDG_RUNTIME_DIR", directory.path())
        .env(INSIDE, "1")
        .output()
        .expect("timeout is there");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{errors}", output.status);
    assert!(out.contains("1 passed"), "no test is named {test}: {out}");
    // Shown with --nocapture.
    println!("{out}");
    false
}

/// Runs the rest of a test below `skipline-dsa run`.
macro_rules! inside {
    ($test:ident $(, $option:expr)*) => {
        let name = concat!(module_path!(), "::", stringify!($test));
        let name = name.split_once("::").map_or(name, |(_, name)| name);
        if !$crate::inside::run(name, &[$($option),*]) {
            return;
        }
    };
}
pub(crate) use inside;

/// A file of trouble, which lives as long as the test.
pub fn plan(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("can be created");
    std::fs::write(file.path(), text).expect("is written");
    file
}
