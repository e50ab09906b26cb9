//! The library, and the programs in C and C++ that use it.

use c_programs::CLibrary;
use std::path::Path;
use std::process::{Command, Output};

pub const LIBRARY: CLibrary = CLibrary {
    name: "skipline_slices",
    directory: env!("CARGO_MANIFEST_DIR"),
    prefix: "skl_",
    // They print whether slices are known, or why they are not.
    programs: &["interface.c", "allocator.c", "threads.c", "containers.cpp", "spread.c"],
};

pub const TABLE: &str = "part = 'p'\nsource = 's'\nslices = 8\nvalid_bits = [6, 37]\n\
                     perm_masks = [0x1B5F575400, 0x2EB5FAA800, 0x3CCCC93000]\n\
                     base = [0, 1, 2, 3, 4, 5, 6, 7]\n";

const LATENCIES: &str = "part = 'p'\nsource = 's'\nkind = 'measured'\n\
                         cycles = [[40, 60, 49], [62, 41, 50]]\n";

/// Runs a program with a slice table and a latency file.
pub fn run(folder: &Path, mut command: Command) -> Output {
    let (table, latencies) = (folder.join("table.toml"), folder.join("cycles.toml"));
    std::fs::write(&table, TABLE).expect("the folder can be written");
    std::fs::write(&latencies, LATENCIES).expect("the folder can be written");
    command.arg(table).arg(latencies).env("LD_LIBRARY_PATH", folder);
    command.output().expect("can be started")
}

pub fn assert_clean(program: &str, output: &Output) {
    c_programs::assert_clean(program, output);
    let printed = String::from_utf8_lossy(&output.stdout);
    let fallbacks = ["slice-aware", "huge pages", "physical addresses", "pagemap"];
    assert!(fallbacks.iter().any(|known| printed.contains(known)), "{program}: {printed}");
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
    // The macro of the same name stands for the function that is compiled in.
    LIBRARY.assert_every_function_is_used(|name| name.strip_suffix("_inline").unwrap_or(name));
}
