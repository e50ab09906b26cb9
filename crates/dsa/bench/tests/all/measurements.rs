//! A command line as a user types it, and its answers.

use dsa_bench::measure;
use dsa_bench::results::{BenchResult, BenchResults};
use dsa_bench::tune::parse_options;
use dsa_bench::{BenchOptions, Failure};
use std::path::Path;

/// The platform of the paper's figures, as targets.
pub const MODEL: &str = "model:sapphire-rapids-56";
pub const CORES: &str = "cpu-model:sapphire-rapids-56";

/// The options of a command line, `--quiet` added.
pub fn options(line: &str) -> Result<BenchOptions, Failure> {
    let words: Vec<String> =
        line.split_whitespace().chain(["--quiet"]).map(str::to_owned).collect();
    parse_options(&words)
}

/// The results of a command line.
pub fn measure(line: &str) -> Result<BenchResults, Failure> {
    measure::measure_all(&options(line)?, Path::new("skipline-dsa"))
}

/// The answers of the first target, in the order of points.
pub fn answers(line: &str) -> Vec<BenchResult> {
    let measured = measure(line).unwrap_or_else(|failure| panic!("{line}: {failure}"));
    measured.points.into_iter().map(|mut point| point.answers.remove(0)).collect()
}

/// Throughput of copies on the engines of the model, operands flushed before each.
pub fn rates(line: &str) -> Vec<f64> {
    let answers = answers(&format!("--on {MODEL} -zF,F {line}"));
    answers.iter().map(|answer| answer.gbytes_per_s).collect()
}

/// The refusal of a command line.
pub fn refusal(line: &str) -> String {
    match measure(line) {
        Err(Failure::BadInput(message)) => message,
        other => panic!("{line}: {other:?}"),
    }
}
