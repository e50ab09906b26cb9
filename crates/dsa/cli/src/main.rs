//! `skipline-dsa`: see the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    dsa_cli::main()
}
