//! The command and the libraries under test, and how a program is run with them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Seconds after which a run is taken as hung; it then ends with 124.
const HANGS_SECONDS: &str = "900";

/// The directory that has them, once they are built.
pub fn directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        // A soak keeps what it began with, while others are built.
        if let Some(kept) = std::env::var_os("SKIPLINE_DSA_PRELOAD_BUILT") {
            return PathBuf::from(kept);
        }
        let own = std::env::current_exe().expect("has a path");
        let built = own.ancestors().nth(2).expect("target/PROFILE/deps/test").to_owned();
        let profile = match built.file_name().and_then(|name| name.to_str()) {
            Some("debug") => "dev",
            Some(name) => name,
            None => panic!("{} names no profile", built.display()),
        };
        // Cargo builds no library that nothing is linked with.
        let status = Command::new(env!("CARGO"))
            .args(["build", "--locked", "--quiet", "--profile", profile])
            .args(["-p", "shared-features", "-p", "dsa-trap", "-p", "dsa-cli", "-p", "dsa-preload"])
            .args(["--lib", "--bins"])
            .arg("--target-dir")
            .arg(built.parent().expect("is in the target directory"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(status.expect("cargo runs").success(), "command and libraries are not built");
        built
    })
}

/// The library under test.
pub fn library() -> PathBuf {
    directory().join("libskipline_dsa_preload.so")
}

/// A program below `skipline-dsa run OPTIONS` with the library behind the run's own in `LD_PRELOAD`. A
/// directory of the test's own has its run, so that tests see no runs but theirs.
pub fn below_a_run(directory: &Path, options: &[&str], preloaded: &str) -> Command {
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", HANGS_SECONDS])
        .arg(self::directory().join("skipline-dsa"))
        .args(["run", "--quiet"])
        .args(options)
        .args(["--", "sh", "-c"])
        .arg(format!("LD_PRELOAD={preloaded} exec \"$@\""))
        .arg("sh")
        .env("XDG_RUNTIME_DIR", directory)
        .current_dir(directory);
    command
}

/// `LD_PRELOAD` with the library behind what is there.
pub fn behind() -> String {
    format!("\"$LD_PRELOAD:{}\"", library().display())
}
