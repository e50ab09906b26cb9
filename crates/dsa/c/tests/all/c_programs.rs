//! Does the library get along with the loader, and with programs that use all of it?

use crate::programs::{PROGRAMS, libraries, source};
use std::collections::BTreeSet;
use std::process::Command;

const HEADER: &str = include_str!("../../include/skipline_dsa.h");

/// Names of the functions that a header's lines declare or define.
fn functions(header: &str) -> BTreeSet<&str> {
    header
        .lines()
        .filter(|line| ![" ", "//", "#"].iter().any(|other| line.starts_with(other)))
        .filter_map(|line| line.split_once('(').map(|(before, _)| before))
        .filter_map(|before| before.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("skd_"))
        .collect()
}

#[test]
fn the_library_has_the_name_that_programs_ask_for_and_exports_what_the_header_declares() {
    let library = libraries().join("libskipline_dsa.so");
    let told = |program: &str, flags: &[&str]| {
        let output = Command::new(program).args(flags).arg(&library).output().expect("binutils");
        String::from_utf8(output.stdout).expect("is text")
    };
    assert!(told("readelf", &["-d"]).contains("soname: [libskipline_dsa.so.0]"));
    let symbols = told("nm", &["-D", "--defined-only"]);
    let exported: BTreeSet<&str> =
        symbols.lines().filter_map(|line| line.split(" T ").nth(1)).collect();
    let library_alone: String = HEADER
        .lines()
        .filter(|line| !line.starts_with("static"))
        .fold(String::new(), |all, line| all + line + "\n");
    assert!(exported.len() > 30, "{exported:?}");
    assert_eq!(exported, functions(&library_alone));
}

#[test]
fn these_programs_use_every_function_of_the_header() {
    let sources: String = PROGRAMS
        .iter()
        .map(|program| std::fs::read_to_string(source(program)).expect("is there"))
        .collect();
    let all = functions(HEADER);
    assert!(all.len() > 45, "{all:?}");
    let unused: Vec<_> = all.iter().filter(|name| !sources.contains(&format!("{name}("))).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn the_man_page_names_every_function_of_the_header() {
    let page = include_str!("../../skipline_dsa.3");
    let missing: Vec<_> =
        functions(HEADER).into_iter().filter(|name| !page.contains(&format!("{name}("))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
