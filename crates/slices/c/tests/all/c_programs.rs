//! Does the library get along with processes that are short of memory, and with the loader?

use crate::programs::{TABLE, compile, libraries};
use std::process::Command;
use tempfile::TempDir;

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
