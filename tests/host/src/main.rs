//! Expands a machine into a directory, to look at it or to run `skipline-host --root` there.

use std::path::Path;
use std::process::ExitCode;

use fake_machines::ExpandError;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [machine, directory, failures @ ..] = arguments.as_slice() else {
        eprintln!("usage: fake-machines MACHINE DIRECTORY [FAILURE|LOAD]...");
        eprint!("{}", known());
        return ExitCode::from(2);
    };
    let failures: Vec<&str> = failures.iter().map(String::as_str).collect();
    match fake_machines::expand(machine, &failures, Path::new(directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error @ ExpandError::Unknown(..)) => {
            eprint!("error: {error}\n{}", known());
            ExitCode::from(2)
        }
        Err(error @ ExpandError::Taken(..)) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Names of machines, variants, failures and loads, a line for each kind.
fn known() -> String {
    let kinds = [
        ("machines", fake_machines::machines()),
        ("variants of them", fake_machines::variants()),
        ("failures", fake_machines::failures()),
        ("loads", fake_machines::loads()),
    ];
    let line = |(kind, names): (&str, Result<Vec<String>, ExpandError>)| {
        format!("{kind}: {}\n", names.unwrap_or_default().join(" "))
    };
    kinds.map(line).concat()
}
