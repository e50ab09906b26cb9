//! Rebuilds when an experiment or an example that is part of the program changes.

fn main() {
    println!("cargo::rerun-if-changed=../../experiments");
    println!("cargo::rerun-if-changed=../../examples");
}
