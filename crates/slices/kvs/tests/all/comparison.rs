//! Does the store answer right, and do its hot values lie where they are said to?

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

pub const TABLE: &str = "part = 'Xeon E5-2667 v3'\nsource = 's'\nslices = 8\nvalid_bits = [6, 37]\n\
                     perm_masks = [0x1B5F575400, 0x2EB5FAA800, 0x3CCCC93000]\n\
                     base = [0, 1, 2, 3, 4, 5, 6, 7]\n";

pub const LATENCIES: &str = "part = 'p'\nsource = 's'\nkind = 'measured'\n\
                         cycles = [[47, 44, 32, 41, 44, 41, 35, 38]]\n";

fn run(folder: &Path, table: &str, latencies: &str, options: &[&str]) -> Output {
    std::fs::write(folder.join("table.toml"), table).expect("the folder can be written");
    std::fs::write(folder.join("latencies.toml"), latencies).expect("the folder can be written");
    Command::new(env!("CARGO_BIN_EXE_slice-kvs"))
        .current_dir(folder)
        .args(["--table", "table.toml", "--latencies", "latencies.toml"])
        .args(["--keys", "4096", "--hot-keys", "512", "--requests", "20000", "--rounds", "2"])
        .args(options)
        .output()
        .expect("was built")
}

fn error(table: &str, latencies: &str, options: &[&str]) -> String {
    let folder = TempDir::new().expect("can be made");
    let output = run(folder.path(), table, latencies, options);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).expect("is text")
}

fn report(options: &[&str]) -> Value {
    let folder = TempDir::new().expect("can be made");
    let output = run(folder.path(), TABLE, LATENCIES, &[&["--format", "json"], options].concat());
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("is JSON")
}

#[test]
fn hot_values_lie_in_the_nearest_slice_or_the_reason_why_not_is_said() {
    for distribution in ["zipf", "uniform"] {
        let report = report(&["--distribution", distribution]);
        assert_eq!(report["slices_of_cores"], serde_json::json!([2]));
        let [normal, aware] = report["placements"].as_array().expect("a list").as_slice() else {
            panic!("{report}")
        };
        for setting in [normal, aware] {
            assert_eq!(setting["wrong_answers"], 0);
            assert_eq!(setting["hot_lines"], 512);
            assert_eq!(setting["operations_per_s"].as_array().map(Vec::len), Some(2));
        }
        if let Some(reason) = aware["plain_because"].as_str() {
            assert!(aware["hot_lines_in_slice"].is_null(), "{reason}");
            continue;
        }
        assert_eq!(aware["hot_lines_in_slice"], 512);
        // One slice of eight.
        assert_eq!(normal["hot_lines_in_slice"], 64);
        assert_eq!(aware["unclaimed_share"], 0.0);
    }
}

#[test]
fn the_text_names_slices_throughput_and_what_it_does_not_promise() {
    let folder = TempDir::new().expect("can be made");
    let output = run(folder.path(), TABLE, LATENCIES, &[]);
    let text = String::from_utf8(output.stdout).expect("is text");
    for needed in
        ["core 0: slice 2\n", "M answers/s", "p99", "wrong answers: 0", "throughput relative"]
    {
        assert!(text.contains(needed), "{needed}: {text}");
    }
    let model = std::fs::read_to_string("/proc/cpuinfo").expect("is Linux");
    assert_eq!(text.contains("note: emulated"), !model.contains("E5-2667 v3"), "{text}");
}

#[test]
fn bad_input_is_refused_with_what_is_allowed() {
    let nine = LATENCIES.replace("38]", "38, 40]");
    assert!(error(TABLE, &nine, &[]).contains("latencies.toml: 9 slices; the table has 8"));
    assert!(error(TABLE, LATENCIES, &["--cores", "1"]).contains("no latencies of core 1"));
    assert!(error(TABLE, LATENCIES, &["--cores", "0,0"]).contains("0 is given twice"));
    assert!(
        error(TABLE, LATENCIES, &["--writes", "1.5"]).contains("--writes 1.5; allowed: 0 to 1")
    );
    assert!(error("part = 'p'\n", LATENCIES, &[]).contains("table.toml: "));
    assert!(error("", LATENCIES, &[]).contains("table.toml: `"));
    for (name, expected) in [
        ("published:skx-18", "8 slices; the table has 18"),
        ("published:skx-17", "no slice function \"skx-17\" is published; there are: skx-14"),
    ] {
        let folder = TempDir::new().expect("can be made");
        std::fs::write(folder.path().join("latencies.toml"), LATENCIES).expect("can be written");
        let output = Command::new(env!("CARGO_BIN_EXE_slice-kvs"))
            .current_dir(folder.path())
            .args(["--table", name, "--latencies", "latencies.toml"])
            .output()
            .expect("was built");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {errors}");
        assert!(errors.contains(expected), "{name}: {errors}");
    }
    let missing = Command::new(env!("CARGO_BIN_EXE_slice-kvs"))
        .args(["--table", "/nowhere.toml", "--latencies", "/nowhere.toml"])
        .output()
        .expect("was built");
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("/nowhere.toml: cannot be read"));
}

/// Where memory can be placed at all: elsewhere the fallback regards no slices anyway.
#[test]
fn a_table_that_does_not_cover_the_memory_is_never_used() {
    let two_mib = TABLE
        .replace("37]", "20]")
        .replace("[0x1B5F575400, 0x2EB5FAA800, 0x3CCCC93000]", "[0x600, 0x800, 0x1000]");
    let folder = TempDir::new().expect("can be made");
    let output = run(folder.path(), &two_mib, LATENCIES, &[]);
    let (text, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let refused = errors.contains("does not cover physical address");
    assert!(refused || text.contains("memory without regard to slices"), "{text}{errors}");
}
