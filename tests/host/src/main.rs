//! Expands a machine into a directory, to look at it or to run `skipline-host --root` there.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [machine, directory, failures @ ..] = arguments.as_slice() else {
        eprintln!("usage: fake-machines MACHINE DIRECTORY [FAILURE]...");
        eprintln!("machines: {:?}", fake_machines::machines().unwrap_or_default());
        eprintln!("failures: {:?}", fake_machines::failures().unwrap_or_default());
        return ExitCode::from(2);
    };
    let failures: Vec<&str> = failures.iter().map(String::as_str).collect();
    match fake_machines::expand(machine, &failures, Path::new(directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
