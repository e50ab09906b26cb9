//! Manual pages and completions of `skipline-dsa`: `cargo run --example dsa_manuals -- DIR`.

use std::process::ExitCode;

#[path = "../../../../packaging/manuals.rs"]
mod manuals;

fn main() -> ExitCode {
    manuals::write_all(dsa_cli::command())
}
