//! Rebuilds when a platform, device or experiment that is part of the program changes.

fn main() {
    println!("cargo::rerun-if-changed=../../platforms");
    println!("cargo::rerun-if-changed=../../devices");
    println!("cargo::rerun-if-changed=../../experiments");
}
