//! A command line as a user types it, and its answers.

use dsa_bench::answer::{Answer, Measured};
use dsa_bench::measure;
use dsa_bench::tune::options_of;
use dsa_bench::{Failure, Options};
use std::path::Path;

/// The platform of the paper's figures, as targets.
pub const MODEL: &str = "model:sapphire-rapids-56";
pub const CORES: &str = "cpu-model:sapphire-rapids-56";

/// The options of a command line, `--quiet` added.
pub fn options(line: &str) -> Result<Options, Failure> {
    let words: Vec<String> =
        line.split_whitespace().chain(["--quiet"]).map(str::to_owned).collect();
    options_of(&words)
}

/// What a command line measures.
pub fn measured(line: &str) -> Result<Measured, Failure> {
    measure::all(&options(line)?, Path::new("skipline-dsa"))
}

/// The answers of the first target, in the order of points.
pub fn answers(line: &str) -> Vec<Answer> {
    let measured = measured(line).unwrap_or_else(|failure| panic!("{line}: {failure}"));
    measured.points.into_iter().map(|mut point| point.answers.remove(0)).collect()
}

/// Throughput of copies on the engines of the model, operands flushed before each.
pub fn rates(line: &str) -> Vec<f64> {
    let answers = answers(&format!("--on {MODEL} -zF,F {line}"));
    answers.iter().map(|answer| answer.gbytes_per_s).collect()
}

/// The refusal of a command line.
pub fn refusal(line: &str) -> String {
    match measured(line) {
        Err(Failure::BadInput(message)) => message,
        other => panic!("{line}: {other:?}"),
    }
}
