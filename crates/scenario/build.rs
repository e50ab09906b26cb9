//! Rebuilds when an experiment that is part of the program changes.

fn main() {
    println!("cargo::rerun-if-changed=../../experiments");
}
