//! Manual pages and completions of `skipline-host`: `cargo run --example host_manuals -- DIR`.

use std::process::ExitCode;

#[path = "../../../../packaging/manuals.rs"]
mod manuals;

fn main() -> ExitCode {
    manuals::write_all(skipline_host::command())
}
