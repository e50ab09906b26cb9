//! Does the library get along with processes that are short of memory?

use crate::programs::{LIBRARY, TABLE};
use std::process::Command;
use tempfile::TempDir;

#[test]
fn a_process_that_is_short_of_memory_gets_an_error_and_goes_on() {
    let folder = TempDir::new().expect("can be made");
    let table = folder.path().join("table.toml");
    std::fs::write(&table, TABLE).expect("the folder can be written");
    let mut command = Command::new(LIBRARY.compile("short_of_memory.c", folder.path(), &["-O2"]));
    command.arg(table).env("LD_LIBRARY_PATH", folder.path());
    let output = command.output().expect("can be started");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{output:?}");
}
