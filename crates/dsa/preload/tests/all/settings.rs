//! Settings, statistics, and that nothing is printed without a request.

use crate::built::behind;
use crate::functions::Numbers;
use crate::inside::{How, Report, inside};
use crate::neighbours::{is_used, plain, run, run_with, workload};
use std::path::Path;
use tempfile::TempDir;

/// The output of the program with settings, and the statistics.
fn with(settings: &[(&str, &str)]) -> (bool, Report) {
    let directory = TempDir::new().expect("can be created");
    let program = workload(directory.path(), &[]);
    let (out, report) = run(&program, &behind(), settings);
    (out == plain(&program), report)
}

fn file(directory: &TempDir, text: &str) -> String {
    let path = directory.path().join("file");
    std::fs::write(&path, text).expect("is written");
    path.to_str().expect("is text").to_owned()
}

#[test]
fn nothing_is_said_unless_it_is_asked_for_whatever_the_settings_are() {
    let directory = TempDir::new().expect("can be created");
    let program = workload(directory.path(), &[]);
    let settings = [
        ("SKIPLINE_DSA_THRESHOLDS", "/nowhere"),
        ("SKIPLINE_DSA_QUEUES", "wq7.7"),
        ("SKIPLINE_DSA_PRELOAD_MIN_BYTES", "many"),
        ("DTO_WAIT_METHOD", "?"),
    ];
    // The output on both streams is looked at.
    assert_eq!(run_with(&program, &behind(), &[], &settings), plain(&program));
}

#[test]
fn what_cannot_be_understood_is_told_with_the_statistics_and_changes_nothing() {
    let (is_right, report) = with(&[
        ("SKIPLINE_DSA_PRELOAD", "maybe"),
        ("SKIPLINE_DSA_PRELOAD_MIN_BYTES", "many"),
        ("SKIPLINE_DSA_PRELOAD_FUNCTIONS", "memcpy,strcpy"),
        ("SKIPLINE_DSA_PRELOAD_CPU_SHARE", "1.5"),
        ("SKIPLINE_DSA_PRELOAD_WAIT", "sleep"),
        ("SKIPLINE_DSA_PRELOAD_SIGNAL", "KILL"),
        ("SKIPLINE_DSA_PRELOAD_CHILDREN", "some"),
        ("SKIPLINE_DSA_PRELOAD_TUNE", "1"),
        ("DTO_MIN_BYTES", "-1"),
        ("DTO_WAIT_METHOD", "?"),
        ("SKIPLINE_DSA_THRESHOLDS", "/nowhere"),
    ]);
    assert!(is_right);
    is_used(&report);
    for trouble in [
        "SKIPLINE_DSA_PRELOAD=maybe: allowed is on, off",
        "SKIPLINE_DSA_PRELOAD_MIN_BYTES=many: allowed is a number",
        "SKIPLINE_DSA_PRELOAD_FUNCTIONS=memcpy,strcpy: allowed is memcpy, memmove, memset, memcmp",
        "SKIPLINE_DSA_PRELOAD_CPU_SHARE=1.5: allowed is from 0 to below 1",
        "SKIPLINE_DSA_PRELOAD_WAIT=sleep: allowed is poll, yield, line",
        "SKIPLINE_DSA_PRELOAD_SIGNAL=KILL: allowed is USR1, USR2",
        "SKIPLINE_DSA_PRELOAD_CHILDREN=some: allowed is on, off",
        "SKIPLINE_DSA_PRELOAD_TUNE=1: allowed is on, off",
        "DTO_MIN_BYTES=-1: allowed is a number",
        "DTO_WAIT_METHOD=?: allowed is busypoll",
        "/nowhere: ",
    ] {
        assert!(report.0.contains(&format!("note: {trouble}")), "{trouble}\n{}", report.0);
    }
}

#[test]
fn a_queue_that_is_not_there_is_told_and_the_c_library_does_all() {
    let (is_right, report) = with(&[("SKIPLINE_DSA_QUEUES", "wq7.7")]);
    assert!(is_right && report.calls("memcpy", "device") == 0, "{}", report.0);
    assert!(report.0.contains("note: wq7.7: no enabled work queue"), "{}", report.0);
}

