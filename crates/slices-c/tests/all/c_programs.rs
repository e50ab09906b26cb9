//! Does a plain C program get what the header promises, without an error of memory?

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const TABLE: &str = "part = 'p'\nsource = 's'\nslices = 8\nvalid_bits = [6, 37]\n\
                     perm_masks = [0x1B5F575400, 0x2EB5FAA800, 0x3CCCC93000]\n\
                     base = [0, 1, 2, 3, 4, 5, 6, 7]\n";

const LATENCIES: &str = "part = 'p'\nsource = 's'\nkind = 'measured'\n\
                         cycles = [[40, 60, 49], [62, 41, 50]]\n";

/// Where cargo put the library: beside the tests.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("is known");
    test.parent().expect("is in a folder").into()
}

/// Compiles a program against header and shared library.
fn compile(source: &str, folder: &Path, flags: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join("program");
    // Programs look for the versioned name.
    let library = libraries().join("libskipline_slices.so");
    for name in ["libskipline_slices.so.0", "libskipline_slices.so"] {
        std::os::unix::fs::symlink(&library, folder.join(name)).expect("the folder is empty");
    }
    let output = Command::new("cc")
        .args(["-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"])
        .args(flags)
        .arg("-I")
        .arg(root.join("include"))
        .arg(root.join("tests/programs").join(source))
        .arg("-L")
        .arg(folder)
        .args(["-lskipline_slices", "-o"])
        .arg(&program)
        .output()
        .expect("a C compiler is needed for Rust, too");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn run(folder: &TempDir, mut command: Command) -> Output {
    let (table, latencies) = (folder.path().join("table.toml"), folder.path().join("cycles.toml"));
    std::fs::write(&table, TABLE).expect("the folder can be written");
    std::fs::write(&latencies, LATENCIES).expect("the folder can be written");
    command.arg(table).arg(latencies).env("LD_LIBRARY_PATH", folder.path());
    command.output().expect("can be started")
}

fn assert_clean(output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    // One line, of the program itself: the library prints nothing.
    assert_eq!(said.lines().count(), 1, "{said}");
    let fallbacks = ["slice-aware", "huge pages", "physical addresses", "pagemap"];
    assert!(fallbacks.iter().any(|known| said.contains(known)), "{said}");
}

#[test]
fn a_c_program_gets_what_the_header_promises() {
    let folder = TempDir::new().expect("can be made");
    let output = run(&folder, Command::new(compile("interface.c", folder.path(), &["-O2"])));
    assert_clean(&output);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn sanitizers_find_nothing() {
    let folder = TempDir::new().expect("can be made");
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    assert_clean(&run(&folder, Command::new(compile("interface.c", folder.path(), &flags))));
}

#[test]
fn valgrind_finds_nothing() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("valgrind is not installed");
        return;
    }
    let folder = TempDir::new().expect("can be made");
    let program = compile("interface.c", folder.path(), &["-O1"]);
    let mut valgrind = Command::new("valgrind");
    // What is still reachable at the end is the quiet panic hook.
    let leaks = "--errors-for-leak-kinds=definite,indirect,possible";
    valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full", leaks]);
    valgrind.arg(program);
    let output = run(&folder, valgrind);
    assert_clean(&output);
}

#[test]
fn a_process_that_is_short_of_memory_gets_an_error_and_goes_on() {
    let folder = TempDir::new().expect("can be made");
    let table = folder.path().join("table.toml");
    std::fs::write(&table, TABLE).expect("the folder can be written");
    let mut command = Command::new(compile("short_of_memory.c", folder.path(), &["-O2"]));
    command.arg(table).env("LD_LIBRARY_PATH", folder.path());
    let output = command.output().expect("can be started");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{output:?}");
}

#[test]
fn the_library_has_the_name_that_programs_ask_for_and_exports_what_the_header_declares() {
    let library = libraries().join("libskipline_slices.so");
    let told = |program: &str, flags: &[&str]| {
        let output = Command::new(program).args(flags).arg(&library).output().expect("binutils");
        String::from_utf8(output.stdout).expect("is text")
    };
    assert!(told("readelf", &["-d"]).contains("soname: [libskipline_slices.so.0]"));
    let symbols = told("nm", &["-D", "--defined-only"]);
    let mut exported: Vec<&str> =
        symbols.lines().filter_map(|line| line.split(" T ").nth(1)).collect();
    let header = include_str!("../../include/skipline_slices.h");
    let functions = header.lines().filter(|line| {
        !["//", " *", " ", "static", "#"].iter().any(|other| line.starts_with(other))
    });
    let mut declared: Vec<&str> = functions
        .filter_map(|line| line.split_once('(').map(|(before, _)| before))
        .filter_map(|before| before.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("skl_"))
        .collect();
    exported.sort_unstable();
    declared.sort_unstable();
    assert!(declared.len() > 20);
    assert_eq!(exported, declared);
}
