//! Do programs that use every function of the header make errors of memory or races, without devices?

use crate::programs::{LIBRARY, run};
use c_programs::{assert_clean, behind, has_valgrind};
use tempfile::TempDir;

/// All programs with these flags, started by `command`.
fn all_are_clean(flags: &[&str], command: &[&str]) {
    let folder = TempDir::new().expect("can be made");
    for program in LIBRARY.programs {
        let rounds = format!("-DROUNDS={}", soak::amount(20, 200));
        let compiled = LIBRARY.compile(program, folder.path(), &[flags, &[&rounds]].concat());
        let mut started = behind(command, &compiled);
        // Children of a process with threads go on here, and do not have its threads. Of the
        // library the sanitizer sees calls of the C library and no atomic operation: those calls
        // are left out.
        started.env(
            "TSAN_OPTIONS",
            "die_after_fork=0:report_thread_leaks=0:ignore_noninstrumented_modules=1",
        );
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

/// Without random addresses: those of recent kernels leave no room for what the sanitizer maps. And
/// without faults, which leave the sanitizer's own copy routine in the middle.
#[test]
fn the_thread_sanitizer_finds_nothing() {
    let flags = ["-fsanitize=thread", "-O1", "-DWITHOUT_FOREIGN_MEMORY"];
    all_are_clean(&flags, &["setarch", "-R"]);
}

/// Without the accesses to foreign memory, which valgrind would report.
#[test]
fn valgrind_finds_nothing() {
    if !has_valgrind() {
        return;
    }
    // Still reachable are the quiet panic hook and the tables of handles; a hash table of the CRC
    // library is "possibly lost", since the pointer to it is one into its middle.
    let leaks = "--errors-for-leak-kinds=definite,indirect";
    all_are_clean(
        &["-O1", "-DWITHOUT_FOREIGN_MEMORY"],
        &[
            "valgrind",
            "--quiet",
            "--error-exitcode=9",
            "--leak-check=full",
            "--show-leak-kinds=definite,indirect",
            "--child-silent-after-fork=yes",
            leaks,
        ],
    );
}
