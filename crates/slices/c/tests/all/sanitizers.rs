//! Do programs that use every function of the header make errors of memory or races?

use crate::programs::{PROGRAMS, assert_clean, compile, run, source};
use std::collections::BTreeSet;
use std::process::Command;
use tempfile::TempDir;

/// All programs with these flags, started by `command`.
fn all_are_clean(flags: &[&str], command: &[&str]) {
    let folder = TempDir::new().expect("can be made");
    for program in PROGRAMS {
        let rounds = format!("-DROUNDS={}", soak::amount(1500, 40_000));
        let compiled = compile(program, folder.path(), &[flags, &[&rounds]].concat());
        let mut started = match command {
            [] => Command::new(compiled),
            [first, others @ ..] => {
                let mut started = Command::new(first);
                started.args(others).arg(compiled);
                started
            }
        };
        // Children of a process with threads go on here, and do not have its threads.
        started.env("TSAN_OPTIONS", "die_after_fork=0:report_thread_leaks=0");
        assert_clean(program, &run(&folder, started));
    }
}

#[test]
fn programs_get_what_the_header_promises() {
    all_are_clean(&["-O2"], &[]);
}

#[test]
fn address_and_undefined_behaviour_sanitizers_find_nothing() {
    all_are_clean(&["-fsanitize=address,undefined", "-fno-sanitize-recover=all"], &[]);
}

/// Without random addresses: those of recent kernels leave no room for what the sanitizer maps.
#[test]
fn the_thread_sanitizer_finds_nothing() {
    all_are_clean(&["-fsanitize=thread", "-O1"], &["setarch", "-R"]);
}

#[test]
fn valgrind_finds_nothing() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("valgrind is not installed");
        return;
    }
    // The quiet panic hook is still reachable at the end.
    let leaks = "--errors-for-leak-kinds=definite,indirect,possible";
    all_are_clean(
        &["-O1"],
        &[
            "valgrind",
            "--quiet",
            "--error-exitcode=9",
            "--leak-check=full",
            "--child-silent-after-fork=yes",
            leaks,
        ],
    );
}

#[test]
fn these_programs_use_every_function_of_the_header() {
    let header = include_str!("../../include/skipline_slices.h");
    let functions: BTreeSet<&str> = header
        .lines()
        .filter(|line| ![" ", "//", "#"].iter().any(|other| line.starts_with(other)))
        .filter_map(|line| {
            line.split_once('(').and_then(|(before, _)| before.rsplit([' ', '*']).next())
        })
        .filter(|name| name.starts_with("skl_"))
        .collect();
    assert!(functions.len() > 30, "{functions:?}");
    let sources: String = PROGRAMS
        .iter()
        .map(|program| std::fs::read_to_string(source(program)).expect("is there"))
        .collect();
    let is_used = |name: &&&str| {
        // The macro of the same name stands for the function that is compiled in.
        let name = name.strip_suffix("_inline").unwrap_or(name);
        sources.contains(&format!("{name}("))
    };
    let unused: Vec<&&str> = functions.iter().filter(|name| !is_used(name)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}
