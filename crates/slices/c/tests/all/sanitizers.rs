//! Do programs that use every function of the header make errors of memory or races?

use crate::programs::{LIBRARY, assert_clean, run};
use c_programs::{behind, has_valgrind};
use tempfile::TempDir;

/// All programs with these flags, started by `command`.
fn all_are_clean(flags: &[&str], command: &[&str]) {
    let folder = TempDir::new().expect("can be made");
    for program in LIBRARY.programs {
        let rounds = format!("-DROUNDS={}", soak::amount(1500, 40_000));
        let compiled = LIBRARY.compile(program, folder.path(), &[flags, &[&rounds]].concat());
        let mut started = behind(command, &compiled);
        // Children of a process with threads go on here, and do not have its threads.
        started.env("TSAN_OPTIONS", "die_after_fork=0:report_thread_leaks=0");
        assert_clean(program, &run(folder.path(), started));
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
    if !has_valgrind() {
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
