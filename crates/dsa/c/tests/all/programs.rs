//! Programs in C and C++ that are compiled against header and library, and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The programs that print one line, alone and on devices.
pub const PROGRAMS: [&str; 5] =
    ["operations.c", "jobs.c", "wrong_uses.c", "threads.c", "owners.cpp"];

/// The directory in which cargo has put the library: that of the tests.
pub fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("is known");
    test.parent().expect("is in a folder").into()
}

pub fn source(program: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program)
}

/// Compiles a program against header and shared library, into a folder.
pub fn compile(program: &str, folder: &Path, flags: &[&str]) -> PathBuf {
    let (compiler, standard) =
        if program.ends_with(".cpp") { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
    let compiled = folder.join(program.replace('.', "-"));
    // Programs look for the versioned name.
    let library = libraries().join("libskipline_dsa.so");
    for name in ["libskipline_dsa.so.0", "libskipline_dsa.so"] {
        let link = folder.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(&library, link).expect("the folder can be written");
        }
    }
    let output = Command::new(compiler)
        .args([standard, "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"])
        .args(flags)
        .arg("-I")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
        .arg(source(program))
        .arg("-L")
        .arg(folder)
        .args(["-lskipline_dsa", "-pthread", "-o"])
        .arg(&compiled)
        .output()
        .expect("a C compiler is needed for Rust, too");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    compiled
}

/// Runs a command that finds the library in a folder.
pub fn run(folder: &Path, mut command: Command) -> Output {
    for wish in ["SKIPLINE_DSA_QUEUES", "SKIPLINE_DSA_THRESHOLDS"] {
        command.env_remove(wish);
    }
    command.env("LD_LIBRARY_PATH", folder).output().expect("can be started")
}

/// The program has ended well; what it prints is one line of its own: the library prints nothing.
pub fn assert_clean(program: &str, output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let status = output.status;
    assert!(status.success() && errors.is_empty(), "{program}: {status}: {said}{errors}");
    assert_eq!(said.lines().count(), 1, "{program}: {said}");
}
