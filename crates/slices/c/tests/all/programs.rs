//! Programs in C and C++ that are compiled against header and library, and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub const TABLE: &str = "part = 'p'\nsource = 's'\nslices = 8\nvalid_bits = [6, 37]\n\
                     perm_masks = [0x1B5F575400, 0x2EB5FAA800, 0x3CCCC93000]\n\
                     base = [0, 1, 2, 3, 4, 5, 6, 7]\n";

const LATENCIES: &str = "part = 'p'\nsource = 's'\nkind = 'measured'\n\
                         cycles = [[40, 60, 49], [62, 41, 50]]\n";

/// Where cargo put the library: beside the tests.
pub fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("is known");
    test.parent().expect("is in a folder").into()
}

/// Those that print one line: whether slices are known, or why they are not.
pub const PROGRAMS: [&str; 4] = ["interface.c", "allocator.c", "threads.c", "containers.cpp"];

pub fn source(program: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program)
}

/// Compiles a program against header and shared library, into a folder.
pub fn compile(program: &str, folder: &Path, flags: &[&str]) -> PathBuf {
    let (compiler, standard) =
        if program.ends_with(".cpp") { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
    let compiled = folder.join(program.replace('.', "-"));
    // Programs look for the versioned name.
    let library = libraries().join("libskipline_slices.so");
    for name in ["libskipline_slices.so.0", "libskipline_slices.so"] {
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
        .args(["-lskipline_slices", "-pthread", "-o"])
        .arg(&compiled)
        .output()
        .expect("a C compiler is needed for Rust, too");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    compiled
}

/// Runs a program with a slice table and a latency file.
pub fn run(folder: &TempDir, mut command: Command) -> Output {
    let (table, latencies) = (folder.path().join("table.toml"), folder.path().join("cycles.toml"));
    std::fs::write(&table, TABLE).expect("the folder can be written");
    std::fs::write(&latencies, LATENCIES).expect("the folder can be written");
    command.arg(table).arg(latencies).env("LD_LIBRARY_PATH", folder.path());
    command.output().expect("can be started")
}

pub fn assert_clean(program: &str, output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{program}: {said}{errors}");
    // One line, of the program itself: the library prints nothing.
    assert_eq!(said.lines().count(), 1, "{program}: {said}");
    let fallbacks = ["slice-aware", "huge pages", "physical addresses", "pagemap"];
    assert!(fallbacks.iter().any(|known| said.contains(known)), "{program}: {said}");
}
