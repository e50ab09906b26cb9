//! Do the same programs get the same results from devices of `skipline-dsa run`?

use crate::inside::command;
use crate::programs::{LIBRARY, run};
use c_programs::assert_clean;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Seconds after which a run is taken as hung; it then ends with 124.
const HANGS_SECONDS: &str = "100";

/// Runs a compiled program below `skipline-dsa run OPTIONS`.
fn on_devices(folder: &Path, program: &Path, options: &[&str]) -> Output {
    let mut started = Command::new("timeout");
    started
        .args(["--kill-after=5", HANGS_SECONDS])
        .arg(command())
        .args(["run", "--quiet", "--part", "generous"])
        .args(options)
        .arg("--")
        .arg(program)
        .env("XDG_RUNTIME_DIR", folder)
        .env("ON_DEVICES", "1");
    run(folder, started)
}

#[test]
fn programs_get_from_devices_what_the_header_promises() {
    let folder = TempDir::new().expect("can be made");
    let rounds = format!("-DROUNDS={}", soak::amount(20, 200));
    for program in LIBRARY.programs {
        let compiled = LIBRARY.compile(program, folder.path(), &["-O2", &rounds]);
        assert_clean(program, &on_devices(folder.path(), &compiled, &[]));
    }
}

#[test]
fn copies_of_a_ring_are_whole_when_some_fail_and_bursts_get_lost() {
    let folder = TempDir::new().expect("can be made");
    let plan = folder.path().join("plan.toml");
    let failures = "seed = 7\n[hardware_errors]\nread_rate = 0.02\n[queue_full]\nrate = 0.05\n";
    std::fs::write(&plan, failures).expect("the folder can be written");
    let compiled = LIBRARY.compile("rings.c", folder.path(), &["-O2", "-DROUNDS=100"]);
    let plan = plan.to_str().expect("is text");
    let output = on_devices(folder.path(), &compiled, &["--inject", plan]);
    assert_clean("rings.c", &output);
    assert_ne!(output.stdout, b"0 copies failed\n");
}

#[test]
fn queues_that_go_are_a_sentence_for_descriptors_and_the_cpu_for_operations() {
    let folder = TempDir::new().expect("can be made");
    let compiled = LIBRARY.compile("queues_gone.c", folder.path(), &["-O2"]);
    assert_clean("queues_gone.c", &on_devices(folder.path(), &compiled, &[]));
}
