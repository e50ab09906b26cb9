//! `skipline-dsa bench` and `skipline-dsa tune`: operations measured on devices, CPUs and simulated machines.

use crate::failure::Failure;
use dsa_bench::tune::TuneOptions;
use dsa_bench::{BenchOptions, Invocation};

/// Measures operations, and prints the results.
pub fn bench(options: &BenchOptions) -> Result<(), Failure> {
    with_invocation(|call| dsa_bench::bench(options, call, &mut std::io::stdout().lock()))
}

/// Searches for thresholds, and writes them to a file.
pub fn tune(options: &TuneOptions) -> Result<(), Failure> {
    with_invocation(|call| dsa_bench::tune::tune(options, call, &mut std::io::stdout().lock()))
}

/// Does work that repeats, or runs again, the command line of this process.
fn with_invocation(
    work: impl FnOnce(&Invocation<'_>) -> Result<(), dsa_bench::Failure>,
) -> Result<(), Failure> {
    let command = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("path of this command: {error}")))?;
    let arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once("skipline-dsa".to_owned()).chain(arguments).collect();
    work(&Invocation { command: &command, words: &words }).map_err(|failure| match failure {
        dsa_bench::Failure::BadInput(message) => Failure::bad_input(message),
        dsa_bench::Failure::Failed(message) => Failure::failed(message),
    })
}
