//! The library, and the programs in C and C++ that use it.

use c_programs::CLibrary;
use std::path::Path;
use std::process::{Command, Output};

pub const LIBRARY: CLibrary = CLibrary {
    name: "skipline_dsa",
    directory: env!("CARGO_MANIFEST_DIR"),
    prefix: "skd_",
    // Alone and on devices.
    programs: &["operations.c", "jobs.c", "rings.c", "wrong_uses.c", "threads.c", "owners.cpp"],
};

/// Runs a command that finds the library in a folder.
pub fn run(folder: &Path, mut command: Command) -> Output {
    for wish in ["SKIPLINE_DSA_QUEUES", "SKIPLINE_DSA_THRESHOLDS"] {
        command.env_remove(wish);
    }
    command.env("LD_LIBRARY_PATH", folder).output().expect("can be started")
}

#[test]
fn the_header_is_what_the_functions_say() {
    LIBRARY.assert_header_is_generated();
}

#[test]
fn the_library_has_the_name_that_programs_ask_for_and_exports_what_the_header_declares() {
    LIBRARY.assert_exports();
}

#[test]
fn these_programs_use_every_function_of_the_header() {
    LIBRARY.assert_every_function_is_used(|name| name);
}

#[test]
fn the_man_page_names_every_function_of_the_header() {
    LIBRARY.assert_man_page_is_whole();
}

/// The page that shows the library to programmers.
const PAGE: &str = include_str!("../../../../../docs/how-to/dsa-library.md");

#[test]
fn the_example_in_cpp_of_the_page_compiles_and_runs() {
    let folder = tempfile::tempdir().expect("can be created");
    let (_, below) = PAGE.split_once("```cpp\n").expect("the page has an example");
    let (code, _) = below.split_once("```").expect("the block has an end");
    let source = folder.path().join("example.cpp");
    std::fs::write(&source, code).expect("can be written");
    let program = LIBRARY.compile(source.to_str().expect("is text"), folder.path(), &[]);
    let output = run(folder.path(), Command::new(program));
    c_programs::assert_clean("example.cpp", &output);
    // The CRC is of 1 MiB of 7s, which the device has copied or, where there is none, the CPU.
    let printed = String::from_utf8_lossy(&output.stdout);
    let (bytes, crc) =
        printed.trim_end().split_once(" bytes by a device, CRC-32C ").expect(&printed);
    assert!(["0", "1048576"].contains(&bytes), "{printed}");
    assert_eq!(crc, "7d17286a", "{printed}");
}
