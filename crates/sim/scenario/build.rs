//! Rebuilds when an experiment, an example or a testbed that is part of the program changes.

fn main() {
    println!("cargo::rerun-if-changed=../../../experiments");
    println!("cargo::rerun-if-changed=../../../examples");
    println!("cargo::rerun-if-changed=../../../testbeds");
}
