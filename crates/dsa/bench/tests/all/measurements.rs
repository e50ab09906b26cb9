//! A command line as a user types it, and its answers.

use dsa_bench::measure;
use dsa_bench::results::{BenchResult, BenchResults};
use dsa_bench::table;
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

/// The table of a command line.
fn printed(line: &str) -> String {
    let measured = measure(line).unwrap_or_else(|failure| panic!("{line}: {failure}"));
    table::text(&options(line).expect("is valid"), &measured)
}

/// Ends of the words of a line, in columns.
fn ends(line: &str) -> Vec<usize> {
    let is_end = |(at, letter): &(usize, char)| {
        *letter != ' ' && line[at + 1..].chars().next().is_none_or(|next| next == ' ')
    };
    line.char_indices().filter(is_end).map(|(at, _)| at).collect()
}

#[test]
fn each_target_has_its_owner_and_values_stand_under_their_heads() {
    let text = printed(&format!("--on {MODEL},{CORES} -s 256,64K -q 32 -zF,F"));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains(MODEL) && lines[0].contains(CORES), "{text}");
    assert!(lines[1].contains("engines of a simulated sapphire-rapids-56"), "{text}");
    assert!(lines[1].contains("cores of a simulated sapphire-rapids-56"), "{text}");
    // A name stands above the numbers of its target.
    assert_eq!(lines[0].find("model:"), lines[1].find("engines"), "{text}");
    assert_eq!(lines[0].find("cpu-model:"), lines[1].find("cores"), "{text}");
    let heads = lines[2].replace("cpu %", "cpu-%");
    let columns = ends(&heads);
    assert_eq!(columns.len(), 6, "{text}");
    for row in &lines[3..5] {
        let ends = ends(row);
        assert_eq!(ends[ends.len() - 6..], columns, "{text}");
        assert!(row.starts_with("-s "), "{text}");
    }
}

#[test]
fn a_device_is_compared_with_the_cpu_of_its_machine_alone() {
    let line = |target: &str| format!("--on {MODEL},{target} -s 256,4K,64K -n 2 -i 2 -zF,F -q 2");
    let same = printed(&line(CORES));
    assert!(same.contains(&format!("{MODEL} is faster than {CORES} from ")), "{same}");
    let other = printed(&line("cpu"));
    assert!(!other.contains("is faster than"), "{other}");
    let sentence = format!(
        "{MODEL} is not compared with cpu: one is engines of a simulated sapphire-rapids-56, the other \
         this machine's CPUs"
    );
    assert!(other.contains(&sentence), "{other}");
}