#[test]
fn queues_that_are_named_are_used_a_dedicated_one_too() {
    let (is_right, report) = with(&[("DTO_WQ_LIST", "/dev/dsa/wq0.0")]);
    assert!(is_right);
    assert!(report.0.contains("queues: wq0.0 (dedicated)\n"), "{}", report.0);
    is_used(&report);
}

#[test]
fn functions_and_sizes_can_be_left_to_the_c_library() {
    let directory = TempDir::new().expect("can be created");
    let thresholds = file(&directory, "[synchronous]\ncompare = \"never\"\ncopy = 8192\n");
    for settings in [
        &[("SKIPLINE_DSA_PRELOAD_FUNCTIONS", "memcpy"), ("DTO_MIN_BYTES", "8192")][..],
        &[("DTO_DSA_MEMSET", "0"), ("DTO_DSA_MEMCMP", "0"), ("DTO_MIN_BYTES", "8192")],
        &[("SKIPLINE_DSA_THRESHOLDS", &thresholds), ("DTO_DSA_MEMSET", "0")],
    ] {
        let (is_right, report) = with(settings);
        assert!(is_right && report.calls("memcpy", "device") > 0, "{settings:?}\n{}", report.0);
        for function in ["memset", "memcmp"] {
            assert_eq!(report.calls(function, "device"), 0, "{settings:?}\n{}", report.0);
        }
        assert!(!report.0.contains("memcpy device 4096 "), "{settings:?}\n{}", report.0);
    }
}

#[test]
fn dto_s_names_ask_for_statistics_and_turn_the_library_off() {
    let own = TempDir::new().expect("can be created");
    let program = workload(own.path(), &[]);
    let log = own.path().join("log");
    let log_text = log.to_str().expect("is text");
    let settings = [("DTO_COLLECT_STATS", "1"), ("DTO_LOG_FILE", log_text)];
    assert_eq!(run_with(&program, &behind(), &[], &settings), plain(&program));
    let text = std::fs::read_to_string(&log).expect("is written");
    is_used(&Report(text));

    std::fs::remove_file(&log).expect("is there");
    let settings = [settings[0], settings[1], ("DTO_USESTDC_CALLS", "1")];
    assert_eq!(run_with(&program, &behind(), &[], &settings), plain(&program));
    assert!(!log.exists());
}

#[test]
fn a_run_without_namespaces_has_devices_for_it_too() {
    let own = TempDir::new().expect("can be created");
    let program = workload(own.path(), &[]);
    let log = own.path().join("log");
    let settings = [("SKIPLINE_DSA_PRELOAD_STATISTICS", log.to_str().expect("is text"))];
    let out = run_with(&program, &behind(), &["--without-namespaces"], &settings);
    assert_eq!(out, plain(&program));
    is_used(&Report(std::fs::read_to_string(&log).expect("is written")));
}

#[test]
fn a_signal_asks_for_statistics_while_the_program_goes_on() {
    let own = TempDir::new().expect("can be created");
    let log = own.path().join("log-%p");
    inside!(
        a_signal_asks_for_statistics_while_the_program_goes_on,
        How {
            settings: &[
                ("SKIPLINE_DSA_PRELOAD_SIGNAL", "USR2"),
                ("SKIPLINE_DSA_PRELOAD_STATISTICS", log.to_str().expect("is text")),
            ],
            ..How::default()
        },
        |_report| {}
    );
    let log = std::env::var("SKIPLINE_DSA_PRELOAD_STATISTICS").expect("is set");
    let log = log.replace("%p", &std::process::id().to_string());
    assert!(!Path::new(&log).exists());
    let (from, mut to) = (Numbers(1).bytes(50_000), vec![0; 50_000]);
    to.copy_from_slice(&from);
    // SAFETY: the library handles the signal.
    unsafe { libc::raise(libc::SIGUSR2) };
    let report = Report(std::fs::read_to_string(&log).expect("is written"));
    assert!(report.calls("memcpy", "device") > 0, "{}", report.0);
    assert!(to == from);
}
