//! Rebuilds when a platform or experiment that is part of the program changes.

fn main() {
    println!("cargo::rerun-if-changed=../../platforms");
    println!("cargo::rerun-if-changed=../../experiments");
}
