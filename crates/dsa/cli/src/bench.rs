//! `skipline-dsa bench` and `skipline-dsa tune`: operations measured on devices, CPUs and simulated machines.

use crate::failure::CommandFailure;
use dsa_bench::tune::TuneOptions;
use dsa_bench::{BenchOptions, Invocation};

/// Measures operations, and prints the results.
pub fn bench(options: &BenchOptions) -> Result<(), CommandFailure> {
    with_invocation(|call| dsa_bench::bench(options, call, &mut std::io::stdout().lock()))
}

/// Searches for thresholds, and writes them to a file.
pub fn tune(options: &TuneOptions) -> Result<(), CommandFailure> {
    with_invocation(|call| dsa_bench::tune::tune(options, call, &mut std::io::stdout().lock()))
}

/// Does work that repeats, or runs again, the command line of this process.
fn with_invocation(
    work: impl FnOnce(&Invocation<'_>) -> Result<(), dsa_bench::Failure>,
) -> Result<(), CommandFailure> {
    let command = std::env::current_exe()
        .map_err(|error| CommandFailure::failed(format!("path of this command: {error}")))?;
    let arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once("skipline-dsa".to_owned()).chain(arguments).collect();
    work(&Invocation { command: &command, words: &words }).map_err(|failure| match failure {
        dsa_bench::Failure::BadInput(message) => CommandFailure::bad_input(message),
        dsa_bench::Failure::Failed(message) => CommandFailure::failed(message),
    })
}
