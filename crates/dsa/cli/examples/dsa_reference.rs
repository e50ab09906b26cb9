//! The reference page of `skipline-dsa`: `cargo run -p dsa-cli --example dsa_reference` prints
//! docs/reference/skipline-dsa.md.

#[path = "../../../../packaging/reference.rs"]
mod reference;

fn main() {
    print!("{}", reference::page(dsa_cli::command()));
}
