//! `skipline-host`: see the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    skipline_host::main()
}
