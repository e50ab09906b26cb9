//! Rebuilds the crate when a file of facts that it embeds changes.

fn main() {
    println!("cargo::rerun-if-changed=../../../platforms");
    println!("cargo::rerun-if-changed=../../../devices");
    println!("cargo::rerun-if-changed=../../../software");
}
