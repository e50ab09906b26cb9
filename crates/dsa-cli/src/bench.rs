//! `skipline-dsa bench` and `skipline-dsa tune`: operations measured on devices, CPUs and simulated machines.

use crate::failure::Failure;
use dsa_bench::tune::TuneOptions;
use dsa_bench::{Call, Options};

/// Measures, and prints the answers.
pub fn bench(options: &Options) -> Result<(), Failure> {
    called(|call| dsa_bench::bench(options, call, &mut std::io::stdout().lock()))
}

/// Looks for thresholds, and writes them.
pub fn tune(options: &TuneOptions) -> Result<(), Failure> {
    called(|call| dsa_bench::tune::tune(options, call, &mut std::io::stdout().lock()))
}

/// How this process was called.
fn called(work: impl FnOnce(&Call<'_>) -> Result<(), dsa_bench::Failure>) -> Result<(), Failure> {
    let command = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("path of this command: {error}")))?;
    let arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once("skipline-dsa".to_owned()).chain(arguments).collect();
    work(&Call { command: &command, words: &words }).map_err(|failure| match failure {
        dsa_bench::Failure::BadInput(message) => Failure::bad_input(message),
        dsa_bench::Failure::Failed(message) => Failure::failed(message),
    })
}
