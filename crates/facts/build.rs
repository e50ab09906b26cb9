//! Rebuilds when a file of facts changes that is part of the program.

fn main() {
    println!("cargo::rerun-if-changed=../../platforms");
    println!("cargo::rerun-if-changed=../../devices");
    println!("cargo::rerun-if-changed=../../software");
}
